"""Take note that receivers have taken deliveries over, and of the journeys that thereby come to their end."""

from __future__ import annotations

from collections.abc import Sequence

from postroad.core.model.delivery import Queued
from postroad.core.model.journal import DeliveriesAcknowledged
from postroad.core.projection.keys import journey_key
from postroad.core.routing.life import Event, is_ended_by
from postroad.flow.commit import committed
from postroad.ports import Conflict, Desk, Step


async def acknowledge(
    desk: Desk, now_us: int, by: str, taken: Sequence[Queued], receipt: bytes | None = None
) -> set[int]:
    """Make it durable that these deliveries are in their receiver's hands; returns those that had come to their end before.

    ``receipt`` is the receiver's own word on a single delivery, and is kept with the entry.
    """
    unique = {queued.number: queued for queued in taken}
    journeys = {number: ended_journey(queued) for number, queued in unique.items()}
    if not isinstance(await committed(desk, _step(now_us, by, journeys, receipt)), Conflict):
        return set()
    over = set()
    for number, journey in journeys.items() if len(journeys) > 1 else ():
        if isinstance(await committed(desk, _step(now_us, by, {number: journey})), Conflict):
            over.add(number)
    return over if len(journeys) > 1 else set(journeys)


def _step(now_us: int, by: str, journeys: dict[int, int], receipt: bytes | None = None) -> Step:
    """The acknowledgement of these deliveries, with the journey that each ends."""
    numbers = tuple(journeys)
    ended = tuple(dict.fromkeys(journey for journey in journeys.values() if journey))
    keys = tuple([journey_key(journey) for journey in ended])
    return Step(DeliveriesAcknowledged(now_us, by, numbers, ended), receipt, keys, reserve=True, waiting=numbers)


def ended_journey(queued: Queued) -> int:
    """The journey that is over when this delivery is acknowledged; 0 when there is none, or it goes on."""
    return queued.journey if is_ended_by(queued, Event.ACKNOWLEDGED) else 0
