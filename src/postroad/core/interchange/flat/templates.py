"""Templates of header and trailer records, used for writing and reading.

    HDR{sender:15}{receiver:15}{date}{number:6}        TRL,{records},{total}

A name in braces is a value; with a number behind a colon it has that many bytes: digits are filled up with zeros from the left,
text with blanks from the right. What stands before the first brace is how such a record is known. Rule: a value that is too
long for its place is refused, never cut, but for the hash total, of which the last digits are taken, as is the custom.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from postroad.core.interchange.assembly_errors import unfit_value
from postroad.core.interchange.flat.charsets import encode_text

NUMBERS = frozenset(("number", "records", "all", "members", "total"))
NAMES = NUMBERS | {"sender", "receiver", "date", "time"}
_FIELD = re.compile(r"\{([a-z]+)(?::([0-9]{1,4}))?\}")


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    width: int  # 0: as long as it is


class Template:
    """One record's text."""

    def __init__(self, what: str, text: str, codec: str) -> None:
        self._what, self._codec = what, codec
        self._parts: list[bytes | _Field] = []
        at = 0
        for found in _FIELD.finditer(text):
            self._parts += [self._raw(text[at : found.start()]), _Field(found.group(1), int(found.group(2) or 0))]
            at = found.end()
        self._parts.append(self._raw(text[at:]))
        self._check(text)
        self.tag = self._parts[0] if isinstance(self._parts[0], bytes) else b""
        following = [*self._parts[1:], None]
        self._reader = re.compile(b"".join(map(_pattern, self._parts, following)), re.DOTALL)

    def _check(self, text: str) -> None:
        names = [part.name for part in self._parts if isinstance(part, _Field)]
        if unknown := sorted(set(names) - NAMES):
            raise unfit_value(self._what, f"{unknown[0]!r} is not a value; the values are {', '.join(sorted(NAMES))}")
        if len(set(names)) < len(names) or not text or text.startswith("{"):
            raise unfit_value(self._what, "it must begin with an identifying text, and have each value once")
        for field, behind in pairwise(self._parts[:-1]):
            if isinstance(field, _Field) and not field.width and not behind:
                raise unfit_value(self._what, f"{field.name!r} needs a width, or text between it and the next value")

    def write(self, values: Mapping[str, str]) -> bytes:
        return b"".join(
            part if isinstance(part, bytes) else self._written(part, values[part.name]) for part in self._parts
        )

    def _written(self, field: _Field, value: str) -> bytes:
        if field.name == "total" and field.width and len(value) > field.width:
            value = value[-field.width :]
        raw = self._raw(value.zfill(field.width) if field.name in NUMBERS else value)
        if field.width and len(raw) > field.width:
            raise unfit_value(
                field.name, f"{value!r} is longer than the {field.width} bytes that the {self._what} allows"
            )
        return raw + self._raw(" ") * (field.width - len(raw))

    def read(self, record: bytes) -> dict[str, bytes] | None:
        """What the record says, by name; none where it is not as the template says."""
        found = self._reader.fullmatch(record)
        return found.groupdict() if found else None

    def width_of(self, name: str) -> int:
        return next((part.width for part in self._parts if isinstance(part, _Field) and part.name == name), 0)

    def _raw(self, text: str) -> bytes:
        try:
            return encode_text(text, self._codec)
        except UnicodeError:
            raise unfit_value(self._what, f"{text!r} cannot be encoded in {self._codec}") from None


def _pattern(part: bytes | _Field, following: bytes | _Field | None) -> bytes:
    """A value without a width ends at the first byte of the text behind it: no record can be read in two ways, or slowly."""
    if isinstance(part, bytes):
        return re.escape(part)
    end = following[:1] if isinstance(following, bytes) else b""
    anything = b"[^%b]*+" % re.escape(end) if end else b".*+"
    return b"(?P<%b>%b)" % (part.name.encode(), b".{%d}" % part.width if part.width else anything)
