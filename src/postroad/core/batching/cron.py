"""Cron expressions: minute, hour, day of the month, month, weekday.

Fields are ``*``, numbers, names (``mon``, ``jan``), ranges, lists and steps (``8-18/2``); the day ``L`` is the last
of the month, and Sunday is 0 or 7. If both days are given, either matches, as in every cron. ``@hourly``, ``@daily``,
``@weekly``, ``@monthly`` and ``@yearly`` are abbreviations.

Rule: a schedule with fixed hours fires once for each day and time that it names, whatever the clock change: skipped
times fire when the clock jumps over them, and repeated times fire the first time. A schedule for every hour fires
whenever the wall clock shows its time, so the repeated hour is like every other.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from postroad.core.delivery.windows import DAY, DAYS_BEFORE, EPOCH, MICROSECOND, moments_shown, reached_us, zone_of
from postroad.errors import Refused

SHORT = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
LAST_DAY = 32  # means L
LONGEST_FEBRUARY = 29
YEARS_AHEAD = 41  # longest time between two 29 February on the same weekday, across a century without leap year
EXPRESSION_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    name: str
    lowest: int
    highest: int
    names: tuple[str, ...] = ()  # of its values, lowest first


FIELDS = (
    Field(name="minute", lowest=0, highest=59),
    Field(name="hour", lowest=0, highest=23),
    Field(name="day", lowest=1, highest=31),
    Field(name="month", lowest=1, highest=12, names=MONTHS),
    Field(name="weekday", lowest=0, highest=7, names=WEEKDAYS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """A parsed schedule."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]  # 0 is Sunday
    either_day: bool  # day of month and weekday were both given

    @property
    def every_hour(self) -> bool:
        return len(self.hours) == 24

    def has(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        by_weekday = day.isoweekday() % 7 in self.weekdays
        by_day = day.day in self.days or (LAST_DAY in self.days and day.day == monthrange(day.year, day.month)[1])
        return (by_day or by_weekday) if self.either_day else (by_day and by_weekday)


@lru_cache(maxsize=4_096)
def read_cron(text: str) -> Cron:
    """Parse a schedule; raises Refused with the name of the wrong field."""
    if len(text) > EXPRESSION_CHARS:
        raise _invalid(f"a schedule has at most {EXPRESSION_CHARS} characters")
    fields = SHORT.get(text.strip().lower(), text).lower().split()
    if len(fields) != len(FIELDS):
        raise _invalid(f"{text!r} has {len(fields)} fields; write minute hour day month weekday, such as 0 18 * * 1-5")
    minutes, hours, days, months, weekdays = (_values(part, field) for part, field in zip(fields, FIELDS, strict=True))
    cron = Cron(
        minutes=tuple(sorted(minutes)),
        hours=tuple(sorted(hours)),
        days=days,
        months=months,
        weekdays=frozenset(day % 7 for day in weekdays),
        either_day=not fields[2].startswith("*") and not fields[4].startswith("*"),
    )
    _refuse_never(cron, text)
    return cron


def next_time(cron: Cron, time_zone: str, after_us: int) -> int:
    """Return the first moment after ``after_us`` at which the schedule fires."""
    days = _days(cron, (EPOCH + after_us * MICROSECOND).astimezone(zone_of(time_zone)).date())
    for day in days:
        ahead = [moment for moment in times_of_day(cron, time_zone, day) if moment > after_us]
        if ahead:
            # A clock set back across midnight shows the end of a day after the start of the next.
            following = times_of_day(cron, time_zone, day + DAY) if cron.has(day + DAY) else ()
            return min(ahead + [moment for moment in following if moment > after_us])
    raise ValueError("this schedule never runs")  # read_cron refuses those


def _days(cron: Cron, today: date) -> Iterator[date]:
    """Yield the days of the schedule, from shortly before today on."""
    day = today - DAYS_BEFORE * DAY
    while day.year <= today.year + YEARS_AHEAD:
        if day.month not in cron.months:
            day = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
            continue
        if cron.has(day):
            yield day
        day += DAY


@lru_cache(maxsize=512)  # a schedule for every minute has 1440 times
def times_of_day(cron: Cron, time_zone: str, day: date) -> tuple[int, ...]:
    """Return the moments at which the schedule fires for a local calendar day, in order."""
    zone, midnight = zone_of(time_zone), datetime.combine(day, time())
    walls = [midnight + timedelta(hours=hour, minutes=minute) for hour in cron.hours for minute in cron.minutes]
    if _is_plain(zone, midnight):
        first_us = (midnight.replace(tzinfo=zone).astimezone(UTC) - EPOCH) // MICROSECOND
        return tuple(first_us + (wall - midnight) // MICROSECOND for wall in walls)
    if cron.every_hour:
        return tuple(sorted({moment for wall in walls for moment in moments_shown(wall, zone)}))
    return tuple(sorted({reached_us(wall, zone) for wall in walls}))


def _is_plain(zone: ZoneInfo, midnight: datetime) -> bool:
    """Whether there is no clock change from the day before to the day after."""
    hours = (midnight + timedelta(hours=number) for number in range(-24, 49, 6))
    return len({hour.replace(tzinfo=zone).utcoffset() for hour in hours}) == 1


def _values(text: str, field: Field) -> frozenset[int]:
    return frozenset(value for item in text.split(",") for value in _item(item, field))


def _item(item: str, field: Field) -> range:
    span, slash, step_text = item.partition("/")
    step = _number(step_text, field, 1, field.highest) if slash else 1
    if span == "*":
        return range(field.lowest, field.highest + 1, step)
    if span == "l" and field.name == "day" and not slash:
        return range(LAST_DAY, LAST_DAY + 1)
    first_text, dash, end_text = span.partition("-")
    first = _value(first_text, field)
    end = _value(end_text, field) if dash else (field.highest if slash else first)
    if end < first:
        raise _invalid(f"the {field.name} {item!r} ends before it begins; write two ranges, with a comma between them")
    return range(first, end + 1, step)


def _value(text: str, field: Field) -> int:
    if text in field.names:
        return field.names.index(text) + field.lowest
    return _number(text, field, field.lowest, field.highest)


def _number(text: str, field: Field, lowest: int, highest: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 2 and lowest <= int(text) <= highest):
        raise _invalid(f"{text!r} is no {field.name}; write a number from {lowest} to {highest}")
    return int(text)


def _refuse_never(cron: Cron, text: str) -> None:
    longest = max(LONGEST_FEBRUARY if month == 2 else monthrange(2001, month)[1] for month in cron.months)
    if not cron.either_day and LAST_DAY not in cron.days and min(cron.days) > longest:
        raise _invalid(f"{text!r} never runs: these months have no such day")


def _invalid(detail: str) -> Refused:
    return Refused("batching.invalid", detail, pointer="/cron")
