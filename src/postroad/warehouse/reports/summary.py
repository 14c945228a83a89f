"""A report as it is shown: named columns, rows of plain values, and the chart that goes with it.

Kept rule: no drawing, no printing, no files. Numbers are numbers here; whoever shows them decides how many digits there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One series of a chart over days."""

    label: str
    points: Mapping[date, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Values one above the other for each day."""

    title: str
    unit: str
    series: Sequence[Line]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """Values as lines over days, on a logarithmic scale where they differ by orders of magnitude."""

    title: str
    unit: str
    series: Sequence[Line]
    logarithmic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The largest of something, one bar each."""

    title: str
    unit: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dots:
    """Single findings over days."""

    title: str
    unit: str
    series: Sequence[tuple[str, Sequence[tuple[date, float, str]]]]  # label; day, value and what it is


Chart = Bars | Curves | Ranking | Dots


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    chart: Chart
    notes: Sequence[str] = field(default_factory=tuple)

    def records(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]
