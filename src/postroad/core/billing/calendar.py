"""Days and months in the time zone of the billing settings, including daylight saving."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from postroad.errors import Refused

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
FIRST_YEAR, LAST_YEAR = "1970", "9998"  # calendars end at 9999, and a month at the first day of the next
MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])\Z")


@lru_cache
def zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def day_of(at_us: int, time_zone: str) -> date:
    """The day on which this moment falls, on a wall in that zone."""
    return (EPOCH + at_us * MICROSECOND).astimezone(zone(time_zone)).date()


def begins_us(day: date, time_zone: str) -> int:
    """The first moment of a day; where the clock is set forward at midnight, the first that there is."""
    moment = datetime(day.year, day.month, day.day, tzinfo=zone(time_zone)).astimezone(UTC)
    return (moment - EPOCH) // MICROSECOND


def check_period(period: str) -> str:
    if not MONTH.match(period) or not FIRST_YEAR <= period[:4] <= LAST_YEAR:
        raise Refused("value.invalid", f"{period[:20]!r} is not a month; write it as 2026-10")
    return period


def first_day(period: str) -> date:
    return date.fromisoformat(f"{period}-01")


def next_period(period: str) -> str:
    return f"{first_day(period) + timedelta(days=31):%Y-%m}"


def period_us(period: str, time_zone: str) -> tuple[int, int]:
    """From the first moment of a month to the first of the next."""
    return begins_us(first_day(period), time_zone), begins_us(first_day(next_period(period)), time_zone)
