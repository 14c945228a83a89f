"""One message, from MSH to its last segment: parses, normalizes segment ends, changes separators.

Rules: a message contains no other header or trailer, so that a member can never end its batch. A line that does not begin
a segment continues the text of the previous line.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from postroad.core.codecs.buffers import Buffer
from postroad.core.interchange.assembly_errors import unfit
from postroad.core.interchange.hl7.separators import (
    LINE_ENDS,
    SeparatorRewriting,
    Separators,
    fields_of,
    read_separators,
    text_of,
    to_readable,
)
from postroad.errors import Refused

# Values of MSH-18 in which a letter may contain the byte of a separator.
_SPLITS_LETTERS = re.compile(r"ISO IR ?(?:14|87|159)|GB ?18030|BIG|CNS|UTF-(?:16|32)", re.IGNORECASE)
_CONTROL = re.compile(rb"[\r\n\x0b](MSH|FHS|BHS|BTS|FTS)(?![A-Za-z0-9])")


class Hl7Message(Struct, frozen=True, kw_only=True, gc=False):
    data: bytes  # every segment, followed by CR
    kind: str  # MSH-9 as it is: ADT^A01
    reference: str  # MSH-10
    marks: Separators


def read_message(data: Buffer) -> Hl7Message:
    """Read the message in these bytes."""
    raw, at, end = to_readable(data)
    if not raw.startswith(b"MSH", at):
        raise unfit(f"a message begins with MSH, not with {raw[at : at + 24]!r}")
    try:
        marks = read_separators(raw, at)
    except Refused as refused:
        raise unfit(refused.detail) from None
    if marks.contradict():
        raise unfit("MSH gives one character two roles")
    inside = _CONTROL.search(raw, at, end)
    if inside is not None:
        raise unfit(f"byte {inside.start(1)}: {inside.group(1).decode()} is inside a message")
    body = normalize_segments(raw[at:end], marks)
    header = fields_of(body[: body.index(b"\r")], marks, 10)
    if not header[10]:
        raise unfit("MSH-10 is empty, so an acknowledgment could not refer to the message")
    return Hl7Message(data=body, kind=text_of(header[9]), reference=text_of(header[10]), marks=marks)


def normalize_segments(raw: bytes, marks: Separators) -> bytes:
    """Return the message with a single CR after each segment."""
    if b"\n" in raw:
        text = marks.escape + b"X0A" + marks.escape
        raw = _breaks(marks).sub(lambda found: b"\r" if _ends_segment(found) else text * len(found.group()), raw)
    return raw.rstrip(LINE_ENDS) + b"\r"


@lru_cache(maxsize=256)
def _breaks(marks: Separators) -> re.Pattern[bytes]:
    """Return the pattern of a run of line ends; its group matches if a segment or the end of the message follows."""
    return re.compile(rb"[\r\n]++((?=[A-Z][A-Z0-9]{2}(?:" + re.escape(marks.field) + rb"|[\r\n]|\Z)|\Z))?")


def _ends_segment(found: re.Match[bytes]) -> bool:
    """Return True if the line end ends a segment: CR always, a lone LF only before a segment."""
    return b"\r" in found.group() or found.group(1) is not None


def convert_separators(found: Hl7Message, wanted: Separators) -> Hl7Message:
    """Return the message with these separators; refuses a conversion that could alter its text."""
    if found.marks == wanted:
        return found
    old = found.marks
    end = found.data.find(old.field, 4)  # after MSH-2
    end = found.data.index(b"\r") if end < 0 else end
    header = fields_of(found.data[: found.data.index(b"\r")], old, 18)
    _check_charset(found, text_of(header[18]))
    more = found.data[4 + len(old.encoding()) : end]  # a truncation character, since 2.7
    if any(more[place : place + 1] in wanted.field + wanted.encoding() for place in range(len(more))):
        raise unfit(f"MSH-2 has a truncation character {text_of(more)!r} that is a separator of the envelope")
    body = SeparatorRewriting(old, wanted).of(found.data[end:])
    data = b"MSH" + wanted.field + wanted.encoding() + more + body
    header = fields_of(data[: data.index(b"\r")], wanted, 10)
    return Hl7Message(data=data, kind=text_of(header[9]), reference=text_of(header[10]), marks=wanted)


def _check_charset(found: Hl7Message, charset: str) -> None:
    """Refuse charsets in which the byte of a separator can be half of a letter."""
    if found.data.isascii() and b"\x1b" not in found.data:
        return
    if any(_SPLITS_LETTERS.search(one) for one in charset.split(text_of(found.marks.repetition))):
        raise unfit(f"message {found.reference} is in {charset}, and cannot be written in other separators")
