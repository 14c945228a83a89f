"""Reads TA1, 997 and 999: a partner's acknowledgments of interchanges that we sent.

Rule: an acknowledgment without a verdict is refused; unknown codes are returned unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from postroad.core.interchange.nouns import Member, PartnerStatus, Split
from postroad.core.interchange.x12.acknowledgement_codes import GROUP_WORDS, INTERCHANGE_WORDS, SET_WORDS
from postroad.core.interchange.x12.delimiters import BLANKS, delimiters_of
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
    """What a 997 or 999 says of one set."""

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
