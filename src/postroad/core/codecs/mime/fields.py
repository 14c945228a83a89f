"""The header block of a MIME entity: fields with a name and a value, in order.

Rule: every field that is read can be written again. So a value contains no control characters, and a field is text of
one byte per character (latin-1), which gives back the same bytes in any encoding. A block is accepted completely or
refused; no line is skipped, since another reader might not skip the same one. A Content-ID has angle brackets in the
header and none everywhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from postroad.core.codecs.refusals import malformed
from postroad.errors import Refused

Fields = tuple[tuple[str, str], ...]

LF_LINES = "lines end in LF alone"
SPACED_NAME = "there is a space between the name of a header and its colon"
TWICE = "a part specifies its type, its id or its transfer encoding twice; the first counts"

_VALUE = r"[^\x00-\x08\x0a-\x1f\x7f]*+"
_FIELD = re.compile(rf"^([!-9;-~]++)[ \t]*+:[ \t]*+({_VALUE})\r?(?:\n|\Z)", re.MULTILINE)
_FOLD = re.compile(r"\r?\n(?=[ \t])")
_SPACED_NAME = re.compile(rb"^[!-9;-~]++[ \t]++:", re.MULTILINE)
_ONCE = ("content-type", "content-id", "content-transfer-encoding")
_NAME = re.compile(r"[!-9;-~]+")
_WRITTEN = re.compile(_VALUE)


@lru_cache(maxsize=64)
def read_fields(head: bytes) -> Fields:
    """The fields of a block; folded lines are joined, and lines may end in LF. Callers usually ask for several."""
    text = _FOLD.sub("", head.decode("latin-1"))
    fields = _FIELD.findall(text)
    if len(fields) != text.count("\n") + (not text.endswith("\n")) and text:
        raise _not_a_field(text)
    return tuple([(name, value.rstrip(" \t")) for name, value in fields])


def _not_a_field(text: str) -> Refused:
    """Names the first line, of those that are left when folded ones are joined, that is none."""
    lines = text.removesuffix("\n").split("\n")
    number, line = next((n, line) for n, line in enumerate(lines, 1) if not _FIELD.fullmatch(line + "\n"))
    return malformed(
        f"line {number} of a header cannot be read: {line[:60]!r}; a header consists of lines like "
        "'Content-Type: text/xml' without control characters, and an empty line comes before the body"
    )


def list_tolerated(head: bytes) -> tuple[str, ...]:
    """Lists the irregularities of a block that could be read."""
    notes = []
    names = [name.lower() for name, _ in read_fields(head)]
    if any(names.count(name) > 1 for name in _ONCE):
        notes.append(TWICE)
    if head.count(b"\n") != head.count(b"\r\n"):
        notes.append(LF_LINES)
    if _SPACED_NAME.search(head):
        notes.append(SPACED_NAME)
    return tuple(notes)


def first_of(fields: Fields, name: str) -> str:
    """The value of the first field of that name, "" when there is none."""
    wanted = name.lower()
    return next((value for key, value in fields if key.lower() == wanted), "")


def write_head(headers: Iterable[tuple[str, str]]) -> bytes:
    """Return the header lines, each ended by CRLF, without the empty line before the body."""
    return b"".join([_line(name, value) for name, value in headers])


def _line(name: str, value: str) -> bytes:
    if not _NAME.fullmatch(name) or not _WRITTEN.fullmatch(value):
        raise ValueError(f"{name[:80]!r}: {value[:80]!r} cannot be written as a header: it has control characters")
    return f"{name}: {value}\r\n".encode("latin-1")


def bare_id(text: str) -> str:
    """Return ``a@b`` for ``<a@b>``; an ID without brackets is unchanged."""
    stripped = text.strip()
    return stripped[1:-1].strip() if stripped[:1] == "<" and stripped[-1:] == ">" else stripped
