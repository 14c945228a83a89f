"""Anomaly scores: a robust score of an organization's volume, error rate and latency against its own past.

Method. A day is compared with the days of its kind (working days, or weekends) in the four weeks before it, at least five.
Each figure is first brought to a scale on which chance alone moves it by about one: counts by Anscombe's square root, error rates
by the arc sine of their root, latencies by their logarithm over the standard error of a median. The score is the distance from
the median of the compared days, in units of their spread (the median absolute deviation, made comparable to a standard
deviation), which never counts as less than what chance explains. The median and this spread do not mind a few odd days among
the compared ones. A figure is flagged from ``FLAGGED`` on; errors and latency only when they grow. A day without any traffic is a
day too, where silence is rare: its volume is compared where fewer than one in ten of the days of its kind were silent. Of the
last day that is known the rest is still to come, so it may have too much, but not too little. ``docs/howto/read-reports.md`` has
the measured share of false alarms.
Rule: plain Python over plain numbers, so that it can be tested without Spark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median

FLAGGED = 5.0
LOOKING_BACK_DAYS = 28
MIN_DAYS = 5
SELDOM_SILENT = 0.9  # of the days compared; who never sends on Fridays is not odd on one
MIN_ANSWERS = 10  # below that, a day says nothing about errors or latency
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
class ScoredFigure:
    """A figure of one day: its value, the expected value, and the score."""

    day: date
    measure: str
    value: float
    expected: float
    score: float

    @property
    def is_flagged(self) -> bool:
        return self.score >= FLAGGED if self.measure != "volume" else abs(self.score) >= FLAGGED


def score_days(days: Iterable[PartnerDay], last: date | None = None) -> Iterator[ScoredFigure]:
    """Yield every figure of one organization that can be compared, up to the ``last`` day with data."""
    known = {day.day: day for day in days}
    if not known:
        return
    last = max(known) if last is None else last
    for number in range((last - min(known)).days + 1):
        for one in _compared(min(known) + timedelta(days=number), known):
            if one.day < last or one.measure != "volume" or one.score > 0:
                yield one


def _compared(day: date, known: Mapping[date, PartnerDay]) -> Iterator[ScoredFigure]:
    """Yield the figures of one day; days without traffic are not among the known days."""
    before = [day - timedelta(days=number) for number in range(1, LOOKING_BACK_DAYS + 1)]
    alike = [other for other in before if (other.weekday() >= 5) == (day.weekday() >= 5) and other >= min(known)]
    past = [known[other] for other in alike if other in known]
    if len(past) < MIN_DAYS:
        return
    today = known.get(day)
    if today is None:
        if len(past) > SELDOM_SILENT * len(alike):
            yield _volume(PartnerDay(day=day), past)
        return
    found = (_volume(today, past), _errors(today, past), _latency(today, past))
    yield from (one for one in found if one is not None)


def _volume(today: PartnerDay, past: Sequence[PartnerDay]) -> ScoredFigure:
    def on_scale(day: PartnerDay) -> float:
        return 2 * math.sqrt(day.messages + 0.375)

    expected = median(day.messages for day in past)
    score = _distance(on_scale(today), [on_scale(day) for day in past])
    return ScoredFigure(day=today.day, measure="volume", value=today.messages, expected=expected, score=score)


def _errors(today: PartnerDay, past: Sequence[PartnerDay]) -> ScoredFigure | None:
    days = _comparable_days(past)
    if today.answers < MIN_ANSWERS or len(days) < MIN_DAYS:
        return None
    weight = 2 * math.sqrt(today.answers)

    def on_scale(day: PartnerDay) -> float:
        return weight * math.asin(math.sqrt((day.errors + 0.375) / (day.answers + 0.75)))

    expected = sum(day.errors for day in days) / sum(day.answers for day in days)
    score = _distance(on_scale(today), [on_scale(day) for day in days], _more_noise(today, days))
    return ScoredFigure(
        day=today.day, measure="errors", value=today.errors / today.answers, expected=expected, score=score
    )


def _latency(today: PartnerDay, past: Sequence[PartnerDay]) -> ScoredFigure | None:
    days = [day for day in _comparable_days(past) if day.took is not None]
    if today.took is None or today.answers < MIN_ANSWERS or len(days) < MIN_DAYS:
        return None
    spread = max(0.1, median([day.spread or 0.0 for day in (*days, today)]))
    unit = MEDIAN_ERROR * spread / math.sqrt(today.answers)
    took = [day.took / unit for day in days if day.took is not None]
    score = _distance(today.took / unit, took, _more_noise(today, days))
    usual = math.exp(median(day.took for day in days if day.took is not None))
    return ScoredFigure(day=today.day, measure="latency", value=math.exp(today.took), expected=usual, score=score)


def _comparable_days(past: Sequence[PartnerDay]) -> list[PartnerDay]:
    return [day for day in past if day.answers >= MIN_ANSWERS]


def _more_noise(today: PartnerDay, days: Sequence[PartnerDay]) -> float:
    """Return the factor by which the noise of the compared days increases the expected distance."""
    usual = median(day.answers for day in days)
    return math.sqrt(1 + today.answers / (usual * len(days)))


def _distance(value: float, others: Sequence[float], by_chance: float = 1.0) -> float:
    middle = median(others)
    spread = COMPARABLE * median(abs(other - middle) for other in others)
    return (value - middle) / max(by_chance, spread)
