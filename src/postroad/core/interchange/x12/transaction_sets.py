"""One transaction set, from ST to SE: parses, renumbers, and changes its delimiters.

Rules: a set contains no control segment, so that a member can never end the interchange around it and begin another.
X12 cannot escape delimiters, so a set is converted to other delimiters only if none of them occurs in it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct, structs

from postroad.core.codecs.buffers import Buffer, whole_bytes
from postroad.core.interchange.assembly_errors import unfit
from postroad.core.interchange.model import Member
from postroad.core.interchange.x12.delimiters import (
    BLANKS,
    END_MARKS,
    X12Delimiters,
    character_at,
    skip_blanks,
    texts_of,
)
from postroad.core.interchange.x12.segments import (
    BINARY,
    Binary,
    binary_at,
    control_pattern,
    count_filled_segments,
    count_segments,
)
from postroad.errors import Refused

_HEAD = re.compile(rb"ST([^A-Za-z0-9\s])[A-Za-z0-9]{1,6}\1[A-Za-z0-9]{1,9}(?:\1[A-Za-z0-9]{0,35})?")


class TransactionSet(Struct, frozen=True, kw_only=True, gc=False):
    """A transaction set and the positions of its segments."""

    data: bytes
    begin: int  # of ST
    body: int  # the first byte behind ST's terminator
    tail: int  # of SE
    end: int  # behind SE's terminator, or where it should be
    kind: str  # ST01
    reference: str  # ST02
    version: str  # ST03
    segments: int  # as counted, ST and SE included
    said: tuple[str, str]  # what SE says: how many segments, of which set
    marks: X12Delimiters
    binaries: tuple[Binary, ...] = ()
    is_wrapped: bool = False  # a line break stands in SE, which other readers take for a part of its number

    @property
    def has_right_trailer(self) -> bool:
        """Whether SE has the right count and number."""
        count, reference = self.said
        return bool(reference) and reference == self.reference and count.lstrip("0") == str(self.segments)

    def read_whole(self) -> bytes:
        """The set as received, without surrounding bytes, and always with its last terminator."""
        found = self.data if self.begin == 0 and self.end == len(self.data) else self.data[self.begin : self.end]
        return found if found.endswith(self.marks.terminator) else found + self.marks.terminator


def read_set(data: Buffer, marks: X12Delimiters, *, known: bool = True) -> TransactionSet:
    """The set that is all of these bytes; where delimiters are not known, element and terminator are found in ST."""
    raw = whole_bytes(data)
    begin = skip_blanks(raw, 0, BLANKS)
    if not known:
        marks = _seen(raw, begin, marks)
    elif not raw.startswith(b"ST" + marks.element, begin):
        raise _no_set(raw, begin)
    head_end = raw.find(marks.terminator, begin)
    tail, end = _tail(raw, marks)
    binaries = _binaries(raw, head_end, tail, marks)
    _, kind, reference, version, *_ = [*texts_of(raw[begin:head_end], marks.element), "", "", ""]
    written = raw[tail:end].removesuffix(marks.terminator)
    trailer = written.rstrip(b"\r\n")
    _, said, closed, *_ = [*texts_of(trailer, marks.element), "", ""]
    return TransactionSet(
        data=raw,
        begin=begin,
        body=head_end + len(marks.terminator),
        tail=tail,
        end=end,
        kind=kind,
        reference=reference,
        version=version,
        segments=_counted(raw, begin, end, marks, binaries, said),
        said=(said, closed),
        marks=marks,
        binaries=tuple(binaries),
        is_wrapped=trailer != written,
    )


def read_verified_set(member: Member, marks: X12Delimiters) -> TransactionSet:
    """Reads a set that a walk has verified and that has no binary content, without searching or counting again."""
    raw, terminator, reference = whole_bytes(member.data), marks.terminator, member.reference
    if not (member.kind + reference).isascii():
        return read_set(raw, marks)  # which knows what text it is
    stop = len(raw) - len(terminator)
    tail = skip_blanks(raw, raw.rfind(terminator, 0, stop) + len(terminator), BLANKS)
    segments = int(raw[tail:stop].split(marks.element, 2)[1])
    return TransactionSet(
        data=raw,
        begin=0,
        body=raw.find(terminator) + len(terminator),
        tail=tail,
        end=len(raw),
        kind=member.kind,
        reference=reference,
        version=member.facts.get("implementation", ""),
        segments=segments,
        said=(str(segments), reference),
        marks=marks,
    )


def split_with_trailer(found: TransactionSet, reference: str) -> tuple[bytes, bytes, bytes]:
    """The set with this number and a right count: its ST, everything between, its SE."""
    marks, number = found.marks, reference.encode()
    element, end = marks.element, marks.terminator
    head = element.join([b"ST", found.kind.encode(), number, *([found.version.encode()] if found.version else [])])
    tail = element.join([b"SE", b"%d" % found.segments, number])
    return head + end, found.data[found.body : found.tail], tail + end


def convert_delimiters(found: TransactionSet, wanted: X12Delimiters) -> TransactionSet | None:
    """Converts a set to these delimiters; None if it cannot be expressed in them."""
    old = found.marks
    if old is wanted or (new_roles := wanted.roles()) == (old_roles := old.roles()):
        return found
    body = found.read_whole()
    if old_roles[:3] == new_roles[:3]:
        # Only one side repeats elements, or each in its own way: neither separator may occur.
        occurs = any(one in body for one in (old.repetition, wanted.repetition) if one)
        return None if occurs else structs.replace(found, marks=wanted)
    if found.binaries:
        return None
    body = _line_ends(old).sub(old.terminator.replace(b"\\", b"\\\\"), body)
    added = [one for one in new_roles if one not in old_roles]
    dropped = [old.repetition] if old.repetition and not wanted.repetition else []
    if any(one in body for one in (*added, *dropped)):
        return None
    changed = _exchange(body, dict(zip(old_roles, new_roles, strict=False)))
    return read_set(changed, wanted)


def _no_set(raw: bytes, begin: int) -> Refused:
    return unfit(f"a transaction set begins with ST, its type and its number, not with {raw[begin : begin + 24]!r}")


def _seen(raw: bytes, begin: int, assumed: X12Delimiters) -> X12Delimiters:
    head = _HEAD.match(raw, begin)
    if head is None:
        raise _no_set(raw, begin)
    terminator = character_at(raw, head.end())
    if not terminator or terminator.isalnum() or terminator in (b" ", head.group(1)):
        raise unfit(f"no terminator ends the ST of a set: {raw[head.start() : head.end() + 8]!r}")
    if terminator == assumed.terminator and head.group(1) == assumed.element:
        return assumed
    marks = structs.replace(assumed, element=head.group(1), terminator=terminator)
    if len(set(marks.roles())) < len(marks.roles()):
        raise unfit("its delimiters differ from the agreed ones, and are ambiguous; send a whole interchange")
    return marks


def _tail(raw: bytes, marks: X12Delimiters) -> tuple[int, int]:
    """Where SE begins and where the set ends."""
    filled = len(raw.rstrip(END_MARKS))
    stop = filled - len(marks.terminator) if raw.endswith(marks.terminator, 0, filled) else filled
    last = raw.rfind(marks.terminator, 0, stop)
    tail = skip_blanks(raw, last + len(marks.terminator), BLANKS) if last >= 0 else 0
    if not raw.startswith(b"SE" + marks.element, tail):
        raise unfit(f"a transaction set ends with SE, not with {raw[tail : tail + 24]!r}")
    return tail, min(len(raw), stop + len(marks.terminator))


def _binaries(raw: bytes, head_end: int, tail: int, marks: X12Delimiters) -> list[Binary]:
    """Return the ranges of binary contents; raises if another control segment precedes SE."""
    search, at = control_pattern(marks).search, head_end
    binaries: list[Binary] = []
    while (found := search(raw, at)) is not None and found.start(1) != tail:
        tag, place = found.group(1), found.start(1)
        if tag not in BINARY:
            raise unfit(f"byte {place}: {tag.decode()} is inside a transaction set")
        try:
            binaries.append(binary_at(raw, place, marks))
        except Refused as refused:
            raise unfit(refused.detail) from None
        at = binaries[-1].end
    return binaries


def _counted(raw: bytes, begin: int, end: int, marks: X12Delimiters, binaries: list[Binary], said: str) -> int:
    """The segment count: that of SE if it matches the terminators, otherwise counted without blank segments."""
    count = count_segments(raw, begin, end, marks, binaries)
    count += not raw.endswith(marks.terminator, begin, end)  # SE, where its terminator is missing
    return count if said == str(count) else count_filled_segments(raw, begin, end, marks, binaries)


@lru_cache(maxsize=64)
def _line_ends(marks: X12Delimiters) -> re.Pattern[bytes]:
    return re.compile(re.escape(marks.terminator) + b"[" + re.escape(BLANKS) + b"]+")


def _exchange(body: bytes, pairs: dict[bytes, bytes]) -> bytes:
    """Replace all delimiters in one pass, since the new value of one may be the old value of another."""
    if all(len(old) == len(new) == 1 for old, new in pairs.items()):
        return body.translate(bytes.maketrans(b"".join(pairs), b"".join(pairs.values())))
    either = b"|".join(map(re.escape, pairs))
    return re.sub(either, lambda found: pairs[found.group()], body)
