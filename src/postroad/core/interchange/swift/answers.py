"""What SWIFT tells us of messages that we sent (F21), read and matched to them.

Kept rules: an answer names a message by its user reference (108), or brings a copy of it; by nothing else is it matched. What it
names and we never sent is told, not dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from postroad.core.interchange.nouns import Split
from postroad.core.interchange.swift.assembling import Placed


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One acknowledgement."""

    accepted: bool
    user_reference: str
    reference: str  # :20: of the copy, where there is one
    at: str  # as SWIFT wrote it: YYMMDDhhmm
    reason: str = ""  # SWIFT's error code, where it was not accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    placed: Placed
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    outcomes: tuple[Outcome, ...]
    unmatched: tuple[Answer, ...] = ()  # about what we did not send


def read_answers(found: Split) -> tuple[Answer, ...]:
    """Every acknowledgement in a file; messages of others are nobody's answers and are passed over."""
    return tuple(
        Answer(
            accepted=facts["acknowledged"] == "accepted",
            user_reference=facts.get("acknowledged_reference", "") or facts.get("user_reference", ""),
            reference=member.reference if member.kind != "ack" else "",
            at=facts.get("acknowledged_at", ""),
            reason=facts.get("acknowledged_reason", ""),
        )
        for member in found.members
        if "acknowledged" in (facts := member.facts)
    )


def match(answers: Iterable[Answer], sent: Iterable[Placed]) -> Matching:
    """Each answer with the message that it is about."""
    by_user: dict[str, Placed] = {}
    by_reference: dict[str, Placed] = {}
    for one in sent:
        by_user.setdefault(one.user_reference, one)
        by_reference.setdefault(one.reference, one)
    outcomes, unmatched = list[Outcome](), list[Answer]()
    for answer in answers:
        placed = _named(answer.user_reference, by_user) or _named(answer.reference, by_reference)
        if placed is None:
            unmatched.append(answer)
        else:
            outcomes.append(Outcome(placed=placed, answer=answer))
    return Matching(outcomes=tuple(outcomes), unmatched=tuple(unmatched))


def _named(reference: str, sent: dict[str, Placed]) -> Placed | None:
    return sent.get(reference) if reference else None
