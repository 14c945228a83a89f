"""What a partner's answers come to for one batch: a verdict, and the documents of which something else is said.

Kept rule: what is said of some documents is not said of the others; where only some are spoken of, the rest was received.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from postroad.core.interchange.answers import Became
from postroad.core.interchange.nouns import Verdict
from postroad.core.model.interchange import AnsweredMember, Filed

REASONS_MOST = 5  # of one document
REASON_CHARS = 200
_WORST_FIRST = (Verdict.REJECTED, Verdict.PARTLY, Verdict.NOTED, Verdict.RECEIVED, Verdict.ACCEPTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    verdict: Verdict  # on the batch
    reasons: tuple[str, ...]  # that hold for all of it
    members: tuple[AnsweredMember, ...]  # of which something else is said


def heard(became: Sequence[Became], filed: Sequence[Filed]) -> Heard:
    """``filed`` are all documents of the batch. Of several documents of one message, the worst counts."""
    by_delivery: dict[int, Became] = {}
    for one in became:
        before = by_delivery.get(one.filed.delivery)
        if before is None or _WORST_FIRST.index(one.verdict) < _WORST_FIRST.index(before.verdict):
            by_delivery[one.filed.delivery] = one
    told = by_delivery.values()
    is_all = len(by_delivery) == len({one.delivery for one in filed})
    whole, shared = _whole({one.verdict for one in told}, is_all)
    reasons = {one.reasons for one in told} if is_all else set()
    common = reasons.pop() if len(reasons) == 1 else ()
    members = [
        AnsweredMember(delivery, one.verdict.value, _shown(one.reasons))
        for delivery, one in by_delivery.items()
        if one.verdict is not shared or one.reasons != common
    ]
    return Heard(verdict=whole, reasons=_shown(common), members=tuple(members))


def _whole(verdicts: Collection[Verdict], is_all: bool) -> tuple[Verdict, Verdict]:
    """The verdict on all, and the one that a document has of which nothing else is said."""
    if not is_all or (Verdict.RECEIVED in verdicts and Verdict.REJECTED not in verdicts):
        return Verdict.RECEIVED, Verdict.RECEIVED
    if len(verdicts) == 1:
        [only] = verdicts
        return only, only
    return (Verdict.PARTLY if Verdict.REJECTED in verdicts else Verdict.NOTED), Verdict.ACCEPTED


def _shown(reasons: Sequence[str]) -> tuple[str, ...]:
    return tuple(reason[:REASON_CHARS] for reason in reasons[:REASONS_MOST])
