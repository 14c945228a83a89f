// Plots of days: the attribute data-plot is the URL of the numbers; colours come from the style sheet, for light and dark.
"use strict";

const MAX_CURVES = 6;
const HEIGHT = 260;
const DASHES = [[], [8, 4], [2, 3], [12, 3, 2, 3], [4, 4], [1, 5]]; // curves differ without their colours, too
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const MAX_SPREAD = 50; // beyond this ratio of the largest to the smallest duration the axis is logarithmic
const UNITS = [[1, "ms"], [1000, "s"], [60000, "min"], [3600000, "h"], [86400000, "d"]];

function duration(ms) {
  const [length, unit] = UNITS.findLast(([least]) => ms >= least) || UNITS[0];
  return `${(ms / length).toLocaleString("en", { maximumFractionDigits: ms / length < 10 ? 1 : 0 })} ${unit}`;
}

function shown(value, unit) {
  if (value == null) return "–";
  return unit === "milliseconds" ? duration(value) : value.toLocaleString("en");
}

function isWide(data) {
  const values = data.curves.flatMap((curve) => curve.values).filter((value) => value > 0);
  return data.unit === "milliseconds" && values.length > 0 && Math.max(...values) > MAX_SPREAD * Math.min(...values);
}

function scaleOf(data) {
  if (isWide(data)) return { distr: 3, range: (plot, least, most) => [10 ** Math.floor(Math.log10(least)), 10 ** Math.ceil(Math.log10(most))] };
  return { range: (plot, least, most) => [Math.min(0, least), most > 0 ? most * 1.08 : 1] };
}

function room(plot, labels) {
  return 24 + 8 * Math.max(3, ...(labels || []).map((label) => (label || "").length));
}

function stacked(curves) {
  // Each on those before it; drawn from the highest to the lowest, so that every one covers what belongs to those below.
  const sums = [];
  curves.forEach((curve, at) => sums.push(curve.values.map((value, day) => (value || 0) + (at ? sums[at - 1][day] : 0))));
  return sums;
}

function axis(more) {
  return { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 }, ...more };
}

function series(data, curve, at) {
  const paint = colour(`--plot-${(at % MAX_CURVES) + 1}`);
  const common = { label: curve.label, stroke: paint, value: (plot, value, index, day) => shown(day == null ? null : curve.values[day], data.unit) };
  if (data.drawn === "stacked") return { ...common, fill: paint, width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [0.8, 40] }) };
  return { ...common, width: 2, dash: DASHES[at % DASHES.length], spanGaps: true, points: { show: true, size: 6, fill: paint } };
}

function options(data, width) {
  const listed = data.curves.map((curve, at) => series(data, curve, at));
  const half = 43200; // bars stand on their day, and the first and last are not cut
  return {
    width,
    height: HEIGHT,
    padding: [null, 30, null, null], // the last day's label has room
    title: data.drawn === "stacked" || data.unit === "milliseconds" ? data.title : `${data.title} (${data.unit})`,
    legend: { markers: { width: 0, fill: (plot, at) => plot.series[at].stroke(plot, at) } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    scales: { x: { range: (plot, least, most) => [least - half, most + half] }, y: scaleOf(data) },
    axes: [axis({ values: "{YYYY}-{MM}-{DD}", space: 90 }), axis({ size: room, values: (plot, values) => values.map((value) => (value == null ? "" : shown(value, data.unit))) })],
    series: [{ label: "day", value: "{YYYY}-{MM}-{DD}" }, ...(data.drawn === "stacked" ? listed.reverse() : listed)],
    cursor: { y: false, drag: { x: false, y: false } },
  };
}

function draw(figure, data) {
  figure.replaceChildren();
  const values = data.drawn === "stacked" ? stacked(data.curves).reverse() : data.curves.map((curve) => (isWide(data) ? curve.values.map((value) => (value > 0 ? value : null)) : curve.values));
  figure.plot = new uPlot(options(data, figure.clientWidth), [data.days, ...values], figure);
}

async function begin(figure) {
  const answer = await fetch(figure.dataset.plot, { headers: { Accept: "application/json" } });
  if (!answer.ok) return;
  const data = await answer.json();
  figure.hidden = false;
  draw(figure, data);
  new ResizeObserver(() => figure.plot.setSize({ width: figure.clientWidth, height: HEIGHT })).observe(figure);
  dark.addEventListener("change", () => draw(figure, data));
}

document.querySelectorAll("[data-plot]").forEach(begin);
