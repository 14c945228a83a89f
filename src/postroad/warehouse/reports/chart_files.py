"""Charts of reports as PNG or SVG, in colours that colour-blind readers can distinguish."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from postroad.errors import Misconfigured
from postroad.warehouse.reports.summary import BarChart, Chart, ChartSeries, CurveChart, DotChart, RankingChart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = (".png", ".svg")
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#777777")
WIDE, HIGH = 9.0, 4.2
DOTS_PER_INCH = 130
NAMED_DOTS = 12
MAX_NAME = 44


def draw_chart(chart: Chart, path: Path) -> None:
    """Write the chart to this file; the file suffix selects the format."""
    if path.suffix.casefold() not in ENDINGS:
        raise Misconfigured([f"--plot {path}: a chart is written as {' or '.join(ENDINGS)}"])
    figure, axes = _figure(chart)
    match chart:
        case BarChart():
            _bars(axes, chart)
        case CurveChart():
            _curves(axes, chart)
        case RankingChart():
            _ranking(axes, chart)
        case DotChart():
            _dots(axes, chart)
    axes.set_title(chart.title, loc="left", fontweight="bold", pad=12)
    figure.savefig(path, dpi=DOTS_PER_INCH)


def _figure(chart: Chart) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    high = max(HIGH, 0.32 * len(chart.values) + 1.4) if isinstance(chart, RankingChart) else HIGH
    figure = Figure(figsize=(WIDE, high), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(axis="x" if isinstance(chart, RankingChart) else "y", color="#dddddd", linewidth=0.7)
    return figure, axes


def _bars(axes: Axes, chart: BarChart) -> None:
    days = _days(chart.series)
    below = [0.0] * len(days)
    for line, colour in zip(chart.series, _colours(len(chart.series)), strict=True):
        heights = [float(line.points.get(day, 0)) for day in days]
        axes.bar(_positions(days), heights, bottom=below, label=line.label, color=colour, width=0.8)
        below = [one + other for one, other in zip(below, heights, strict=True)]
    _over_days(axes, chart.unit, len(chart.series))


def _curves(axes: Axes, chart: CurveChart) -> None:
    for line, colour in zip(chart.series, _colours(len(chart.series)), strict=True):
        days = sorted(line.points)
        axes.plot(
            _positions(days), [line.points[day] for day in days], label=line.label, color=colour, marker="o", ms=3.5
        )
    if chart.logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    _over_days(axes, chart.unit, len(chart.series))


def _ranking(axes: Axes, chart: RankingChart) -> None:
    names = [name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…" for name in chart.values]
    bars = axes.barh(range(len(names)), list(chart.values.values()), color=COLOURS[0], height=0.7)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.bar_label(bars, fmt=lambda value: f"{value:,.3g}" if value < 100 else f"{value:,.0f}", padding=3, fontsize=8)
    axes.margins(x=0.12)
    axes.set_xlabel(chart.unit)


def _dots(axes: Axes, chart: DotChart) -> None:
    every = sorted((dot for _, dots in chart.series for dot in dots), key=lambda dot: -abs(dot[1]))
    for (label, dots), colour in zip(chart.series, _colours(len(chart.series)), strict=True):
        axes.scatter(
            _positions([day for day, _, _ in dots]), [value for _, value, _ in dots], label=label, color=colour
        )
    for day, value, name in every[:NAMED_DOTS]:
        axes.annotate(name, (_positions([day])[0], value), xytext=(5, 4), textcoords="offset points", fontsize=8)
    axes.margins(x=0.1, y=0.15)
    _over_days(axes, chart.unit, len(chart.series))


def _over_days(axes: Axes, unit: str, series: int) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=10)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    axes.set_ylabel(unit)
    if series:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def _positions(days: Sequence[date]) -> list[float]:
    from matplotlib.dates import date2num

    return [float(date2num(day)) for day in days]  # type: ignore[no-untyped-call]


def _days(series: Sequence[ChartSeries]) -> list[date]:
    return sorted({day for line in series for day in line.points})


def _colours(count: int) -> list[str]:
    return [COLOURS[place % len(COLOURS)] for place in range(count)]
