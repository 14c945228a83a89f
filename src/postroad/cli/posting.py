"""From words on a command line to the parts of a message."""

from __future__ import annotations

import mimetypes
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from postroad.cli.assignments import assignments
from postroad.client.documents import part
from postroad.core.model.message import Argument, Part, Property, PropertyType, Recipient, Status


def recipients(names: Iterable[str], arguments: Mapping[str, str]) -> list[Recipient]:
    given = tuple(Argument(name, value) for name, value in arguments.items())
    return [Recipient(name, given) for name in names]


def document(file: str, content_type: str, number: int) -> Part:
    """A file's bytes; its content type as given, else by its name, else by a look at it."""
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    return document_of(data, file, content_type, number)


def document_of(data: bytes, file: str, content_type: str = "", number: int = 1) -> Part:
    guessed = content_type or mimetypes.guess_type(file)[0] or part(_perhaps_text(data)).content_type
    return Part(id=str(number), content_type=guessed, data=data)


def _perhaps_text(data: bytes) -> str | bytes:
    try:
        return data.decode() if b"\0" not in data else data
    except UnicodeDecodeError:
        return data


def properties_of(texts: Iterable[str]) -> dict[str, Property]:
    found: dict[str, Property] = {}
    for key, value in assignments(texts).items():
        name, _, kind = key.partition(":")
        if kind and kind not in list(PropertyType):
            raise click.UsageError(f"{key!r}: a property's type is one of {', '.join(PropertyType)}")
        found[name] = Property(name, value, PropertyType(kind or "string"))
    return found


def status_of(text: str) -> Status:
    code, _, words = text.partition(":")
    return Status(code, words)
