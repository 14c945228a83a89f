"""What a history tells of batches: of a message that went with one, and of the interchange that was made of it.

Kept rule: whoever sent a member learns what became of that member: its batch, the interchange and where it stands in it, and what
the partner says of it; nothing of the other members. What an interchange was made of is for those whose batcher made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from postroad.core.audit.story import Contained, Drawn, Gathered, PartnerAnswer
from postroad.core.interchange.nouns import Verdict
from postroad.core.model.batch import Batch
from postroad.core.model.interchange import Assembled, Filed
from postroad.core.model.journal import InterchangeAnswered

LEFT = "left"  # in the place of the batch's state: the message is not in it any more


class KnownBatch(NamedTuple):
    """A batch as it is now, the interchange that was last made of it, and what partners have said of that, oldest first."""

    batch: Batch
    assembled: Assembled | None = None
    answers: Sequence[InterchangeAnswered] = ()


def gathered(known: KnownBatch, delivery: int, *, is_in_it: bool) -> Gathered:
    """What whoever sent a message is told of the batch that it has joined."""
    batch = known.batch
    if not is_in_it:
        return Gathered(batch=batch.id, state=LEFT)
    filed = filed_under(known.assembled, delivery) if batch.interchange else None
    verdict, reasons = verdict_on(known.answers, delivery)
    return Gathered(
        batch=batch.id,
        state=batch.state.value,
        interchange=batch.interchange,
        reference=filed.interchange if filed is not None else "",
        document=filed.reference if filed is not None else "",
        verdict=verdict,
        reasons=list(reasons),
    )


def contained(assembled: Assembled, known: KnownBatch | None) -> Contained:
    """What those are told of an interchange whose batcher or splitter made it."""
    batch = assembled.batch
    again = known.assembled if known is not None and not assembled.numbers else None
    return Contained(
        batch=batch.id if batch is not None else "",
        members=batch.count if batch is not None else 0,
        standard=assembled.standard,
        numbers=drawn(again or assembled),
        answers=[partner_answer(answer) for answer in known.answers] if known is not None else [],
    )


def drawn(assembled: Assembled) -> list[Drawn]:
    """The control numbers that an interchange uses, as a range for each scope."""
    numbers: dict[str, list[int]] = {}
    for one in assembled.numbers:
        numbers.setdefault(one.series, []).append(one.number)
    return [
        Drawn(scope=series.rpartition(":")[2], first=min(drawn_here), last=max(drawn_here))
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


def filed_under(assembled: Assembled | None, delivery: int) -> Filed | None:
    """Where the first document of a message stands in the interchange."""
    filed = assembled.filed if assembled is not None else ()
    return next((one for one in filed if one.delivery == delivery), None)


def verdict_on(answers: Sequence[InterchangeAnswered], delivery: int) -> tuple[str, tuple[str, ...]]:
    """What a partner says of one message, and why. The latest word counts, but that it was received hides no verdict."""
    received = ""
    for answer in reversed(answers):
        for member in answer.members:
            if member.delivery == delivery:
                return member.verdict, member.reasons
        if answer.verdict != Verdict.RECEIVED:
            return _on_the_others(answer), ()
        received = answer.verdict
    return received, ()


def _on_the_others(answer: InterchangeAnswered) -> str:
    """The verdict on those of which nothing is said by name: where only some are accepted, the others are named."""
    is_mixed = answer.verdict == Verdict.PARTLY or (answer.verdict == Verdict.NOTED and answer.members)
    return Verdict.ACCEPTED.value if is_mixed else answer.verdict
