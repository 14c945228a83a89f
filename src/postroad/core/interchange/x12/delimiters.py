"""The delimiters of an interchange, found in its ISA segment.

    ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *261116*1230*^*00501*000000001*0*P*:~
       │                                                                             │                     ││
       element                                                      repetition, from 00402 on      component  terminator

Rule: the sixteen separators are walked, and the length that ISA should have (106) is not trusted: senders forget to fill
elements up, or fill them too far. A delimiter of several bytes (UTF-8) is taken whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

from msgspec import Struct

from postroad.core.codecs.buffers import Buffer, whole_bytes
from postroad.core.interchange.assembly_errors import unfit
from postroad.core.interchange.document_options import read_delimiters
from postroad.core.interchange.model import InterchangeFault
from postroad.errors import Refused

ISA_WIDTHS = (2, 10, 2, 10, 2, 15, 2, 15, 6, 4, 1, 5, 9, 1, 1, 1)
BLANKS = b" \t\r\n"
END_MARKS = BLANKS + b"\x00\x1a"  # what files of old systems end with
_ISA = re.compile(rb"ISA([^A-Za-z0-9\s])")
_LOOK = 512  # bytes in which an ISA must end, however badly filled
REPEATS_SINCE = "00402"
_UTF_8_MARK = b"\xef\xbb\xbf"
_UTF_16_BEGINNINGS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"I\x00": "utf-16-le", b"\x00I": "utf-16-be"}


class X12Delimiters(Struct, frozen=True, kw_only=True, gc=False, cache_hash=True):
    """The element, component, repetition and segment delimiters of one interchange.

    Patterns and facts are remembered by it, and looked up for every small interchange: hence a Struct."""

    element: bytes = b"*"
    component: bytes = b":"
    terminator: bytes = b"~"
    repetition: bytes = b""  # none before version 00402
    line_end: bytes = b""  # what follows each terminator, for people's eyes

    def roles(self) -> tuple[bytes, ...]:
        """Those that are in use, by role; an interchange without repetitions has three."""
        found = (self.element, self.component, self.terminator, self.repetition)
        return found if self.repetition else found[:3]

    def facts(self) -> dict[str, str]:
        return dict(_facts(self))


@lru_cache(maxsize=256)
def _facts(marks: X12Delimiters) -> dict[str, str]:
    return {
        "element": text_of(marks.element),
        "component": text_of(marks.component),
        "terminator": text_of(marks.terminator),
        "repetition": text_of(marks.repetition),
        "line_end": text_of(marks.line_end),
        "charset": "utf-8" if all(map(_is_utf_8, marks.roles())) else "latin-1",
    }


def delimiters_of(facts: Mapping[str, str]) -> X12Delimiters:
    """The delimiters that ``Delimiters.facts`` describe; the usual ones for those missing."""
    usual = _USUAL_WITH_REPETITION if facts.get("version", "") >= REPEATS_SINCE else _USUAL
    charset = "latin-1" if facts.get("charset") == "latin-1" else "utf-8"
    told = [facts.get(name, default) for name, default in usual.items()]
    try:
        return _delimiters(*(one.encode(charset) for one in told))
    except UnicodeEncodeError:
        raise Refused("interchange.unfit", f"the delimiters {told} cannot be written in {charset}") from None


def read_declared_delimiters(text: str) -> X12Delimiters:
    """Those that a document declares; refuses ones that cannot be distinguished."""
    named = read_delimiters("x12", text)
    marks = _delimiters(named["element"], named["component"], named["terminator"], named["repetition"], b"")
    wrong = _contradiction(marks) if all(marks.roles()[:3]) else "one of them is missing"
    if wrong:
        raise unfit(f"{text!r} cannot be the delimiters of X12: {wrong}")
    return marks


@lru_cache(maxsize=256)
def _delimiters(
    element: bytes, component: bytes, terminator: bytes, repetition: bytes, line_end: bytes
) -> X12Delimiters:
    """Returns the same cached object for the same delimiters, since partners rarely change theirs."""
    return X12Delimiters(
        element=element, component=component, terminator=terminator, repetition=repetition, line_end=line_end
    )


_USUAL = {"element": "*", "component": ":", "terminator": "~", "repetition": "", "line_end": ""}
_USUAL_WITH_REPETITION = _USUAL | {"repetition": "^"}


class IsaHeader(NamedTuple):
    """An ISA segment."""

    elements: tuple[str, ...]  # ISA01 to ISA16, as they stand there
    delimiters: X12Delimiters
    end: int  # where its terminator begins
    faults: tuple[InterchangeFault, ...] = ()


def text_of(raw: bytes) -> str:
    """UTF-8 where it is, otherwise every byte a character: nothing of an envelope is lost or fails."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def texts_of(segment: bytes, element: bytes) -> list[str]:
    """The elements of a segment, its tag first."""
    if segment.isascii():  # as nearly all are
        return segment.decode().split(element.decode()) if element.isascii() else [segment.decode()]
    if element.isascii():
        return text_of(segment).split(element.decode())
    return [text_of(one) for one in segment.split(element)]


