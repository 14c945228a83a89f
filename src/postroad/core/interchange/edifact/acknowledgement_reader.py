"""Reads CONTRL messages: a partner's acknowledgments of interchanges that we sent.

Rule: an acknowledgment without a verdict is refused; unknown codes are returned unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from postroad.core.interchange.edifact.acknowledgement_codes import WORDS
from postroad.core.interchange.edifact.delimiters import BLANKS, delimiters_of
from postroad.core.interchange.edifact.segments import elements_of, find_component, parts_of
from postroad.core.interchange.nouns import Member, PartnerStatus, Split
from postroad.errors import Refused

_ACTIONS = {"4": PartnerStatus.REJECTED, "7": PartnerStatus.ACCEPTED, "8": PartnerStatus.RECEIVED}
_REFERENCE_AT, _ACTION_AT = 1, {"UCI": 4, "UCF": 4, "UCM": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrlResult:
    """The status of one interchange, group or message."""

    reference: str
    verdict: PartnerStatus
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # segments and elements in error (UCS, UCD), as the partner wrote it


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrlMessage:
    """One CONTRL message."""

    interchange: ContrlResult
    groups: tuple[ContrlResult, ...] = ()
    messages: tuple[tuple[str, ContrlResult], ...] = ()  # each with the reference of its group, or nothing


def read_answers(found: Split) -> tuple[ContrlMessage, ...]:
    """Reads every CONTRL in an interchange; other messages are ignored."""
    return tuple(_answer(member, found) for member in found.members if member.kind == "CONTRL")


def _answer(member: Member, found: Split) -> ContrlMessage:
    groups: list[ContrlResult] = []
    messages: list[tuple[str, ContrlResult]] = []
    whole: ContrlResult | None = None
    for one in _blocks(member, found):
        told, tag = _told(one), find_component(one[0], 0)
        if tag == "UCI":
            whole = told
        elif tag == "UCF":
            groups.append(told)
        else:
            messages.append((groups[-1].reference if groups else "", told))
    if whole is None:
        raise Refused("interchange.malformed", f"CONTRL {member.reference} has no UCI")
    return ContrlMessage(interchange=whole, groups=tuple(groups), messages=tuple(messages))


def _blocks(member: Member, found: Split) -> list[list[Sequence[Sequence[str]]]]:
    """UCI, UCF and UCM, each with the UCS and UCD that belong to it."""
    marks = delimiters_of(found.facts)
    blocks: list[list[Sequence[Sequence[str]]]] = []
    for raw in parts_of(bytes(member.data), marks.terminator, marks.release):
        elements = elements_of(raw.strip(BLANKS), marks)
        tag = find_component(elements, 0)
        if tag in _ACTION_AT:
            blocks.append([elements])
        elif tag in ("UCS", "UCD") and blocks:
            blocks[-1].append(elements)
    return blocks


def _told(block: Sequence[Sequence[Sequence[str]]]) -> ContrlResult:
    head = block[0]
    tag = find_component(head, 0)
    action, code = find_component(head, _ACTION_AT[tag]), find_component(head, _ACTION_AT[tag] + 1)
    verdict = _ACTIONS.get(action)
    if verdict is None:
        raise Refused("interchange.malformed", f"{tag} has {action!r}, which is not a valid status")
    notes = tuple("+".join(":".join(one) for one in line) for line in block[1:])
    if verdict is PartnerStatus.ACCEPTED and (code or notes):
        verdict = PartnerStatus.NOTED
    reasons = (WORDS.get(code, f"code {code}"),) if code else ()
    return ContrlResult(reference=find_component(head, _REFERENCE_AT), verdict=verdict, reasons=reasons, notes=notes)
