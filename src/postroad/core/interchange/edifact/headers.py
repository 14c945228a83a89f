"""Reads the fields of UNB, UNG and UNH by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from postroad.core.interchange.edifact.charsets import charset_of
from postroad.core.interchange.edifact.delimiters import EdifactDelimiters
from postroad.core.interchange.edifact.segments import elements_of, find_component

Elements = Sequence[Sequence[str]]
_LONGEST_REFERENCE = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class UnbHeader:
    """UNB; without the partner's password (0022)."""

    reference: str = ""
    sender: str = ""
    receiver: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


def read_header(raw: bytes, marks: EdifactDelimiters) -> tuple[UnbHeader, list[str]]:
    """Return the values of UNB, and its errors as texts."""
    syntax = find_component(elements_of(raw, marks), 1)
    elements, wrong = elements_of(raw, marks, charset_of(syntax)), []
    date, time = find_component(elements, 4), find_component(elements, 4, 1)
    if not time and _is_time(find_component(elements, 5)) and find_component(elements, 6):
        # Some products write date and time as two elements, which shifts all later elements.
        elements = [*elements[:4], [date, find_component(elements, 5)], *elements[6:]]
        time = find_component(elements, 4, 1)
        wrong.append("date and time are two elements")
    reference = find_component(elements, 5)
    if not reference or len(reference) > _LONGEST_REFERENCE:
        wrong.append(f"its control reference is missing or longer than {_LONGEST_REFERENCE} characters: {reference!r}")
    facts = {
        "syntax": syntax,
        "version": find_component(elements, 1, 1),
        "sender_qualifier": find_component(elements, 2, 1),
        "sender_internal": find_component(elements, 2, 2),
        "receiver_qualifier": find_component(elements, 3, 1),
        "receiver_internal": find_component(elements, 3, 2),
        "date": date,
        "time": time,
        "application": find_component(elements, 7),
        "priority": find_component(elements, 8),
        "acknowledgment": find_component(elements, 9),
        "agreement": find_component(elements, 10),
        "test": find_component(elements, 11),
    }
    header = UnbHeader(
        reference=reference, sender=find_component(elements, 2), receiver=find_component(elements, 3), facts=facts
    )
    return header, wrong


def _is_time(text: str) -> bool:
    return len(text) == 4 and text.isdecimal()


def group_facts(elements: Elements) -> dict[str, str]:
    """Return the values of UNG."""
    return {
        "sender": find_component(elements, 2),
        "sender_qualifier": find_component(elements, 2, 1),
        "receiver": find_component(elements, 3),
        "receiver_qualifier": find_component(elements, 3, 1),
        "date": find_component(elements, 4),
        "time": find_component(elements, 4, 1),
        "agency": find_component(elements, 6),
        "version": find_component(elements, 7),
        "release": find_component(elements, 7, 1),
        "association": find_component(elements, 7, 2),
    }


def message_facts(elements: Elements) -> dict[str, str]:
    """Return the values of UNH: version and directory, and the message's common access reference."""
    names = ("version", "release", "agency", "association")
    facts = {name: find_component(elements, 2, place) for place, name in enumerate(names, 1)}
    access = find_component(elements, 3)
    return {**facts, "access": access} if access else facts
