"""The behaviours of sending services: requests and notifications, to one or several recipients."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import count

from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.testing.simulation.simulated_services import SimulatedService

EXPIRATIONS_S = (0.0, 0.0, 2.0, 60.0, 3600.0, 50_000.0)  # 0: the service's default, which may be the longest
UNKNOWN = Recipient("Nobody/Nowhere")


async def send_at_random(
    party: SimulatedService, others: Sequence[SimulatedService], until_us: int, every_s: float
) -> None:
    """Post at random times."""
    for number in count(1):
        await asyncio.sleep(party.chance.expovariate(1 / every_s))
        if party.now_us >= until_us:
            return
        if party.chance.random() < 0.1:
            await party.post_many([random_message(party, others, number, place) for place in range(4)])
        else:
            session = await party.post(random_message(party, others, number))
            if session and party.chance.random() < 0.1:
                party.begin(withdraw_later(party, session))


async def withdraw_later(party: SimulatedService, session: str) -> None:
    """Cancel the message, immediately or later."""
    await asyncio.sleep(party.chance.choice((0.0, 0.1, 60.0, 3600.0)))
    await party.cancel(session)


def random_message(party: SimulatedService, others: Sequence[SimulatedService], number: int, place: int = 0) -> Message:
    chance = party.chance
    handle = f"{party.gcid}-{number}.{place}"
    expiration_s = chance.choice(EXPIRATIONS_S)
    stops = chance.sample(others, min(len(others), chance.choice((1, 1, 1, 2, 4)) + chance.choice((0, 0, 1, 3))))
    recipients = max(1, len(stops) - chance.choice((0, 0, 1, 3)))
    to = [Recipient(stop.address if chance.random() < 0.5 else stop.gcid) for stop in stops]
    return Message(
        to=(*to[:recipients], *((UNKNOWN,) if chance.random() < 0.05 else ())),
        route=tuple(to[recipients:]),
        type=chance.choice((MessageType.REQUEST, MessageType.REQUEST, MessageType.NOTIFICATION)),
        topic=chance.choice(("", "orders", "bills")),
        handle=handle,
        expires_at_us=party.now_us + round(expiration_s * 1_000_000) if expiration_s else 0,
        parts=tuple(
            Part(id=f"part{part}", content_type="text/plain", data=f"{handle} part {part}".encode())
            for part in range(chance.choice((0, 1, 1, 3)))
        ),
    )
