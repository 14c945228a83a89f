"""The header block of a MIME entity: fields with a name and a value, in order.

Kept rule: whatever is read can be written again. So a value holds no control characters, and a field is text of one
byte a character (latin-1), which gives back the same bytes whatever encoding they were in. A block is taken whole or
refused; no line of it is skipped, since another reader would not skip the same one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from postroad.core.codecs.faults import malformed, too_complex
from postroad.core.codecs.limits import WireLimits
from postroad.errors import Refused

Fields = tuple[tuple[str, str], ...]

LF_LINES = "lines end in LF alone"
SPACED_NAME = "there is space between the name of a header and its colon"
CUT_HEADER = "a header has no empty line behind it"

_VALUE = r"[^\x00-\x08\x0a-\x1f\x7f]*+"
_PLAIN = re.compile(rf"^([!-9;-~]++):[ \t]*+({_VALUE})\r\n", re.MULTILINE)
_LENIENT = re.compile(rf"^([!-9;-~]++)[ \t]*+:[ \t]*+({_VALUE})(?:\r?\n|\Z)", re.MULTILINE)
_FOLD = re.compile(r"\r?\n(?=[ \t])")
_SPACED = re.compile(r"^[!-9;-~]++[ \t]++:", re.MULTILINE)
_NAME = re.compile(r"[!-9;-~]+")
_WRITTEN = re.compile(_VALUE)


def read_fields(head: bytes, at: int, limits: WireLimits) -> tuple[Fields, tuple[str, ...]]:
    """The fields of a block that begins at byte ``at``, unfolded, and what was tolerated in them."""
    text = head.decode("latin-1")
    fields = _PLAIN.findall(text)
    tolerated: tuple[str, ...] = ()
    if len(fields) != text.count("\n") or not text.endswith("\n"):
        fields, tolerated = _read_leniently(text, at)
    if len(fields) > limits.mime_headers:
        raise too_complex(
            f"the header at byte {at} has {len(fields)} fields; at most {limits.mime_headers} are allowed"
        )
    if " \r" in text or "\t\r" in text or " \n" in text or "\t\n" in text:
        fields = [(name, value.rstrip(" \t")) for name, value in fields]
    return tuple(fields), tolerated


def _read_leniently(text: str, at: int) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Folded lines, lines that end in LF, space before the colon, a last line that has no end."""
    unfolded = _FOLD.sub("", text)
    fields = _LENIENT.findall(unfolded)
    if len(fields) != unfolded.count("\n") + (not unfolded.endswith("\n")):
        raise _not_a_field(unfolded, at)
    tolerated = []
    if text.count("\n") != text.count("\r\n"):
        tolerated.append(LF_LINES)
    if _SPACED.search(unfolded):
        tolerated.append(SPACED_NAME)
    return fields, tuple(tolerated)


def _not_a_field(unfolded: str, at: int) -> Refused:
    lines = unfolded.removesuffix("\n").split("\n")
    number, line = next((n, line) for n, line in enumerate(lines, 1) if not _LENIENT.fullmatch(line.removesuffix("\r")))
    return malformed(
        f"field {number} of the header at byte {at} cannot be read: {line[:60]!r}; a header consists of lines like "
        "'Content-Type: text/xml' without control characters, and an empty line comes before the body"
    )


def write_head(headers: Iterable[tuple[str, str]]) -> bytes:
    """Whole lines, each ended by CRLF, without the empty line that comes before the body."""
    return b"".join([_line(name, value) for name, value in headers])


def _line(name: str, value: str) -> bytes:
    if not _NAME.fullmatch(name) or not _WRITTEN.fullmatch(value):
        raise ValueError(f"{name[:80]!r}: {value[:80]!r} cannot be written as a header: it has control characters")
    return f"{name}: {value}\r\n".encode("latin-1")
