"""Record acknowledgments, and end the journeys they complete."""

from __future__ import annotations

from collections.abc import Sequence

from postroad.core.model.delivery import Queued
from postroad.core.model.journal import DeliveriesAcknowledged
from postroad.core.projection.unique_keys import journey_key
from postroad.core.routing.lifecycle import JourneyEvent, is_ended_by
from postroad.flow.concurrency.commit import commit_step
from postroad.ports import Conflict, Desk, JournalStep


async def acknowledge(
    desk: Desk, now_us: int, by: str, taken: Sequence[Queued], receipt: bytes | None = None
) -> set[int]:
    """Store the acknowledgment of these deliveries; returns the numbers of those that had already ended.

    ``receipt`` is the receiver's own statement on a single delivery, and is stored with the entry.
    """
    unique = {queued.number: queued for queued in taken}
    journeys = {number: find_ended_journey(queued) for number, queued in unique.items()}
    if not isinstance(await commit_step(desk, _step(now_us, by, journeys, receipt)), Conflict):
        return set()
    over = set()
    for number, journey in journeys.items() if len(journeys) > 1 else ():
        if isinstance(await commit_step(desk, _step(now_us, by, {number: journey})), Conflict):
            over.add(number)
    return over if len(journeys) > 1 else set(journeys)


def _step(now_us: int, by: str, journeys: dict[int, int], receipt: bytes | None = None) -> JournalStep:
    """Return the step that acknowledges these deliveries and ends their journeys."""
    numbers = tuple(journeys)
    ended = tuple(dict.fromkeys(journey for journey in journeys.values() if journey))
    keys = tuple([journey_key(journey) for journey in ended])
    return JournalStep(
        DeliveriesAcknowledged(at_us=now_us, by=by, deliveries=numbers, journeys=ended),
        receipt,
        keys,
        reserve=True,
        waiting=numbers,
    )


def find_ended_journey(queued: Queued) -> int:
    """Return the journey that this acknowledgment ends; 0 if there is none or it continues."""
    return queued.journey if is_ended_by(queued, JourneyEvent.ACKNOWLEDGED) else 0
