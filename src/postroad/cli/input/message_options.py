"""Command-line options as values: ``NAME=VALUE`` pairs, times, recipients, documents and properties of a message."""

from __future__ import annotations

import mimetypes
import re
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from postroad.client.documents import make_part
from postroad.core.model.message import Argument, Part, Property, PropertyType, Recipient, Status

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DURATION = re.compile(r"(\d+)([smhd])\Z")


def parse_assignments(texts: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.UsageError(f"{text!r}: write it as NAME=VALUE")
        found[name] = value
    return found


def parse_moment(text: str, *, past: bool = False) -> datetime:
    """Parse a time such as 2026-11-15T10:00:00Z, or an offset from now: 90s, 30m, 48h, 30d."""
    if found := DURATION.match(text):
        distance = timedelta(**{UNITS[found[2]]: int(found[1])})
        return datetime.now(UTC) + (-distance if past else distance)
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise click.UsageError(f"{text!r} is not a time; write 2026-11-15T10:00:00Z, or 30m, 48h, 30d") from None
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def to_microseconds(moment: datetime) -> int:
    """Return a time in microseconds since 1970, exactly; a float would be one less for some."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def parse_recipients(names: Iterable[str], arguments: Mapping[str, str]) -> list[Recipient]:
    given = tuple(Argument(name, value) for name, value in arguments.items())
    return [Recipient(name, given) for name in names]


def read_document_part(file: str, content_type: str, number: int) -> Part:
    """Read a file as a part; its content type as given, else by its name, else by its contents."""
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    return document_part(data, file, content_type, number)


def document_part(data: bytes, file: str, content_type: str = "", number: int = 1) -> Part:
    guessed = content_type or mimetypes.guess_type(file)[0] or make_part(_perhaps_text(data)).content_type
    return Part(id=str(number), content_type=guessed, data=data)


def _perhaps_text(data: bytes) -> str | bytes:
    try:
        return data.decode() if b"\0" not in data else data
    except UnicodeDecodeError:
        return data


def parse_properties(texts: Iterable[str]) -> dict[str, Property]:
    found: dict[str, Property] = {}
    for key, value in parse_assignments(texts).items():
        name, _, kind = key.partition(":")
        if kind and kind not in list(PropertyType):
            raise click.UsageError(f"{key!r}: a property's type is one of {', '.join(PropertyType)}")
        found[name] = Property(name, value, PropertyType(kind or "string"))
    return found


def parse_status(text: str) -> Status:
    code, _, words = text.partition(":")
    return Status(code, words)
