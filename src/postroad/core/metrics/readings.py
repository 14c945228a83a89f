"""Reads metrics pages again: the values of one page, and what changed between two of them.

Rule: the selectors are those of the alerts, by metric name (with prefix) and exact label values; series that a page lacks count
as 0, except in ``all_of``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import inf

LINE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

Series = tuple[str, frozenset[tuple[str, str]]]


def parse_page(text: str) -> dict[Series, float]:
    """Return the samples of a page in the text format; raises ValueError if it is not one."""
    found: dict[Series, float] = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        match = LINE.match(line)
        if match is None:
            raise ValueError(f"not a sample: {line[:80]}")
        found[match[1], frozenset(LABEL.findall(match[2] or ""))] = float(match[3])
    return found


class MetricReadings:
    """Two pages of one server, some seconds apart, and the time of the second (Unix seconds)."""

    def __init__(self, before: dict[Series, float], after: dict[Series, float], seconds: float, now_s: float) -> None:
        self.seconds = seconds
        self.now_s = now_s
        self._before, self._after = before, after

    def value(self, name: str, **labels: str) -> float:
        """Return the sum of the matching series."""
        return sum(value for _, value in _matching(self._after, name, labels))

    def all_of(self, name: str, **labels: str) -> list[float]:
        """Return the value of each matching series."""
        return [value for _, value in _matching(self._after, name, labels)]

    def increase(self, name: str, **labels: str) -> float:
        """Return by how much the matching counters have grown between the pages."""
        return sum(value - self._before.get(series, 0.0) for series, value in _matching(self._after, name, labels))

    def quantile(self, share: float, name: str) -> float:
        """Return the bound that this share of the observations between the pages did not exceed; 0 if there were none."""
        buckets: dict[float, float] = {}
        for series, value in _matching(self._after, f"{name}_bucket", {}):
            bound = float(dict(series[1])["le"])
            buckets[bound] = buckets.get(bound, 0.0) + value - self._before.get(series, 0.0)
        total = buckets.get(inf, 0.0)
        return next((bound for bound in sorted(buckets) if buckets[bound] >= share * total), 0.0) if total else 0.0


def _matching(page: dict[Series, float], name: str, labels: dict[str, str]) -> Iterator[tuple[Series, float]]:
    wanted = frozenset(labels.items())
    return ((series, value) for series, value in page.items() if series[0] == name and wanted <= series[1])
