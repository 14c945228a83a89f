"""Walks an interchange from UNB to UNZ and collects groups, messages and errors.

Rules: members are views into the received bytes. Errors are recorded and the walk continues, until the boundaries of
members are no longer certain.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from postroad.core.interchange.edifact.charsets import ESCAPE, ESCAPES, is_in_charset
from postroad.core.interchange.edifact.delimiters import BLANKS, read_delimiters
from postroad.core.interchange.edifact.headers import UnbHeader, group_facts, message_facts, read_header
from postroad.core.interchange.edifact.segments import (
    count_segments,
    elements_of,
    find_component,
    find_control,
    find_terminator,
    text_of,
)
from postroad.core.interchange.envelope_errors import UncertainBoundary, is_same_number
from postroad.core.interchange.model import MAX_MEMBERS, InterchangeFault, InterchangeGroup, Member, Split
from postroad.errors import Refused

_SECURITY = ("USH", "USA", "USC", "USR", "UST", "USB", "USD", "USU", "USX", "USY")  # around groups and messages
_MAX_NAMED = 5  # stray segments listed in one error


class EdifactWalk:
    """Walks through the data once; ``end`` is then the end of the interchange, and ``split`` its contents."""

    def __init__(self, data: bytes, at: int, encoding: str = "", most_members: int = MAX_MEMBERS) -> None:
        self._data, self._view, self._most = data, memoryview(data), most_members
        self.marks, self._begin, self._faults = read_delimiters(data, at)
        self._with_una = self._begin != at
        self._groups: list[InterchangeGroup] = []
        self._members: list[Member] = []
        self._grouped = 0  # number of groups with a UNG
        self._references: set[bytes] = set()  # of messages, in the open group or in the interchange
        self._group_references: set[str] = set()
        self._header = UnbHeader()
        self._facts_by_head: dict[bytes, Mapping[str, str]] = {}
        self.end = len(data)
        self._encoding = encoding
        self._walk()

    @property
    def split(self) -> Split:
        header = self._header
        facts = {**self.marks.facts(), **header.facts, "encoding": self._encoding}
        facts["una"] = "1" if self._with_una else "0"
        return Split(
            standard="edifact",
            reference=header.reference,
            sender=header.sender,
            receiver=header.receiver,
            members=tuple(self._members),
            groups=tuple(self._groups),
            facts=facts,
            faults=tuple(self._faults),
        )

    def _walk(self) -> None:
        if any(fault.fatal for fault in self._faults):
            return
        try:
            end = find_terminator(self._data, self._begin, self.marks)
            if end < 0:
                raise UncertainBoundary("edifact.truncated", "it ends inside its first segment", len(self._data))
            self._header, wrong = read_header(self._data[self._begin : end], self.marks)
            if not self._with_una and self._header.facts["version"] == "4":
                self.marks = replace(self.marks, repetition=b"*")  # the standard's own, since version 4
            self._faults += [InterchangeFault(code="edifact.unb", text=text, at=self._begin) for text in wrong]
            self._close(self._interchange(end))
        except UncertainBoundary as uncertain:
            self._faults.append(uncertain.fault)
            self.end = len(self._data)
        self._check_charset()

    def _check_charset(self) -> None:
        data = self._data[self._begin : self.end]
        syntax = self._header.facts.get("syntax", "")
        if syntax == ESCAPES and ESCAPE in data:
            text = "UNOX with escape sequences: the byte of a delimiter may be half of a letter there"
            self._faults.append(InterchangeFault(code="edifact.charset", text=text, at=self._begin, fatal=True))
        elif not is_in_charset(data, syntax):
            self._note(
                "edifact.charset", f"it declares {syntax}, but has bytes that are not in that charset", self._begin
            )

    # ---- one level each: they begin where the segment before ended ---------------------------------------------------

    def _interchange(self, end: int) -> re.Match[bytes]:
        """Read groups and messages; returns the match of UNZ."""
        found = self._next(end, "between messages")
        while (tag := found.group(1)) in (b"UNG", b"UNH"):
            end = self._group(found.start(1)) if tag == b"UNG" else self._ungrouped(found)
            found = self._next(end, "between messages")
        if tag != b"UNZ":
            raise self._misplaced(found, "where a message or the end should be (UNH, UNG or UNZ)")
        if self._grouped and self._grouped < len(self._groups):
            self._note("edifact.mixed", "messages are both in groups and outside of them", found.start(1))
        return found

    def _ungrouped(self, found: re.Match[bytes]) -> int:
        if not self._groups or self._groups[-1].kind:
            self._groups.append(InterchangeGroup())
            self._references = set()
        return self._messages(found, len(self._groups) - 1)

    def _group(self, at: int) -> int:
        end, header = self._segment(at)
        place, reference = len(self._groups), find_component(header, 5)
        self._groups.append(
            InterchangeGroup(kind=find_component(header, 1) or "?", reference=reference, facts=group_facts(header))
        )
        self._grouped += 1
        if reference in self._group_references:
            self._note("edifact.duplicate", f"group {reference} is repeated in this interchange", at, place)
        self._group_references.add(reference)
        first, self._references = len(self._members), set()
        found = self._next(end, "in a group", place)
        while found.group(1) == b"UNH":
            found = self._next(self._messages(found, place), "in a group", place)
        if found.group(1) != b"UNE":
            raise self._misplaced(found, "where a message or the group's end should be (UNH or UNE)")
        return self._close_group(found.start(1), place, len(self._members) - first)

    def _close_group(self, at: int, place: int, messages: int) -> int:
        end, trailer = self._segment(at)
        group = self._groups[place]
        said, closed = find_component(trailer, 1), find_component(trailer, 2)
        if not is_same_number(said, str(messages)):
            self._note("edifact.count", f"UNE specifies {said!r} messages, but the group has {messages}", at, place)
        if closed != group.reference or not closed:
            self._note("edifact.control", f"UNG has the reference {group.reference!r}, and UNE {closed!r}", at, place)
        return end

    def _messages(self, header: re.Match[bytes] | None, group: int) -> int:
        """Read consecutive messages. The hot path: a correct message costs two searches and one count."""
        data, marks, members, end = self._data, self.marks, self._members, 0
        terminator, doubt = marks.terminator, marks.release + marks.terminator if marks.release else b""
        while header is not None and header.group(1) == b"UNH" and end in (0, header.start()):
            begin, head_end = header.start(1), find_terminator(data, header.end(), marks)
            trailer = find_control(data, header.end(), marks)
            end = -1 if trailer is None else find_terminator(data, trailer.end(), marks)
            if trailer is None or end < 0 or len(members) >= self._most:
                raise self._unfinished(begin)
            if trailer.group(1) != b"UNT":
                raise self._misplaced(trailer, "inside a message that has no UNT")
            reference, kind = self._two(header)
            said, closed = self._two(trailer)
            stop = end + 1
            count = data.count(terminator, begin, stop)
            if doubt and data.find(doubt, begin, stop) >= 0:
                count = -1
            if said != b"%d" % count or closed != reference or not reference or reference in self._references:
                self._check_message((reference, said, closed), (begin, trailer.start(1), stop), group)
            self._references.add(reference)
            members.append(
                Member(
                    data=self._view[begin:stop],
                    kind=text_of(kind),
                    reference=text_of(reference),
                    group=group,
                    facts=self._facts_of(begin, header.end(), head_end),
                )
            )
            header = find_control(data, end, marks)
        return end

    def _two(self, found: re.Match[bytes]) -> tuple[bytes, bytes]:
        """Return the first two elements of a control segment; parsed in full if they contain escapes."""
        data, marks = self._data, self.marks
        if marks.release and data.startswith(marks.release, found.end()):
            _, elements = self._segment(found.start(1))
            return find_component(elements, 1).encode(), find_component(elements, 2).encode()
        one, other = found.group(2, 3)
        return one or b"", other or b""

    def _facts_of(self, begin: int, kind_end: int, head_end: int) -> Mapping[str, str]:
        """Return the facts of a message header; cached, since most messages have the same version."""
        key = self._data[kind_end:head_end]
        found = self._facts_by_head.get(key)
        if found is None:
            found = message_facts(elements_of(self._data[begin:head_end], self.marks))
            if len(self._facts_by_head) < 1000:
                self._facts_by_head[key] = found
        return found

    def _check_message(self, told: tuple[bytes, bytes, bytes], places: tuple[int, int, int], group: int) -> None:
        reference, said, closed = map(text_of, told)
        begin, at, stop = places
        count, member = count_segments(self._data, begin, stop, self.marks), len(self._members)
        if not is_same_number(said, str(count)):
            text = f"UNT specifies {said!r} segments, but the message has {count}"
            self._note("edifact.count", text, at, group, member)
        if closed != reference or not reference:
            text = f"UNH has the reference {reference!r}, and UNT {closed!r}"
            self._note("edifact.control", text, at, group, member)
        if told[0] in self._references:
            self._note("edifact.duplicate", f"message {reference} is repeated", begin, group, member)

    def _close(self, found: re.Match[bytes]) -> None:
        data, at = self._data, found.start(1)
        end = find_terminator(data, at, self.marks)
        if end < 0:
            raise UncertainBoundary("edifact.truncated", "it ends inside its last segment, UNZ", len(data))
        trailer = elements_of(data[at:end], self.marks)
        said, closed = find_component(trailer, 1), find_component(trailer, 2)
        what, count = ("groups", self._grouped) if self._grouped else ("messages", len(self._members))
        if not is_same_number(said, str(count)):
            self._note("edifact.count", f"UNZ specifies {said!r} {what}, but there are {count}", at)
        if not is_same_number(closed, self._header.reference) or not closed:
            self._note("edifact.control", f"UNB has the reference {self._header.reference!r}, and UNZ {closed!r}", at)
        self.end = end + 1

    # ---- single segments ---------------------------------------------------------------------------------------------

    def _next(self, end: int, where: str, group: int = -1) -> re.Match[bytes]:
        """Return the next control segment; anything between it and the last terminator is checked."""
        found = find_control(self._data, end, self.marks)
        if found is None:
            raise UncertainBoundary("edifact.truncated", "it ends before its last segment, UNZ", len(self._data))
        if found.start() != end:
            self._between(end, found.start(), where, group)
        return found

    def _between(self, begin: int, end: int, where: str, group: int) -> None:
        parts = [one.strip(BLANKS) for one in self._data[begin:end].split(self.marks.terminator)]
        strays = [text_of(one[:3]) for one in parts if one and text_of(one[:3]) not in _SECURITY]
        if strays:
            text = f"{where} are segments that do not belong there: {strays[:_MAX_NAMED]}"
            self._note("edifact.stray", text, begin, group)

    def _segment(self, at: int) -> tuple[int, Sequence[Sequence[str]]]:
        end = find_terminator(self._data, at, self.marks)
        if end < 0:
            raise self._unfinished(at)
        return end, elements_of(self._data[at:end], self.marks)

    def _unfinished(self, at: int) -> Exception:
        if len(self._members) >= self._most:
            return Refused("wire.too-complex", f"byte {at}: the interchange has more than {self._most} members")
        return UncertainBoundary("edifact.truncated", "it ends inside a message", len(self._data))

    def _misplaced(self, found: re.Match[bytes], where: str) -> UncertainBoundary:
        return UncertainBoundary("edifact.structure", f"{found.group(1).decode()} is {where}", found.start(1))

    def _note(self, code: str, text: str, at: int, group: int = -1, member: int = -1) -> None:
        if group >= 0 and not self._groups[group].kind and member < 0:
            group = -1
        self._faults.append(InterchangeFault(code=code, text=text, at=at, group=group, member=member))
