"""How odd a day is: a robust score of an organization's volume, error rate and latency against its own past.

Method. A day is compared with the days of its kind (working days, or weekends) in the four weeks before it, at least five.
Each figure is first brought to a scale on which chance alone moves it by about one: counts by Anscombe's square root, error rates
by the arc sine of their root, latencies by their logarithm over the standard error of a median. The score is the distance from
the median of the compared days, in units of their spread (the median absolute deviation, made comparable to a standard
deviation), which never counts as less than what chance explains. The median and this spread do not mind a few odd days among
the compared ones. A figure is flagged from ``FLAGGED`` on; errors and latency only when they grow. ``docs/howto/read-reports.md``
has the measured share of false alarms.
Kept rule: plain Python over plain numbers, so that it can be tested without Spark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median

FLAGGED = 5.0
LOOKING_BACK = timedelta(days=28)
LEAST_DAYS = 5
LEAST_ANSWERS = 10  # below that, a day says nothing about errors or latency
COMPARABLE = 1.4826  # the median absolute deviation of normal data, in standard deviations
MEDIAN_ERROR = 1.2533  # the standard error of a median against that of a mean


@dataclass(frozen=True, slots=True, kw_only=True)
class PartnerDay:
    """The figures of one organization on one day; ``took`` and ``spread`` are logarithms, None without answers."""

    day: date
    messages: int = 0
    answers: int = 0
    errors: int = 0
    took: float | None = None
    spread: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A figure of one day: what it is, what was to be expected, and how far that is away."""

    day: date
    measure: str
    value: float
    expected: float
    score: float

    @property
    def is_flagged(self) -> bool:
        return self.score >= FLAGGED if self.measure != "volume" else abs(self.score) >= FLAGGED


def scored(days: Sequence[PartnerDay]) -> Iterator[Scored]:
    """Every figure of these days of one organization that can be compared; days without traffic may be missing."""
    for today in days:
        past = [day for day in days if _compares(day, today)]
        if len(past) >= LEAST_DAYS:
            for measure in (_volume, _errors, _latency):
                found = measure(today, past)
                if found is not None:
                    yield found


def _compares(other: PartnerDay, today: PartnerDay) -> bool:
    is_before = timedelta(0) < today.day - other.day <= LOOKING_BACK
    return is_before and (other.day.weekday() >= 5) == (today.day.weekday() >= 5)


def _volume(today: PartnerDay, past: Sequence[PartnerDay]) -> Scored:
    def on_scale(day: PartnerDay) -> float:
        return 2 * math.sqrt(day.messages + 0.375)

    expected = median(day.messages for day in past)
    score = _distance(on_scale(today), [on_scale(day) for day in past])
    return Scored(day=today.day, measure="volume", value=today.messages, expected=expected, score=score)


def _errors(today: PartnerDay, past: Sequence[PartnerDay]) -> Scored | None:
    days = _telling(past)
    if today.answers < LEAST_ANSWERS or len(days) < LEAST_DAYS:
        return None
    weight = 2 * math.sqrt(today.answers)

    def on_scale(day: PartnerDay) -> float:
        return weight * math.asin(math.sqrt((day.errors + 0.375) / (day.answers + 0.75)))

    expected = sum(day.errors for day in days) / sum(day.answers for day in days)
    score = _distance(on_scale(today), [on_scale(day) for day in days], _more_noise(today, days))
    return Scored(day=today.day, measure="errors", value=today.errors / today.answers, expected=expected, score=score)


def _latency(today: PartnerDay, past: Sequence[PartnerDay]) -> Scored | None:
    days = [day for day in _telling(past) if day.took is not None]
    if today.took is None or today.answers < LEAST_ANSWERS or len(days) < LEAST_DAYS:
        return None
    spread = max(0.1, median([day.spread or 0.0 for day in (*days, today)]))
    unit = MEDIAN_ERROR * spread / math.sqrt(today.answers)
    took = [day.took / unit for day in days if day.took is not None]
    score = _distance(today.took / unit, took, _more_noise(today, days))
    usual = math.exp(median(day.took for day in days if day.took is not None))
    return Scored(day=today.day, measure="latency", value=math.exp(today.took), expected=usual, score=score)


def _telling(past: Sequence[PartnerDay]) -> list[PartnerDay]:
    return [day for day in past if day.answers >= LEAST_ANSWERS]


def _more_noise(today: PartnerDay, days: Sequence[PartnerDay]) -> float:
    """How much more than one chance moves the distance, since the compared days have their own noise, some more than today."""
    usual = median(day.answers for day in days)
    return math.sqrt(1 + today.answers / (usual * len(days)))


def _distance(value: float, others: Sequence[float], by_chance: float = 1.0) -> float:
    middle = median(others)
    spread = COMPARABLE * median(abs(other - middle) for other in others)
    return (value - middle) / max(by_chance, spread)


Measure = Callable[[PartnerDay, Sequence[PartnerDay]], Scored | None]
