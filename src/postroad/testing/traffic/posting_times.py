"""Posting times in simulated traffic: few at night, a peak in the late morning, a fifth at weekends."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from postroad.testing.traffic.plan import HOUR_US, TrafficPlan

HOURS = (4, 3, 3, 3, 4, 8, 18, 40, 70, 90, 98, 92, 74, 82, 90, 84, 70, 50, 34, 24, 18, 12, 8, 6)
WEEKDAYS = (1.0, 1.06, 1.04, 1.0, 0.92, 0.26, 0.2)  # Monday first
UNLIKE = 0.05  # random variation of days


def opening_times(plan: TrafficPlan, random: Random) -> Iterator[int]:
    """Return the times of all posts, in order, and exactly as many as planned."""
    counts = _counts(plan, random)
    for hour, count in enumerate(counts):
        begin_us = plan.start_us + hour * HOUR_US
        yield from sorted([begin_us + random.randrange(HOUR_US) for _ in range(count)])


def day_weights(plan: TrafficPlan) -> list[float]:
    return [WEEKDAYS[plan.day(number).weekday()] for number in range(plan.days)]


def _counts(plan: TrafficPlan, random: Random) -> list[int]:
    """Return the number of messages posted in each hour."""
    weights = [
        day * max(0.5, random.gauss(1, UNLIKE)) * hour * max(0.5, random.gauss(1, UNLIKE))
        for day in day_weights(plan)
        for hour in HOURS
    ]
    share = plan.messages / sum(weights)
    counts, carried = [], 0.0
    for weight in weights:
        carried += weight * share
        counts.append(int(carried))
        carried -= counts[-1]
    counts[-1] += plan.messages - sum(counts)  # rounding remainder
    return counts
