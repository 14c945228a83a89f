"""Converts texts for comparison: to strings, numbers or dates.

Rule: conversion never fails. A text that is not a number or date gives None, and its node does not match. Numbers are
exact (``Decimal``) and limited in length, since anyone can send them. A date is a moment; without a zone it is in
UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal

from postroad.core.model.rule import ValueType

NUMBER_CHARS = 64
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_ZONE = r"(?P<zone>[Zz]|[+-](?:0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)?"
_DATE = re.compile(r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})" + _ZONE)
_DATE_TIME = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]"
    r"(?P<hour>[0-9]{2}):(?P<minute>[0-5][0-9]):(?P<second>[0-5][0-9])(?:\.(?P<fraction>[0-9]{1,9}))?" + _ZONE
)

Comparable = str | Decimal | int
Reader = Callable[[str], Comparable | None]


def read_string(text: str) -> str:
    return text


def read_number(text: str) -> Decimal | None:
    """Return the number in a text, ignoring surrounding white space; None if it is not a number."""
    stripped = text.strip(" \t\r\n")
    if len(stripped) > NUMBER_CHARS or not _NUMBER.fullmatch(stripped):
        return None
    return Decimal(stripped)


def read_date(text: str) -> int | None:
    """Return an XML Schema date or dateTime in nanoseconds since year 1; a date counts as its first moment."""
    if len(text) > 4 * NUMBER_CHARS:
        return None
    stripped = text.strip(" \t\r\n")
    found = _DATE_TIME.fullmatch(stripped) or _DATE.fullmatch(stripped)
    if found is None:
        return None
    parts = found.groupdict()
    try:
        days = date.fromisoformat(parts["day"]).toordinal()
    except ValueError:
        return None
    of_day = _nanoseconds_of_day(parts)
    return None if of_day is None else days * 86_400_000_000_000 + of_day - _offset(parts["zone"])


def _nanoseconds_of_day(parts: dict[str, str | None]) -> int | None:
    if not parts.get("hour"):
        return 0
    hour, minute, second = (int(parts[name] or 0) for name in ("hour", "minute", "second"))
    fraction = int((parts["fraction"] or "").ljust(9, "0"))
    if hour > 24 or (hour == 24 and (minute or second or fraction)):  # 24:00:00 is the end of the day
        return None
    return ((hour * 60 + minute) * 60 + second) * 1_000_000_000 + fraction


def _offset(zone: str | None) -> int:
    if zone is None or zone in "Zz":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[4:6])
    return (minutes if zone[0] == "+" else -minutes) * 60_000_000_000


READERS: dict[ValueType, Reader] = {
    ValueType.STRING: read_string,
    ValueType.NUMBER: read_number,
    ValueType.DATE: read_date,
}
