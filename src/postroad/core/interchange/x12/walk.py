"""Walks an interchange from ISA to IEA and collects groups, members and errors.

Rules: members are views into the received bytes. Errors are recorded and the walk continues, until the boundaries of
members are no longer certain.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice

from postroad.core.interchange.envelope_errors import UncertainBoundary, is_same_number
from postroad.core.interchange.model import MAX_MEMBERS, InterchangeFault, InterchangeGroup, Member, Split
from postroad.core.interchange.x12.delimiters import BLANKS, END_MARKS, IsaHeader, read_header, skip_blanks, text_of
from postroad.core.interchange.x12.segments import (
    BINARY,
    Binary,
    binary_at,
    control_pattern,
    count_filled_segments,
    elements_of,
    turn_pattern,
)
from postroad.errors import Refused

_SERVICES = ("TA1", "TA3", "ISB", "ISE")  # allowed between ISA and the first group
_ASSURANCES = ("S1S", "S1A", "S1E", "SVA", "S2S", "S2A", "S2E")  # security, around groups and sets
_BETWEEN_GROUPS = (*_SERVICES, *_ASSURANCES)
_SHORTEST_SET = 10  # bytes: ST**~SE**~
_MAX_NAMED = 5  # stray segments listed in one error
_MAX_WRITTEN = 1_000
_WRITTEN = tuple(b"%d" % number for number in range(_MAX_WRITTEN))  # counts of segments, as SE01 has most of them


class X12Walk:
    """Walks through the data once; ``end`` is then the end of the interchange, and ``split`` its contents."""

    def __init__(self, data: bytes, at: int, encoding: str = "", most_members: int = MAX_MEMBERS) -> None:
        self._data, self._view, self.encoding, self._most = data, memoryview(data), encoding, most_members
        self._header = read_header(data, at)
        self.marks = self._header.delimiters
        self._search = control_pattern(self.marks).search
        self._turns = turn_pattern(self.marks).finditer
        self.faults = list(self._header.faults)
        self.groups: list[InterchangeGroup] = []
        self.members: list[Member] = []
        self._first_member = 0  # of the open group
        self._group_numbers: set[tuple[str, str]] = set()
        self._set_numbers: set[bytes | None] = set()
        self._versions: dict[bytes, Mapping[str, str]] = {}  # facts of sets in the open group, by their ST03
        self._answers: list[str] = []
        self.with_binaries: set[int] = set()  # indexes of members that may contain unescaped delimiters
        self.end = self._header.end
        self._walk()

    @property
    def split(self) -> Split:
        elements, facts = self._header.elements, _facts(self._header, self.encoding)
        return Split(
            standard="x12",
            reference=elements[12].strip(),
            sender=elements[5].strip(),
            receiver=elements[7].strip(),
            members=tuple(self.members),
            groups=tuple(self.groups),
            facts=facts | {"ta1": "\n".join(self._answers)} if self._answers else facts,
            faults=tuple(self.faults),
        )

    def note_rest(self, at: int) -> None:
        """Record that bytes follow which are not another interchange."""
        self._note("x12.trailing", f"{len(self._data) - at} bytes follow that are not an interchange", at)

    def _walk(self) -> None:
        if self.faults and any(fault.fatal for fault in self.faults):
            self.end = len(self._data)
            return
        try:
            found = self._interchange_level(self._header.end)
            while found.group(1) == b"GS":
                found = self._interchange_level(self._group(found.start(1)))
            self._close(found.start(1))
        except UncertainBoundary as uncertain:
            self.faults.append(uncertain.fault)
            self.end = len(self._data)

    # ---- one level each: they begin where the segment before ended, and give back what comes next --------------------

    def _interchange_level(self, end: int) -> re.Match[bytes]:
        found = self._next(end, _BETWEEN_GROUPS, "between groups")
        if found.group(1) not in (b"GS", b"IEA"):
            raise self._misplaced(found, "where a group or the end should be (GS or IEA)")
        return found

    def _group(self, at: int) -> int:
        place = len(self.groups)
        end, header = self._segment(at, 9)
        _, kind, sender, receiver, date, time, reference, agency, version, *_ = header
        facts = {
            "sender": sender,
            "receiver": receiver,
            "date": date,
            "time": time,
            "agency": agency,
            "version": version,
        }
        self.groups.append(InterchangeGroup(kind=kind, reference=reference, facts=facts))
        if (kind, reference) in self._group_numbers:
            self._note("x12.duplicate", f"group {kind} {reference} is repeated in this interchange", at, place)
        self._group_numbers.add((kind, reference))
        self._first_member, self._set_numbers, self._versions = len(self.members), set(), {}
        found = self._next(end, _ASSURANCES, "in a group", place)
        while found.group(1) == b"ST":
            found = self._next(self._sets(found, facts, place), _ASSURANCES, "in a group", place)
        if found.group(1) != b"GE":
            raise self._misplaced(found, "where a set or the group's end should be (ST or GE)")
        return self._close_group(found.start(1), header, place)

    def _close_group(self, at: int, header: list[str], place: int) -> int:
        end, trailer = self._segment(at, 3)
        sets = len(self.members) - self._first_member
        if not is_same_number(trailer[1], str(sets)):
            self._note("x12.count", f"GE specifies {trailer[1]!r} sets, but the group has {sets}", at, place)
            told = self.groups[place]
            self.groups[place] = replace(told, facts={**told.facts, "included": trailer[1]})
        if not is_same_number(trailer[2], header[6]):
            self._note("x12.control", f"GS has the number {header[6]!r}, and GE {trailer[2]!r}", at, place)
        return end

    def _sets(self, header: re.Match[bytes], facts: Mapping[str, str], group: int) -> int:
        """Read consecutive sets. The hot path: a correct set costs one search and one count."""
        data, view, seen = self._data, self._view, self._set_numbers
        take, remember = self.members.append, seen.add
        count, terminator = data.count, self.marks.terminator
        size, gap = len(terminator), len(self.marks.line_end)
        end, begin, (kind, reference, version) = header.start(), header.start(1), header.group(2, 3, 4)
        named = kind.decode("latin-1")
        turns, room = self._turns(data, header.end()), self._most - len(self.members)
        for turn in turns if room > len(data) // _SHORTEST_SET else islice(turns, room):
            said, closed, next_kind, next_reference, next_version = turn.groups()
            stop = turn.end(2) + size
            counted = count(terminator, begin, stop)
            right = _WRITTEN[counted] if counted < _MAX_WRITTEN else b"%d" % counted
            if said != right or closed != reference or reference in seen:
                break
            remember(reference)
            own = self._with_version(version, facts) if version else facts
            take(Member(view[begin:stop], named, reference.decode("latin-1"), group, own))
            end = stop - size
            if next_kind is None:
                return end
            if next_kind != kind:
                kind, named = next_kind, next_kind.decode("latin-1")
            begin, reference, version = stop + gap, next_reference, next_version
        return self._set(self._next(end, _ASSURANCES, "in a group", group), facts, group)

    def _set(self, header: re.Match[bytes], facts: Mapping[str, str], group: int) -> int:
        """Read a set that is incorrect or unusual."""
        trailer, binaries = self._trailer(header.end())
        begin, end = header.start(1), self._data.find(self.marks.terminator, trailer.end())
        if end < 0 or len(self.members) >= self._most:
            raise self._unfinished(begin)
        stop = end + len(self.marks.terminator)
        kind, reference, version = header.group(2, 3, 4)
        right = b"%d" % self._data.count(self.marks.terminator, begin, stop), reference
        if binaries or trailer.group(2, 3) != right or reference in self._set_numbers:
            filled = count_filled_segments(self._data, begin, stop, self.marks, binaries)
            self._check_set(header, trailer, filled)
        self._set_numbers.add(reference)
        if binaries:
            self.with_binaries.add(len(self.members))
        self.members.append(
            Member(
                data=self._view[begin:stop],
                kind=kind.decode("latin-1"),
                reference=(reference or b"").decode("latin-1"),
                group=group,
                facts=self._with_version(version, facts) if version else facts,
            )
        )
        return end

    def _unfinished(self, at: int) -> Exception:
        if len(self.members) >= self._most:
            return Refused("wire.too-complex", f"byte {at}: the interchange has more than {self._most} members")
        return UncertainBoundary("x12.truncated", "it ends inside a segment", len(self._data))

    def _with_version(self, version: bytes, facts: Mapping[str, str]) -> Mapping[str, str]:
        """Return the facts with the version of ST03, if the set declares one."""
        if version not in self._versions:
            text = text_of(version)
            self._versions[version] = {**facts, "version": text, "implementation": text}
        return self._versions[version]

    def _trailer(self, end: int) -> tuple[re.Match[bytes], tuple[Binary, ...]]:
        """Return the SE of the open set, and the binary contents before it."""
        binaries: list[Binary] = []
        while (found := self._search(self._data, end)) is not None:
            tag = found.group(1)
            if tag == b"SE":
                return found, tuple(binaries)
            if tag not in BINARY:
                raise self._misplaced(found, "inside a transaction set that has no SE")
            try:
                binaries.append(binary_at(self._data, found.start(1), self.marks))
            except Refused as refused:
                raise UncertainBoundary("x12.binary", refused.detail, found.start(1)) from None
            end = binaries[-1].end
        raise UncertainBoundary("x12.truncated", "it ends inside a transaction set", len(self._data))

    def _check_set(self, header: re.Match[bytes], trailer: re.Match[bytes], count: int) -> None:
        group, member = len(self.groups) - 1, len(self.members)
        said, closed = (text_of(one or b"") for one in trailer.group(2, 3))
        opened, at = text_of(header.group(3) or b""), trailer.start(1)
        if not is_same_number(said, str(count)):
            self._note("x12.count", f"SE specifies {said!r} segments, but the set has {count}", at, group, member)
        if closed != opened or not opened:
            self._note("x12.control", f"ST has the number {opened!r}, and SE {closed!r}", at, group, member)
        if header.group(3) in self._set_numbers:
            text = f"set {opened} is repeated in this group"
            self._note("x12.duplicate", text, header.start(1), group, member)

    def _close(self, at: int) -> None:
        data, number = self._data, self._header.elements[12]
        end = data.find(self.marks.terminator, at)
        terminated = end >= 0
        if not terminated:
            end = len(data.rstrip(END_MARKS))
        trailer = _padded(elements_of(data[at:end], self.marks), 3)
        if not is_same_number(trailer[1], str(len(self.groups))):
            self._note("x12.count", f"IEA specifies {trailer[1]!r} groups, but there are {len(self.groups)}", at)
        if trailer[2] != number:
            self._note("x12.control", f"ISA has the number {number!r}, and IEA {trailer[2]!r}", at)
        if not terminated and self.marks.terminator not in (b"\r", b"\n"):
            self._note("x12.unterminated", "its last segment has no terminator", end)
        self.end = end + len(self.marks.terminator) if terminated else len(data)

    # ---- single segments ---------------------------------------------------------------------------------------------

    def _next(self, end: int, allowed: tuple[str, ...], where: str, group: int = -1) -> re.Match[bytes]:
        """Return the next control segment; anything between it and the last terminator is checked."""
        found = self._search(self._data, end)
        if found is None:
            raise UncertainBoundary("x12.truncated", "it ends before its last segment, IEA", len(self._data))
        if found.start() != end:
            self._between(end, found.start(), allowed, where, group)
        return found

    def _misplaced(self, found: re.Match[bytes], where: str) -> UncertainBoundary:
        return UncertainBoundary("x12.structure", f"{found.group(1).decode()} is {where}", found.start(1))

    def _between(self, begin: int, end: int, allowed: tuple[str, ...], where: str, group: int) -> None:
        found = self._data[begin:end].split(self.marks.terminator)
        segments = [elements_of(one.strip(BLANKS), self.marks) for one in found if one.strip(BLANKS)]
        if group < 0:
            self._answers += ["*".join(one[1:]) for one in segments if one[0] == "TA1"]
        strays = [one[0][:3] for one in segments if one[0] not in allowed]
        if strays:
            self._note(
                "x12.stray", f"{where} are segments that do not belong there: {strays[:_MAX_NAMED]}", begin, group
            )

    def _segment(self, at: int, size: int) -> tuple[int, list[str]]:
        """Return the position of a segment's terminator, and at least the requested number of elements."""
        end = self._data.find(self.marks.terminator, at)
        if end < 0:
            raise self._unfinished(at)
        return end, _padded(elements_of(self._data[at:end], self.marks), size)

    def _note(self, code: str, text: str, at: int, group: int = -1, member: int = -1) -> None:
        self.faults.append(InterchangeFault(code=code, text=text, at=at, group=group, member=member))


def find_rest(data: bytes, at: int) -> int:
    """Return the position of data after the interchange; the end of the data if there is none."""
    return skip_blanks(data, at, END_MARKS)


def _padded(elements: list[str], size: int) -> list[str]:
    return elements + [""] * (size - len(elements)) if len(elements) < size else elements


def _facts(header: IsaHeader, encoding: str) -> dict[str, str]:
    """Return the values of ISA, except ISA02 and ISA04, which are secrets of the partner."""
    elements = header.elements
    return {
        **header.delimiters.facts(),
        "sender_qualifier": elements[4].strip(),
        "receiver_qualifier": elements[6].strip(),
        "date": elements[8],
        "time": elements[9],
        "version": elements[11],
        "acknowledgment": elements[13],
        "usage": elements[14],
        "encoding": encoding,
    }