def _is_utf_8(raw: bytes) -> bool:
    return text_of(raw).encode() == raw


def to_readable(data: Buffer) -> tuple[bytes, int, str]:
    """Return the bytes in an ASCII-compatible encoding, the position after a byte order mark, and the original encoding."""
    raw = whole_bytes(data)
    encoding = _UTF_16_BEGINNINGS.get(raw[:2])
    if encoding is None:
        return (raw, len(_UTF_8_MARK), "utf-8") if raw.startswith(_UTF_8_MARK) else (raw, 0, "")
    try:
        return raw.decode(encoding).encode(), 0, "utf-16"
    except UnicodeError:
        raise Refused("interchange.malformed", "it begins as UTF-16 and continues as something else") from None


def read_header(data: bytes, at: int) -> IsaHeader:
    """The ISA that begins here, blanks aside."""
    begin = skip_blanks(data, at, BLANKS)
    found = _ISA.match(data, begin)
    if found is None:
        seen = data[begin : begin + 16]
        raise Refused("interchange.malformed", f"byte {begin}: an X12 interchange begins with ISA, not with {seen!r}")
    element, head = found.group(1), data[begin : begin + _LOOK]
    pieces = head.split(element, len(ISA_WIDTHS))
    if len(pieces) <= len(ISA_WIDTHS):
        raise Refused(
            "interchange.malformed", f"byte {begin}: ISA has sixteen elements, but element {len(pieces)} is missing"
        )
    component = character_at(pieces[-1], 0)
    end = begin + len(head) - len(pieces[-1]) + len(component)
    terminator = character_at(data, end)
    if not terminator:
        raise Refused("interchange.malformed", f"byte {end}: the interchange ends in its first segment, ISA")
    elements = tuple(texts_of(data[begin:end], element)[1 : len(ISA_WIDTHS) + 1])
    marks = _delimiters(element, component, terminator, _repetition(elements), _line_end(data, end + len(terminator)))
    faults = (*_contradictions(marks, data[begin:end], begin), *_widths(elements, begin))
    return IsaHeader(elements=elements, delimiters=marks, end=end, faults=faults)


def skip_blanks(data: bytes, at: int, blanks: bytes) -> int:
    """Return the first position that is not blank."""
    while at < len(data) and data[at] in blanks:
        at += 1
    return at


def character_at(data: bytes, at: int) -> bytes:
    """One byte, or the several bytes of one character in UTF-8; nothing at the end."""
    lead = data[at : at + 1]
    if lead < b"\xc2":
        return lead
    whole = data[at : at + (2 if lead < b"\xe0" else 3 if lead < b"\xf0" else 4)]
    return whole if _is_character(whole) else lead


def _is_character(raw: bytes) -> bool:
    try:
        return len(raw.decode()) == 1
    except UnicodeDecodeError:
        return False


def _repetition(elements: tuple[str, ...]) -> bytes:
    """Return the repetition separator. In old versions, ISA11 names the standard instead."""
    character = elements[10]
    if elements[11] < REPEATS_SINCE or len(character) != 1 or character.isalnum() or character.isspace():
        return b""
    return character.encode()


def _line_end(data: bytes, at: int) -> bytes:
    return data[at : skip_blanks(data, at, b"\r\n")][:2]


def _contradictions(found: X12Delimiters, isa: bytes, at: int) -> tuple[InterchangeFault, ...]:
    """Return conflicts between delimiters that make the ends of segments ambiguous."""
    text = _contradiction(found)
    if not text and found.terminator in isa:
        text = f"the segment terminator {text_of(found.terminator)!r} also occurs inside ISA"
    return (InterchangeFault(code="x12.delimiters", text=text, at=at, fatal=True),) if text else ()


@lru_cache(maxsize=256)
def _contradiction(found: X12Delimiters) -> str:
    roles = found.roles()
    if any(one in other for one, other in permutations(roles, 2)):
        return "a delimiter is part of another one"
    if max(map(len, roles)) > 1 and not all(map(_is_utf_8, roles)):
        return "some delimiters are written in UTF-8 and others are not"
    if found.terminator.isalnum() or found.terminator == b" " or found.component.isalnum():
        return f"{text_of(found.component)!r} and {text_of(found.terminator)!r} end ISA, and cannot be delimiters"
    return ""


def _widths(elements: tuple[str, ...], at: int) -> tuple[InterchangeFault, ...]:
    if tuple(map(len, elements)) == ISA_WIDTHS:
        return ()
    wrong = [
        f"ISA{n:02d}" for n, (one, width) in enumerate(zip(elements, ISA_WIDTHS, strict=True), 1) if len(one) != width
    ]
    return (InterchangeFault(code="x12.isa", text=f"not as long as the standard requires: {', '.join(wrong)}", at=at),)
