"""One message, from UNH to UNT: parses, renumbers, and changes its delimiters.

Rules: a message contains no control segment, so that a member can never end the interchange around it and begin
another. Delimiters that are text are escaped in every set of delimiters.
"""

from __future__ import annotations

import re
from dataclasses import replace

from msgspec import Struct

from postroad.core.codecs.buffers import Buffer, whole_bytes
from postroad.core.interchange.assembly_errors import unfit
from postroad.core.interchange.edifact.delimiters import END_MARKS, USUAL, EdifactDelimiters, contradicts, skip_blanks
from postroad.core.interchange.edifact.headers import message_facts
from postroad.core.interchange.edifact.segments import (
    count_segments,
    elements_of,
    find_component,
    find_control,
    find_terminator,
    is_released,
    release_text,
)
from postroad.errors import Refused

_HEAD = re.compile(rb"UNH([^A-Za-z0-9\s])[^\s]{0,40}?\1[A-Z0-9]{1,6}(?!\1)([^A-Za-z0-9\s])[A-Z0-9]")


class EdifactMessage(Struct, frozen=True, kw_only=True, gc=False):
    """A message and the positions of its segments."""

    data: bytes
    begin: int  # of UNH
    named: int  # where UNH's reference ends
    tail: int  # of UNT
    end: int  # after UNT's terminator
    kind: str
    reference: str
    version: tuple[str, str, str, str]  # of the directory: version, release, agency, association
    segments: int  # counted, including UNH and UNT
    said: tuple[str, str]  # UNT: number of segments and reference
    marks: EdifactDelimiters

    @property
    def has_right_trailer(self) -> bool:
        """Return True if UNT has the right count and reference."""
        count, reference = self.said
        return bool(reference) and reference == self.reference and count.lstrip("0") == str(self.segments)

    def write(self, reference: str) -> list[bytes]:
        """Write the message with this reference and the right count."""
        if reference == self.reference and self.has_right_trailer:
            return [self.data[self.begin : self.end]]
        element, name = self.marks.element, release_text(reference.encode(), self.marks)
        tail = element.join((b"UNT", b"%d" % self.segments, name)) + self.marks.terminator
        return [b"UNH" + element + name, self.data[self.named : self.tail], tail]


def read_message(data: Buffer, marks: EdifactDelimiters, *, known: bool = True) -> EdifactMessage:
    """Read the message in these bytes; unknown delimiters, except the release character, are detected."""
    raw = whole_bytes(data)
    begin, end = skip_blanks(raw, 0), len(raw.rstrip(END_MARKS))
    if not known:
        marks = _seen(raw, begin, end, marks)
    if not raw.startswith(b"UNH" + marks.element, begin):
        raise _no_message(raw, begin)
    head_end, tail = find_terminator(raw, begin, marks), find_control(raw, begin, marks)
    if tail is None or tail.group(1) != b"UNT":
        what = "has no UNT" if tail is None else f"has a segment {tail.group(1).decode()} inside"
        raise unfit(f"a message begins with UNH and ends with UNT, and this {what}")
    if find_terminator(raw, tail.start(1), marks) + 1 != end:
        raise unfit("a message ends with the terminator of its UNT, and this one does not, or something follows")
    head, trailer = elements_of(raw[begin:head_end], marks), elements_of(raw[tail.start(1) : end - 1], marks)
    facts = message_facts(head)
    return EdifactMessage(
        data=raw,
        begin=begin,
        named=_named_end(raw, begin, marks),
        tail=tail.start(1),
        end=end,
        kind=find_component(head, 2),
        reference=_alone(head, 1),
        version=(facts["version"], facts["release"], facts["agency"], facts["association"]),
        segments=count_segments(raw, begin, end, marks),
        said=(_alone(trailer, 1), _alone(trailer, 2)) if _alone(trailer, 0) else ("", ""),
        marks=marks,
    )


def _alone(segment: list[list[str]], place: int) -> str:
    """Return an element with one component; empty if it has several, which readers refuse."""
    return find_component(segment, place) if place < len(segment) and len(segment[place]) == 1 else ""


def convert_delimiters(found: EdifactMessage, wanted: EdifactDelimiters) -> EdifactMessage | None:
    """Convert a message to these delimiters; None if it cannot be expressed in them."""
    old = found.marks
    if old is wanted or replace(old, line_end=wanted.line_end) == wanted:
        return found
    body = found.data[found.begin : found.end]
    if old.decimal != wanted.decimal and (old.decimal in body or wanted.decimal in body):
        return None  # only the directory defines which elements are numbers
    written = _Rewriting(old, wanted).of(body)
    return None if written is None else read_message(written, wanted)


class _Rewriting:
    """Converts text from one set of delimiters to another."""

    def __init__(self, old: EdifactDelimiters, new: EdifactDelimiters) -> None:
        self._release, self._special, self._new = old.release, new.special(), new
        roles = ((old.component, new.component), (old.element, new.element), (old.terminator, new.terminator))
        self._roles = dict(roles)
        if old.repetition:
            self._roles[old.repetition] = new.repetition
        self._possible = True
        either = re.escape(bytes(sorted(set(old.special() + self._special) - set(old.release))))
        text = rb"|[" + either + rb"]"
        self._token = re.compile((re.escape(old.release) + rb"[\s\S]" + text) if old.release else text[1:])

    def of(self, data: bytes) -> bytes | None:
        written = self._token.sub(self._one, data)
        return written if self._possible else None

    def _one(self, found: re.Match[bytes]) -> bytes:
        token = found.group()
        if len(token) == 1 and token in self._roles:
            role = self._roles[token]
            self._possible = self._possible and bool(role)
            return role
        text = token[-1:]
        if text not in self._special:
            return text
        self._possible = self._possible and bool(self._new.release)
        return self._new.release + text


def _no_message(raw: bytes, begin: int) -> Refused:
    return unfit(f"a message begins with UNH, its reference and its type, not with {raw[begin : begin + 24]!r}")


def _seen(raw: bytes, begin: int, end: int, assumed: EdifactDelimiters) -> EdifactDelimiters:
    head = _HEAD.match(raw, begin)
    if head is None:
        return assumed  # without a version, delimiters cannot be detected
    found = (*head.groups(), raw[end - 1 : end])
    if found == (assumed.element, assumed.component, assumed.terminator):
        return assumed
    if found == (USUAL.element, USUAL.component, USUAL.terminator):
        return USUAL
    marks = replace(assumed, element=found[0], component=found[1], terminator=found[2])
    if contradicts(marks):
        raise unfit("its delimiters are ambiguous; send a whole interchange with UNA")
    return marks


def _named_end(raw: bytes, begin: int, marks: EdifactDelimiters) -> int:
    """Return the end of the element after UNH."""
    at = begin + len(b"UNH" + marks.element)
    ends = re.compile(b"[" + re.escape(marks.element + marks.component + marks.terminator) + b"]")
    found = ends.search(raw, at)
    while found is not None and is_released(raw, found.start(), marks):
        found = ends.search(raw, found.end())
    return found.start() if found else at
