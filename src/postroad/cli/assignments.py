"""``NAME=VALUE`` and moments in time, as they are written on a command line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import click

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
DURATION = re.compile(r"(\d+)([smhd])\Z")


def assignments(texts: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.UsageError(f"{text!r}: write it as NAME=VALUE")
        found[name] = value
    return found


def moment(text: str, *, past: bool = False) -> datetime:
    """A time such as 2026-11-15T10:00:00Z, or how far it is from now: 90s, 30m, 48h, 30d."""
    if found := DURATION.match(text):
        distance = timedelta(**{UNITS[found[2]]: int(found[1])})
        return datetime.now(UTC) + (-distance if past else distance)
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise click.UsageError(f"{text!r} is no time; write 2026-11-15T10:00:00Z, or 30m, 48h, 30d") from None
    return read if read.tzinfo else read.replace(tzinfo=UTC)
