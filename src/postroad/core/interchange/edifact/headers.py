"""What UNB, UNG and UNH say, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from postroad.core.interchange.edifact.charsets import charset_of
from postroad.core.interchange.edifact.delimiters import Delimiters
from postroad.core.interchange.edifact.segments import component, elements_of

Elements = Sequence[Sequence[str]]
_LONGEST_REFERENCE = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class InterchangeHeader:
    """UNB; without the partner's password (0022)."""

    reference: str = ""
    sender: str = ""
    receiver: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


def read_header(raw: bytes, marks: Delimiters) -> tuple[InterchangeHeader, list[str]]:
    """UNB, and what is wrong with it in words."""
    syntax = component(elements_of(raw, marks), 1)
    elements, wrong = elements_of(raw, marks, charset_of(syntax)), []
    date, time = component(elements, 4), component(elements, 4, 1)
    if not time and _is_time(component(elements, 5)) and component(elements, 6):
        # Some write date and time as two elements, and all that follows is one further.
        elements = [*elements[:4], [date, component(elements, 5)], *elements[6:]]
        time = component(elements, 4, 1)
        wrong.append("date and time are two elements")
    reference = component(elements, 5)
    if not reference or len(reference) > _LONGEST_REFERENCE:
        wrong.append(f"its control reference is missing or longer than {_LONGEST_REFERENCE} characters: {reference!r}")
    facts = {
        "syntax": syntax,
        "version": component(elements, 1, 1),
        "sender_qualifier": component(elements, 2, 1),
        "sender_internal": component(elements, 2, 2),
        "receiver_qualifier": component(elements, 3, 1),
        "receiver_internal": component(elements, 3, 2),
        "date": date,
        "time": time,
        "application": component(elements, 7),
        "priority": component(elements, 8),
        "acknowledgment": component(elements, 9),
        "agreement": component(elements, 10),
        "test": component(elements, 11),
    }
    header = InterchangeHeader(
        reference=reference, sender=component(elements, 2), receiver=component(elements, 3), facts=facts
    )
    return header, wrong


def _is_time(text: str) -> bool:
    return len(text) == 4 and text.isdecimal()


def group_facts(elements: Elements) -> dict[str, str]:
    """UNG."""
    return {
        "sender": component(elements, 2),
        "sender_qualifier": component(elements, 2, 1),
        "receiver": component(elements, 3),
        "receiver_qualifier": component(elements, 3, 1),
        "date": component(elements, 4),
        "time": component(elements, 4, 1),
        "agency": component(elements, 6),
        "version": component(elements, 7),
        "release": component(elements, 7, 1),
        "association": component(elements, 7, 2),
    }


def message_facts(elements: Elements) -> dict[str, str]:
    """UNH: which version of which directory, and what the message belongs to."""
    names = ("version", "release", "agency", "association")
    facts = {name: component(elements, 2, place) for place, name in enumerate(names, 1)}
    access = component(elements, 3)
    return {**facts, "access": access} if access else facts
