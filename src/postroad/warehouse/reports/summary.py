"""The content of a report: named columns, rows of plain values, and a chart.

Rule: no drawing, no printing, no files. Numbers are numbers here; the caller decides how many digits to show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSeries:
    """One series of a chart over days."""

    label: str
    points: Mapping[date, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class BarChart:
    """Stacked values for each day."""

    title: str
    unit: str
    series: Sequence[ChartSeries]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveChart:
    """Values as lines over days, optionally on a logarithmic scale."""

    title: str
    unit: str
    series: Sequence[ChartSeries]
    logarithmic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingChart:
    """The largest values, one bar each."""

    title: str
    unit: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class DotChart:
    """Single findings over days."""

    title: str
    unit: str
    series: Sequence[tuple[str, Sequence[tuple[date, float, str]]]]  # label; day, value and what it is


Chart = BarChart | CurveChart | RankingChart | DotChart


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    chart: Chart
    notes: Sequence[str] = field(default_factory=tuple)

    def records(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]
