"""The data of a plot, for the script and for a table: days and one or more curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Any

Number = int | float | None
ONE_DAY = timedelta(days=1)


class PlotStyle(StrEnum):
    STACKED = "stacked"  # bars, one on the other: counts that add up
    LINES = "lines"


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    label: str
    values: Sequence[Number]  # one for each day


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    title: str
    unit: str
    days: Sequence[date]
    curves: Sequence[Curve]
    drawn: PlotStyle = PlotStyle.STACKED

    @property
    def rows(self) -> list[list[Any]]:
        return [[day, *[curve.values[at] for curve in self.curves]] for at, day in enumerate(self.days)]

    @property
    def columns(self) -> list[str]:
        return ["day", *[curve.label for curve in self.curves]]

    def as_value(self) -> dict[str, Any]:
        """Return the plot as JSON for the script; days as seconds since 1970, UTC."""
        return {
            "title": self.title,
            "unit": self.unit,
            "drawn": self.drawn.value,
            "days": [_seconds(day) for day in self.days],
            "curves": [{"label": curve.label, "values": list(curve.values)} for curve in self.curves],
        }


def list_days(first: date, last: date) -> list[date]:
    return [first + number * ONE_DAY for number in range((last - first).days + 1)]


def make_curves(
    counts: Mapping[date, Mapping[str, Number]], days: Sequence[date], labels: Sequence[str], nothing: Number = 0
) -> list[Curve]:
    """Return a curve for each label; ``nothing`` is the value of days without data."""
    return [Curve(label=label, values=[counts.get(day, {}).get(label, nothing) for day in days]) for label in labels]


def _seconds(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
