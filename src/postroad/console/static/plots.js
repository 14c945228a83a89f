// Plots of days: an element says by data-plot where its numbers are told; colours come from the style sheet, for light and dark.
"use strict";

const CURVES_MOST = 6;
const HEIGHT = 260;
const DASHES = [[], [8, 4], [2, 3], [12, 3, 2, 3], [4, 4], [1, 5]]; // nobody needs colours to tell curves apart
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function shown(value) {
  return value == null ? "–" : value.toLocaleString("en");
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

function series(told, curve, at) {
  const paint = colour(`--plot-${(at % CURVES_MOST) + 1}`);
  const common = { label: curve.label, stroke: paint, value: (plot, value, index, day) => shown(day == null ? null : curve.values[day]) };
  if (told.drawn === "stacked") return { ...common, fill: paint, width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [0.8, 40] }) };
  return { ...common, width: 2, dash: DASHES[at % DASHES.length], spanGaps: true, points: { show: true, size: 6, fill: paint } };
}

function options(told, width) {
  const listed = told.curves.map((curve, at) => series(told, curve, at));
  const half = 43200; // bars stand on their day, and the first and last are not cut
  return {
    width,
    height: HEIGHT,
    padding: [null, 30, null, null], // the last day's label has room
    title: told.drawn === "stacked" ? told.title : `${told.title} (${told.unit})`,
    legend: { markers: { width: 0, fill: (plot, at) => plot.series[at].stroke(plot, at) } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    scales: { x: { range: (plot, least, most) => [least - half, most + half] }, y: { range: (plot, least, most) => [Math.min(0, least), most > 0 ? most * 1.08 : 1] } },
    axes: [axis({ values: "{YYYY}-{MM}-{DD}", space: 90 }), axis({ size: 70, values: (plot, values) => values.map(shown) })],
    series: [{ label: "day", value: "{YYYY}-{MM}-{DD}" }, ...(told.drawn === "stacked" ? listed.reverse() : listed)],
    cursor: { y: false, drag: { x: false, y: false } },
  };
}

function draw(figure, told) {
  figure.replaceChildren();
  const values = told.drawn === "stacked" ? stacked(told.curves).reverse() : told.curves.map((curve) => curve.values);
  figure.plot = new uPlot(options(told, figure.clientWidth), [told.days, ...values], figure);
}

async function begin(figure) {
  const answer = await fetch(figure.dataset.plot, { headers: { Accept: "application/json" } });
  if (!answer.ok) return;
  const told = await answer.json();
  figure.hidden = false;
  draw(figure, told);
  new ResizeObserver(() => figure.plot.setSize({ width: figure.clientWidth, height: HEIGHT })).observe(figure);
  dark.addEventListener("change", () => draw(figure, told));
}

document.querySelectorAll("[data-plot]").forEach(begin);
