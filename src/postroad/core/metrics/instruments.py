"""Counters, gauges and histograms: plain numbers that their owners change directly.

Rule: an update is an addition to an attribute, without a lock: all updates come from the event loop of one process. On the hot
path, write ``counter.value += 1`` rather than ``counter.add()``; it takes a third of the time.
"""

from __future__ import annotations

from bisect import bisect_left


class Counter:
    """A number that only grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def add(self, amount: float = 1) -> None:
        self.value += amount


class Gauge:
    """A number that goes up and down."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def set(self, value: float) -> None:
        self.value = value


class Histogram:
    """Counts of observed values by bucket, and their sum; the last count is that of values above all bounds."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total: float = 0

    def observe(self, value: float) -> None:
        """Count a value; a value that equals a bound is within its bucket."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


Instrument = Counter | Gauge | Histogram
