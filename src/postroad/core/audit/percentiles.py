"""Percentiles of durations, from counts in 5 % buckets as the warehouse table ``latency`` stores them."""

from __future__ import annotations

from collections.abc import Mapping

RATIO = 1.05
SHORTEST_US = 100  # everything quicker is in the first bucket


def milliseconds_of(bucket: int) -> float:
    """The middle of a bucket."""
    return float(SHORTEST_US * RATIO ** (bucket + 0.5) / 1_000)


def percentile_ms(counts: Mapping[int, int], share: float) -> float:
    """Return the duration in milliseconds that this share of the counted items did not exceed."""
    passed, wanted = 0, share * sum(counts.values())
    for bucket in sorted(counts):
        passed += counts[bucket]
        if passed >= wanted:
            return milliseconds_of(bucket)
    raise ValueError("percentiles need at least one value")
