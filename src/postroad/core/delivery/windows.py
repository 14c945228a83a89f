"""Delivery windows: when messages may be pushed to a service, in its own time zone.

Rule: a window is open from the first moment at which the wall clock has reached ``opens`` to the last moment at which
it has not reached ``closes``. A window that opens in an hour that daylight saving skips opens at the first moment
after it. A window that closes there closes there. A window entirely within the skipped hour is left out that day. A
window that meets a repeated hour is open once, without interruption. A window belongs to the weekday on which it
opens, and crosses midnight when it closes earlier than it opens. Time is an argument: equal windows, zone and moment
give the same result.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, lru_cache
from hashlib import blake2b
from typing import NamedTuple
from zoneinfo import ZoneInfo

from postroad.core.model.directory import DeliveryWindow

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
DAY = timedelta(days=1)
DAYS_BEFORE = 2  # a window crosses at most one midnight; a clock set back may cross it twice
DAYS_AHEAD = 28  # a weekly window may be skipped by clock changes, but never four times in a row
MAX_OPEN_US = 14 * 86_400_000_000  # windows are weekly: a longer span never ends
MAX_SPREAD_S = 60.0
SPREAD_SHARE = 0.1  # share of a short window, so that most of it remains for pushes


class OpenSpan(NamedTuple):
    """A period in which pushes are allowed: from ``opens_us`` until just before ``closes_us``."""

    opens_us: int
    closes_us: int


def next_opening(windows: tuple[DeliveryWindow, ...], time_zone: str, now_us: int) -> int:
    """Return the first moment from ``now_us`` on at which pushes are allowed; now, if there are no windows."""
    if not windows:
        return now_us
    for day in _days_around(time_zone, now_us, DAYS_AHEAD):
        # Spans of a later day open later, so the first day with a span decides.
        ahead = [max(span.opens_us, now_us) for span in _spans(windows, time_zone, day) if span.closes_us > now_us]
        if ahead:
            return min(ahead)
    raise ValueError("these delivery windows never open; each needs days, and must close later than it opens")


def next_closing(windows: tuple[DeliveryWindow, ...], time_zone: str, after_us: int) -> int | None:
    """Return the first moment after ``after_us`` at which pushes are not allowed; None if that never happens."""
    spans = sorted(
        span for day in _days_around(time_zone, after_us, DAYS_AHEAD) for span in _spans(windows, time_zone, day)
    )
    closes_us = 0
    for span in spans:
        if after_us < closes_us < span.opens_us:
            break
        closes_us = max(closes_us, span.closes_us)
    return closes_us if after_us < closes_us < after_us + MAX_OPEN_US else None


def spread_s(
    windows: tuple[DeliveryWindow, ...], time_zone: str, now_us: int, service_gcid: str, delivery: int
) -> float:
    """Return seconds to wait after ``next_opening``, so that deliveries are spread after a window opens.

    Each delivery has a fixed offset in the first minute (less in a short window); once that has passed, it need not
    wait. Pass the same ``delivery`` for all of a service's deliveries to spread services and keep their deliveries
    together.
    """
    if not windows:
        return 0.0
    opening_us = next_opening(windows, time_zone, now_us)
    span = _open_at(windows, time_zone, opening_us)
    reach_s = min(MAX_SPREAD_S, (span.closes_us - span.opens_us) / 1_000_000 * SPREAD_SHARE)
    passed_s = (opening_us - span.opens_us) / 1_000_000
    return max(0.0, reach_s * _place(service_gcid, delivery) - passed_s)


def _open_at(windows: tuple[DeliveryWindow, ...], time_zone: str, moment_us: int) -> OpenSpan:
    """Return the span around an open moment; adjacent windows are merged, so all-day windows do not reopen at midnight."""
    days = _days_around(time_zone, moment_us, 1)
    spans = sorted(span for day in days for span in _spans(windows, time_zone, day))
    around = OpenSpan(moment_us, moment_us + 1)
    for span in reversed(spans):
        around = _joined(around, span)
    for span in spans:
        around = _joined(around, span)
    return around


def _joined(one: OpenSpan, other: OpenSpan) -> OpenSpan:
    """Return both spans as one if they are adjacent or overlap; otherwise the first."""
    if one.closes_us < other.opens_us or other.closes_us < one.opens_us:
        return one
    return OpenSpan(min(one.opens_us, other.opens_us), max(one.closes_us, other.closes_us))


def _place(service_gcid: str, delivery: int) -> float:
    """Return a number from 0 to below 1 that is always the same for the same delivery."""
    digest = blake2b(f"{service_gcid}/{delivery}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") / (1 << 32)


def _days_around(time_zone: str, moment_us: int, ahead: int) -> Iterator[date]:
    """Return the days, by the wall clock, whose windows can matter at a moment and for some days from then."""
    today = (EPOCH + moment_us * MICROSECOND).astimezone(zone_of(time_zone)).date()
    return (today + number * DAY for number in range(-DAYS_BEFORE, ahead + 1))


@lru_cache(maxsize=8_192)  # all deliveries of a service need the same days
def _spans(windows: tuple[DeliveryWindow, ...], time_zone: str, day: date) -> tuple[OpenSpan, ...]:
    """Return the open periods of a day; a window wholly in skipped time is omitted."""
    today = [window for window in windows if WEEKDAYS[day.weekday()] in window.days]
    spans = [_span(window, zone_of(time_zone), datetime.combine(day, time())) for window in today]
    return tuple(span for span in spans if span.opens_us < span.closes_us)


def _span(window: DeliveryWindow, zone: ZoneInfo, midnight: datetime) -> OpenSpan:
    """Return the span of a window; ``midnight`` and all wall-clock times are naive, and the zone converts them to moments."""
    opens, closes = midnight + _since_midnight(window.opens), midnight + _since_midnight(window.closes)
    return OpenSpan(reached_us(opens, zone), _passed_us(closes + DAY if closes < opens else closes, zone))


def _since_midnight(text: str) -> timedelta:
    hours, minutes = text.split(":")
    return timedelta(hours=int(hours), minutes=int(minutes))


def reached_us(wall: datetime, zone: ZoneInfo) -> int:
    """Return the first moment at which the wall clock shows this time or a later one."""
    first, second = _moments(wall, zone)
    return _us(first if first <= second else _jump(wall, zone, second, first))


def moments_shown(wall: datetime, zone: ZoneInfo) -> tuple[int, ...]:
    """Return every moment at which the wall clock shows this time: none, one or two."""
    first, second = _moments(wall, zone)
    return () if first > second else tuple(sorted({_us(first), _us(second)}))


def _passed_us(wall: datetime, zone: ZoneInfo) -> int:
    """Return the moment after which the wall clock never again shows an earlier time than this."""
    first, second = _moments(wall, zone)
    if first > second:
        return _us(_jump(wall, zone, second, first))
    # A clock that is set back to exactly this time shows it again, but no earlier time.
    return _us(second if first < second and _shown(second - MICROSECOND, zone) < wall else first)


def _moments(wall: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Return the moments of a wall-clock time: first before second if it is repeated, first after second if skipped."""
    return (
        wall.replace(tzinfo=zone, fold=0).astimezone(UTC),
        wall.replace(tzinfo=zone, fold=1).astimezone(UTC),
    )


def _jump(wall: datetime, zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """Return the moment at which the wall clock jumped over a time, by bisection; clocks change at whole seconds."""
    while after - before > timedelta(seconds=1):
        middle = before + timedelta(seconds=(after - before) // timedelta(seconds=2))
        if _shown(middle, zone) < wall:
            before = middle
        else:
            after = middle
    return after


def _shown(moment: datetime, zone: ZoneInfo) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None)


def _us(moment: datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


@cache  # there are about 600 zones, and ZoneInfo itself caches eight
def zone_of(name: str) -> ZoneInfo:
    return ZoneInfo(name)
