"""JSON Lines: one document per line, in UTF-8, without an envelope.

Rules: a document's bytes stay the same, except for line ends between its tokens, which JSON Lines cannot contain. A
line that is not JSON is an error of that member, since its end is certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from postroad.core.codecs.buffers import Buffer, whole_bytes
from postroad.core.interchange.assembly_errors import unfit_member
from postroad.core.interchange.envelope_errors import judge_harmless, too_many
from postroad.core.interchange.model import (
    MAX_MEMBERS,
    Envelope,
    InterchangeFault,
    Member,
    Numbers,
    OnEnvelopeError,
    Split,
)

STANDARD = "json_lines"
_BOM = b"\xef\xbb\xbf"
_BLANKS = b" \t\r\n"
_HARMLESS = ("json_lines.bom", "json_lines.blank")
_READER = msgspec.json.Decoder(msgspec.Raw)  # checks the syntax without building values


def examine(data: Buffer, most_members: int = MAX_MEMBERS) -> Split:
    """Return every non-blank line as a member; its reference is the line number."""
    raw = whole_bytes(data)
    view, members, faults = memoryview(raw), list[Member](), list[InterchangeFault]()
    if raw.startswith(_BOM):
        faults.append(InterchangeFault(code="json_lines.bom", text="it begins with a byte order mark"))
    for number, begin, end in _lines(raw):
        line = raw[begin:end]
        if not line.strip(_BLANKS):
            faults.append(InterchangeFault(code="json_lines.blank", text=f"line {number} is empty", at=begin))
            continue
        if len(members) >= most_members:
            raise too_many(begin, most_members)
        if wrong := _what_is_wrong(line):
            text = f"line {number} is not JSON: {wrong}"
            faults.append(InterchangeFault(code="json_lines.json", text=text, at=begin, member=len(members)))
        members.append(Member(data=view[begin:end], kind="json", reference=str(number)))
    return Split(standard=STANDARD, reference="", sender="", receiver="", members=tuple(members), faults=tuple(faults))


def split(data: Buffer, on_error: OnEnvelopeError = OnEnvelopeError.REFUSE, most_members: int = MAX_MEMBERS) -> Split:
    return judge_harmless(examine(data, most_members), on_error, _HARMLESS)


def assemble(members: Iterable[Buffer], envelope: Envelope, numbers: Numbers) -> Iterator[bytes]:
    """Yield one piece per member. There is no envelope, so neither its values nor numbers are used."""
    for position, member in enumerate(members):
        line = bytes(member).removeprefix(_BOM).strip(_BLANKS)
        if wrong := _what_is_wrong(line):
            raise unfit_member(position, f"it is not JSON in UTF-8: {wrong}")
        # Inside a string, a line end is written \n, so all others are between tokens.
        yield line.translate(None, b"\r\n") + b"\n"


def _lines(raw: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield number, start and end of each line, without its line end."""
    number, begin = 1, len(_BOM) if raw.startswith(_BOM) else 0
    while begin < len(raw):
        end = raw.find(b"\n", begin)
        after = len(raw) if end < 0 else end + 1
        end = len(raw) if end < 0 else end
        yield number, begin, end - 1 if raw[end - 1 : end] == b"\r" and end > begin else end
        number, begin = number + 1, after


def _what_is_wrong(line: bytes) -> str:
    try:
        _READER.decode(line)
        line.decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
        return str(fault)
    return ""
