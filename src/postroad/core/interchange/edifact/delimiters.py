"""The delimiters of an interchange: given by UNA, otherwise the standard's defaults.

    UNA:+.? '        component, element, decimal mark, release, repetition (or reserved), terminator
    UNB+UNOA:3+…     without UNA, these; UNOB may have the separators of ISO 646 (1D, 1F, 1C) instead

A terminator or separator is text if an odd number of release characters precedes it: ``?'`` is an apostrophe, and
``??'`` is a question mark and the end of a segment. Rule: delimiters are one byte each; other delimiters without UNA
are accepted if they can be detected, and reported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from postroad.core.codecs.buffers import Buffer, whole_bytes
from postroad.core.interchange.assembly_errors import unfit
from postroad.core.interchange.document_options import read_delimiters as read_declared
from postroad.core.interchange.model import InterchangeFault
from postroad.errors import Refused

BLANKS = b" \t\r\n"
END_MARKS = BLANKS + b"\x00\x1a"
_UTF_8_MARK = b"\xef\xbb\xbf"
_UTF_16_BEGINNINGS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"U\x00": "utf-16-le", b"\x00U": "utf-16-be"}
_UNB = re.compile(rb"UNB([^A-Za-z0-9\s])[A-Z]{4}([^A-Za-z0-9\s])[0-9]")
_LINE_END = re.compile(rb"\r?\n")
_LOOK = 1024  # bytes in which the first segment must end


@dataclass(frozen=True, slots=True, kw_only=True)
class EdifactDelimiters:
    """The delimiters of one interchange."""

    component: bytes = b":"
    element: bytes = b"+"
    decimal: bytes = b"."
    release: bytes = b"?"  # may be none
    repetition: bytes = b""  # none before version 4
    terminator: bytes = b"'"
    line_end: bytes = b""  # line end after each terminator, for readability

    def special(self) -> bytes:
        """Return all characters that must be escaped in text."""
        return self.component + self.element + self.release + self.repetition + self.terminator

    def service_string(self) -> bytes:
        six = self.component + self.element + self.decimal + (self.release or b" ") + (self.repetition or b" ")
        return b"UNA" + six + self.terminator

    def facts(self) -> dict[str, str]:
        return {name: str(getattr(self, name), "latin-1") for name in NAMES}


NAMES = ("component", "element", "decimal", "release", "repetition", "terminator", "line_end")
USUAL = EdifactDelimiters()
CONTROLS = EdifactDelimiters(component=b"\x1f", element=b"\x1d", release=b"", terminator=b"\x1c")  # of UNOB, by choice


def delimiters_of(facts: Mapping[str, str]) -> EdifactDelimiters:
    """The delimiters that the options set; the standard's defaults for the others."""
    return EdifactDelimiters(**{name: facts[name].encode("latin-1", "replace") for name in NAMES if name in facts})


def read_declared_delimiters(text: str) -> EdifactDelimiters:
    """Return the delimiters that a document declares; refuses ones that cannot be distinguished."""
    marks = EdifactDelimiters(**read_declared("edifact", text))
    if contradicts(marks):
        raise unfit(
            f"{text!r} cannot be the delimiters of EDIFACT: each must be a different character, and not a letter or digit"
        )
    return marks


def contradicts(marks: EdifactDelimiters) -> bool:
    """Return True if a character has two roles, or a letter, a digit, a blank or a part of a letter has a role."""
    special = marks.special()
    single = all(len(getattr(marks, name)) == 1 for name in ("component", "element", "decimal", "terminator"))
    single = single and len(marks.release) <= 1 and len(marks.repetition) <= 1
    return (
        not single
        or len(set(special)) < len(special)
        or any(one > 126 or chr(one).isalnum() or one == 32 for one in special)
    )


def to_readable(data: Buffer) -> tuple[bytes, int, str]:
    """Return the bytes to read, their start, and their encoding if they were converted."""
    raw = whole_bytes(data)
    encoding = _UTF_16_BEGINNINGS.get(raw[:2], "")
    if encoding:
        try:
            raw = raw.decode(encoding).encode()
        except UnicodeDecodeError:
            raise no_interchange(raw, 0) from None
    at = len(_UTF_8_MARK) if raw.startswith(_UTF_8_MARK) else 0
    return raw, skip_blanks(raw, at), encoding


def skip_blanks(raw: bytes, at: int, blanks: bytes = END_MARKS) -> int:
    """Return the position of the next byte that is not blank."""
    while at < len(raw) and raw[at] in blanks:
        at += 1
    return at


def no_interchange(raw: bytes, at: int) -> Refused:
    detail = f"an EDIFACT interchange begins with UNA or UNB, not with {raw[at : at + 24]!r}"
    return Refused("interchange.malformed", detail)


def read_delimiters(raw: bytes, at: int) -> tuple[EdifactDelimiters, int, list[InterchangeFault]]:
    """Return the delimiters, the position of UNB, and their errors."""
    if raw.startswith(b"UNA", at):
        return _read_una(raw, at)
    found = _UNB.match(raw, at)
    if found is None:
        raise no_interchange(raw, at)
    for marks in (USUAL, CONTROLS):
        if found.groups() == (marks.element, marks.component):
            return _with_line_end(raw, at, marks), at, []
    return _seen(raw, found)


def _read_una(raw: bytes, at: int) -> tuple[EdifactDelimiters, int, list[InterchangeFault]]:
    six = raw[at + 3 : at + 9]
    begin = skip_blanks(raw, at + 9)
    if len(six) < 6 or not raw.startswith(b"UNB", begin):
        raise no_interchange(raw, begin)
    component, element, decimal, release, repetition, terminator = (six[place : place + 1] for place in range(6))
    marks = EdifactDelimiters(
        component=component,
        element=element,
        decimal=decimal,
        release=release.strip(),
        repetition=repetition.strip(),
        terminator=terminator,
    )
    faults = []
    if contradicts(marks):
        text = f"UNA gives one character two roles, or a role to a letter: {six!r}"
        faults.append(InterchangeFault(code="edifact.delimiters", text=text, at=at, fatal=True))
    return _with_line_end(raw, at, marks), begin, faults


def _seen(raw: bytes, found: re.Match[bytes]) -> tuple[EdifactDelimiters, int, list[InterchangeFault]]:
    """Find non-standard delimiters of an interchange without UNA: the terminator is the character before the next UN."""
    element, component = found.groups()
    ends = re.compile(rb"([^A-Za-z0-9\s])[ \t\r\n]*UN[GHZ]" + re.escape(element))
    end = ends.search(raw, found.end(), found.end() + _LOOK)
    marks = replace(USUAL, element=element, component=component, terminator=end.group(1) if end else b"'")
    if end is None or contradicts(marks):
        text = "its delimiters are not the standard ones, there is no UNA, and they are ambiguous"
        return (
            USUAL,
            found.start(),
            [InterchangeFault(code="edifact.delimiters", text=text, at=found.start(), fatal=True)],
        )
    text = "its delimiters are not the standard ones, and there is no UNA"
    return marks, found.start(), [InterchangeFault(code="edifact.una", text=text, at=found.start())]


def _with_line_end(raw: bytes, at: int, marks: EdifactDelimiters) -> EdifactDelimiters:
    """Add the line end that follows the first segment, if any; it is assumed to follow every segment."""
    end = raw.find(marks.terminator, at + 9, at + _LOOK)
    found = _LINE_END.match(raw, end + 1) if end >= 0 else None
    return replace(marks, line_end=found.group()) if found else marks
