"""Writes and reads TA1, 997 and 999: acknowledgments of received interchanges, and partners' of sent ones.

Rules: TA1 is for the envelope, 997 or 999 for each group; neither is ever acknowledged. Only the envelope is checked,
so nothing is claimed about the contents of documents. What was not accepted is rejected as a whole, with the reasons
where they were found. An acknowledgment without a verdict is refused; unknown codes are returned unchanged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from postroad.core.interchange.model import (
    Envelope,
    InterchangeFault,
    InterchangeGroup,
    Member,
    Numbers,
    PartnerStatus,
    Split,
)
from postroad.core.interchange.x12.acknowledgement_codes import (
    GROUP_CODES,
    GROUP_WORDS,
    INTERCHANGE_CODES,
    INTERCHANGE_WORDS,
    SET_CODES,
    SET_WORDS,
    UNUSABLE_CONTENT,
)
from postroad.core.interchange.x12.assembler import assemble_with
from postroad.core.interchange.x12.delimiters import BLANKS, X12Delimiters, delimiters_of
from postroad.core.interchange.x12.envelopes import marks_of, write_segment
from postroad.core.interchange.x12.segments import elements_of
from postroad.errors import Refused

_VERDICTS = {
    "A": PartnerStatus.ACCEPTED,
    "E": PartnerStatus.NOTED,
    "P": PartnerStatus.PARTLY,
    "R": PartnerStatus.REJECTED,
}
_VERDICTS |= dict.fromkeys(("M", "W", "X"), PartnerStatus.REJECTED)  # authentication, assurance, decryption failed


@dataclass(frozen=True, slots=True, kw_only=True)
class InterchangeAnswer:
    """A TA1."""

    number: str  # ISA13 of what we sent
    date: str
    time: str
    verdict: PartnerStatus
    reason: str  # in words


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAnswer:
    """The status that a 997 or 999 reports for one transaction set."""

    kind: str
    reference: str
    verdict: PartnerStatus
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # which segments and elements are in error, as the partner wrote it


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAnswer:
    """A 997 or 999."""

    kind: str  # GS01 of what we sent
    number: str  # GS06
    verdict: PartnerStatus
    reasons: tuple[str, ...] = ()
    sets: tuple[SetAnswer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class X12Acknowledgements:
    """All statuses that one interchange from a partner reports."""

    interchanges: tuple[InterchangeAnswer, ...] = ()
    groups: tuple[GroupAnswer, ...] = ()


def read_answers(found: Split) -> X12Acknowledgements:
    """Reads every TA1, 997 and 999 in an interchange; other sets are ignored."""
    written = found.facts.get("ta1", "")
    groups = tuple(_group_answer(member, found) for member in found.members if member.kind in ("997", "999"))
    return X12Acknowledgements(interchanges=tuple(map(_interchange_answer, written.splitlines())), groups=groups)


def _interchange_answer(line: str) -> InterchangeAnswer:
    number, date, time, status, code, *_ = [*line.split("*"), "", "", "", "", ""]
    verdict = _verdict(status, "TA1")
    reason = INTERCHANGE_WORDS.get(code, f"code {code}")
    return InterchangeAnswer(number=number, date=date, time=time, verdict=verdict, reason=reason)


def _group_answer(member: Member, found: Split) -> GroupAnswer:
    segments = list(_segments(member, found))
    opened = next((one for one in segments if one[0] == "AK1"), None)
    closed = next((one for one in segments if one[0] == "AK9"), None)
    if opened is None or closed is None:
        raise Refused("interchange.malformed", f"{member.kind} {member.reference} has no AK1 or no AK9")
    kind, number = _first(opened, 2)
    return GroupAnswer(
        kind=kind,
        number=number,
        verdict=_verdict(_first(closed, 1)[0], "AK9"),
        reasons=_in_words(closed[5:], GROUP_WORDS),
        sets=tuple(_set_answers(segments)),
    )


def _set_answers(segments: Sequence[list[str]]) -> Iterator[SetAnswer]:
    kind, reference, notes = "", "", list[str]()
    for one in segments:
        if one[0] == "AK2":
            (kind, reference), notes = _first(one, 2), []
        elif one[0] in ("AK5", "IK5"):
            verdict, reasons = _verdict(_first(one, 1)[0], one[0]), _in_words(one[2:], SET_WORDS)
            yield SetAnswer(kind=kind, reference=reference, verdict=verdict, reasons=reasons, notes=tuple(notes))
        elif one[0] in ("AK3", "AK4", "IK3", "IK4", "CTX"):
            notes.append("*".join(one))


def _segments(member: Member, found: Split) -> Iterator[list[str]]:
    marks = delimiters_of(found.facts)
    for segment in bytes(member.data).split(marks.terminator):
        if segment.strip(BLANKS):
            yield elements_of(segment.strip(BLANKS), marks)


def _first(elements: Sequence[str], count: int) -> tuple[str, ...]:
    """The first elements of a segment behind its tag, empty where there are none."""
    return tuple([*elements[1:], *[""] * count][:count])


def _verdict(status: str, tag: str) -> PartnerStatus:
    found = _VERDICTS.get(status.strip())
    if found is None:
        raise Refused("interchange.malformed", f"{tag} has {status!r}, which is not a valid status")
    return found


def _in_words(codes: Sequence[str], words: dict[str, str]) -> tuple[str, ...]:
    return tuple(words.get(code, f"code {code}") for code in codes if code)


ACKNOWLEDGEMENTS = "FA"  # the functional group of 997 and 999
_MAX_CODES = 5  # in AK5 and AK9
_CONTROLS = bytes(range(32))
_WITH_VERSION_SINCE = "005010"


def acknowledge(
    found: Split,
    envelope: Envelope,
    numbers: Numbers,
    *,
    taken: bool = True,
    rejected: Collection[int] = (),
    kind: str = "",
) -> Iterator[bytes]:
    """The interchange to send back; nothing at all where nothing was asked for and nothing is wrong.

    ``rejected`` are the positions of members that were rejected although the others were accepted. ``kind`` is 997 or
    999, as the envelope's fact ``answer``; without both, 999 answers what follows an implementation guide
    (005010X222A1), and 997 the rest.
    """
    kind = kind or envelope.options.get("answer", "")
    telling = _Telling(found, marks_of(envelope), taken, rejected)
    about_all = [telling.about_interchange()] if telling.needs_ta1() else []
    sets = [telling.about_group(place, kind) for place in telling.groups_to_answer()]
    if about_all or sets:
        yield from assemble_with(about_all, sets, _for_answers(envelope), numbers)


def _for_answers(envelope: Envelope) -> Envelope:
    """Numbered again in each group, and never asking for an answer itself."""
    facts = {**envelope.options, "set_numbers": "group", "functional_group": ACKNOWLEDGEMENTS, "acknowledgment": "0"}
    return Envelope(sender=envelope.sender, receiver=envelope.receiver, at_us=envelope.at_us, options=facts)


class _Telling:
    """An interchange with its faults where they belong, so that a million members cost no more than a million times one."""

    def __init__(self, found: Split, marks: X12Delimiters, taken: bool, rejected: Collection[int]) -> None:
        self._found, self._marks = found, marks
        self._taken = taken and not any(fault.fatal for fault in found.faults)
        self._rejected = frozenset(rejected)
        self._faults: dict[tuple[int, int], list[InterchangeFault]] = {}
        for fault in found.faults:
            self._faults.setdefault((fault.group, fault.member), []).append(fault)
        self._members: dict[int, list[int]] = {}
        for number, member in enumerate(found.members):
            self._members.setdefault(member.group, []).append(number)
        self._wrong_groups = {fault.group for fault in found.faults}

    def needs_ta1(self) -> bool:
        found = self._found
        if not found.members and "ta1" in found.facts:
            return False
        return not self._taken or found.facts.get("acknowledgment") == "1" or bool(self._about(-1))

    def groups_to_answer(self) -> list[int]:
        """All but acknowledgments; of what was refused as a whole, those in which something is wrong."""
        groups = enumerate(self._found.groups)
        asked = [place for place, group in groups if group.kind != ACKNOWLEDGEMENTS]
        return asked if self._taken else [place for place in asked if place in self._wrong_groups]

    def about_interchange(self) -> bytes:
        faults, facts = self._about(-1), self._found.facts
        codes = _codes(INTERCHANGE_CODES, faults) or ["000" if self._taken else UNUSABLE_CONTENT]
        status = _status(self._taken, faults)
        return _segment(self._marks, ["TA1", self._found.reference, facts["date"], facts["time"], status, codes[0]])

    def about_group(self, place: int, kind: str) -> bytes:
        """One 997 or 999, as a ready set."""
        group, members = self._found.groups[place], self._members.get(place, [])
        kind = kind or _kind_for(group)
        segments = [["AK1", group.kind, group.reference, *_version_of(group, kind)]]
        for number in members:
            if self._taken or self._about(place, number):
                segments += self._about_set(number, kind)
        segments.append(["AK9", *self._about_all_of(place, group, members)])
        return _as_set(kind, segments, self._marks)

    def _about_set(self, number: int, kind: str) -> list[list[str]]:
        member = self._found.members[number]
        faults = self._about(member.group, number)
        implementation = member.facts.get("implementation", "")
        named = ["AK2", member.kind, member.reference, *([implementation] if implementation and kind == "999" else [])]
        status = _status(self._taken and number not in self._rejected, faults)
        return [named, ["IK5" if kind == "999" else "AK5", status, *_codes(SET_CODES, faults)]]

    def _about_all_of(self, place: int, group: InterchangeGroup, members: Sequence[int]) -> list[str]:
        """Return status and counts of a group: sets declared, received and accepted."""
        faults = self._about(place)
        accepted = sum(1 for one in members if one not in self._rejected) if self._taken else 0
        wrong = bool(faults) or any(self._about(place, one) for one in members)
        if 0 < accepted < len(members):
            status = "P"
        else:
            status = _status(self._taken and (accepted > 0 or not members), [wrong] if wrong else [])
        counts = [group.facts.get("included", str(len(members))), str(len(members)), str(accepted)]
        return [status, *counts, *_codes(GROUP_CODES, faults)]

    def _about(self, group: int, member: int = -1) -> Sequence[InterchangeFault]:
        """Return the errors of this group or member itself, without those of its contents."""
        return self._faults.get((group, member), ())


def _kind_for(group: InterchangeGroup) -> str:
    return "999" if "X" in group.facts.get("version", "")[6:] else "997"


def _as_set(kind: str, segments: Sequence[Sequence[str]], marks: X12Delimiters) -> bytes:
    """The set's number is given by the assembler; the count is right already."""
    # Of 999 there is one guide only, and its number is part of every header.
    guide = ["005010X231A1"] if kind == "999" else []
    every = [["ST", kind, "0001", *guide], *segments, ["SE", str(len(segments) + 2), "0001"]]
    return b"".join(_segment(marks, one) for one in every)


def _segment(marks: X12Delimiters, elements: Sequence[str]) -> bytes:
    """What the partner wrote is repeated without anything that would end an element here."""
    return write_segment(marks, *(_replace_delimiters(element.encode(), marks) for element in elements))


def _replace_delimiters(element: bytes, marks: X12Delimiters) -> bytes:
    for role in marks.roles():
        element = element.replace(role, b"")
    return element.translate(None, _CONTROLS)


def _version_of(group: InterchangeGroup, kind: str) -> list[str]:
    version = group.facts.get("version", "")
    return [version] if kind == "999" or version >= _WITH_VERSION_SINCE else []


def _status(taken: bool, wrong: Sequence[object]) -> str:
    """Accepted, accepted with errors noted, or rejected."""
    if not taken:
        return "R"
    return "E" if wrong else "A"


def _codes(table: dict[str, str], faults: Sequence[InterchangeFault]) -> list[str]:
    return [table[fault.code] for fault in faults if fault.code in table][:_MAX_CODES]
