"""Take note that receivers have taken deliveries over, and of the journeys that thereby come to their end."""

from __future__ import annotations

from collections.abc import Sequence

from postroad.core.model.delivery import Queued
from postroad.core.model.journal import DeliveriesAcknowledged
from postroad.core.projection.project import journey_key
from postroad.core.routing.life import Event, is_ended_by
from postroad.flow.commit import committed
from postroad.ports import Conflict, Desk, Step


async def acknowledge(desk: Desk, now_us: int, by: str, taken: Sequence[Queued]) -> None:
    """Make it durable that these deliveries are in their receiver's hands."""
    ending = [(queued, ended_journey(queued)) for queued in taken]
    numbers = tuple(dict.fromkeys(queued.number for queued in taken))
    journeys = tuple(dict.fromkeys(journey for _, journey in ending if journey))
    keys = tuple([journey_key(journey) for journey in journeys])
    entry = DeliveriesAcknowledged(now_us, by, numbers, journeys)
    outcome = await committed(desk, Step(entry, None, keys, reserve=True))
    if isinstance(outcome, Conflict):  # one of the journeys has ended otherwise meanwhile; the others have not
        for queued, journey in ending:
            await _acknowledge_one(desk, now_us, by, queued, journey)


async def _acknowledge_one(desk: Desk, now_us: int, by: str, queued: Queued, journey: int) -> None:
    if journey:
        entry = DeliveriesAcknowledged(now_us, by, (queued.number,), (journey,))
        outcome = await committed(desk, Step(entry, None, (journey_key(journey),), reserve=True))
        if not isinstance(outcome, Conflict):
            return
    await committed(desk, Step(DeliveriesAcknowledged(now_us, by, (queued.number,)), reserve=True))


def ended_journey(queued: Queued) -> int:
    """The journey that is over when this delivery is acknowledged; 0 when there is none, or it goes on."""
    return queued.journey if is_ended_by(queued, Event.ACKNOWLEDGED) else 0
