"""What histories show of batches: the membership of a message, and the contents of an interchange.

Rule: the sender of a member sees what happened to that member: its batch, its position in the interchange, and the
partner's verdict on it; nothing about other members. The contents of an interchange are visible only to the
organization of the batcher that made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from postroad.core.interchange.model import PartnerStatus
from postroad.core.model.batch import Batch
from postroad.core.model.history import BatchMembership, InterchangeContents, NumberRange, PartnerAnswer
from postroad.core.model.interchange import AssembledInterchange, DocumentPosition
from postroad.core.model.journal import InterchangeAnswered

LEFT = "left"  # instead of the batch's state: the message is not in it any more


class KnownBatch(NamedTuple):
    """A batch now, its latest interchange, and the partner's acknowledgments of that, oldest first."""

    batch: Batch
    assembled: AssembledInterchange | None = None
    answers: Sequence[InterchangeAnswered] = ()


def describe_membership(known: KnownBatch, delivery: int, *, is_in_it: bool) -> BatchMembership:
    """Describe for the sender of a message the batch that the message has joined."""
    batch = known.batch
    if not is_in_it:
        return BatchMembership(batch=batch.id, state=LEFT)
    filed = find_position(known.assembled, delivery) if batch.interchange else None
    verdict, reasons = find_verdict(known.answers, delivery)
    return BatchMembership(
        batch=batch.id,
        state=batch.state.value,
        interchange=batch.interchange,
        reference=filed.interchange if filed is not None else "",
        document=filed.reference if filed is not None else "",
        verdict=verdict,
        reasons=list(reasons),
    )


def describe_contents(assembled: AssembledInterchange, known: KnownBatch | None) -> InterchangeContents:
    """Describe an interchange for the organization whose batcher or splitter made it."""
    batch = assembled.batch
    again = known.assembled if known is not None and not assembled.numbers else None
    return InterchangeContents(
        batch=batch.id if batch is not None else "",
        members=batch.count if batch is not None else 0,
        standard=assembled.standard,
        numbers=number_ranges(again or assembled),
        answers=[partner_answer(answer) for answer in known.answers] if known is not None else [],
    )


def number_ranges(assembled: AssembledInterchange) -> list[NumberRange]:
    """Return the control numbers that an interchange uses, as one range for each scope."""
    numbers: dict[str, list[int]] = {}
    for one in assembled.numbers:
        numbers.setdefault(one.series, []).append(one.number)
    return [
        NumberRange(scope=series.rpartition(":")[2], first=min(drawn_here), last=max(drawn_here))
        for series, drawn_here in numbers.items()
    ]


def partner_answer(answer: InterchangeAnswered) -> PartnerAnswer:
    return PartnerAnswer(
        at_us=answer.at_us,
        session=answer.session,
        verdict=answer.verdict,
        detail=answer.detail,
        otherwise=len(answer.members),
    )


def find_position(assembled: AssembledInterchange | None, delivery: int) -> DocumentPosition | None:
    """Return the position of a message's first document in the interchange, or None."""
    filed = assembled.filed if assembled is not None else ()
    return next((one for one in filed if one.delivery == delivery), None)


def find_verdict(answers: Sequence[InterchangeAnswered], delivery: int) -> tuple[str, tuple[str, ...]]:
    """Return the partner's latest verdict on one message with its reasons; "received" never replaces a verdict."""
    received = ""
    for answer in reversed(answers):
        for member in answer.members:
            if member.delivery == delivery:
                return member.verdict, member.reasons
        if answer.verdict != PartnerStatus.RECEIVED:
            return _unnamed_verdict(answer), ()
        received = answer.verdict
    return received, ()


def _unnamed_verdict(answer: InterchangeAnswered) -> str:
    """Return the verdict on documents that the answer does not name: accepted, if it names the rejected ones."""
    is_mixed = answer.verdict == PartnerStatus.PARTLY or (answer.verdict == PartnerStatus.NOTED and answer.members)
    return PartnerStatus.ACCEPTED.value if is_mixed else answer.verdict
