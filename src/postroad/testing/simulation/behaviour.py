"""How services receive: promptly, slowly, not at all, or against every rule of the network.

Kept rule: a temper never looks at anything but what its service was handed. ``receive`` gives every delivery to the service's
temper; those that take their time do so beside the next poll.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from postroad.core.model import ids
from postroad.core.model.message import Delivered, MessageType, Part, Status
from postroad.core.model.polling import EVERYTHING, Outcome, PollRequest, Selector
from postroad.testing.simulation.parties import Party

Temper = Callable[[Party, Delivered], Awaitable[None]]

ERROR = Status("broken", "it could not be done")
HOUR_S = 3600.0
LEASES_S = (0.0, 0.0, 20.0, 300.0, 2 * HOUR_S)
MOST = (1, 3, 10, 100)
SELECTORS = (Selector(topic="orders"), Selector(type=MessageType.REQUEST), Selector(type=MessageType.RESPONSE))


async def receive(party: Party, temper: Temper) -> None:
    """Poll and treat what comes, until the service leaves."""
    while True:
        request = PollRequest(
            max=party.chance.choice(MOST),
            wait_s=party.chance.choice((5.0, 60.0)),
            lease_s=party.chance.choice(LEASES_S),
        )
        for delivered in await party.poll(request):
            if temper in TAKES_TIME:
                party.begin(_treat(temper, party, delivered))
            else:
                await temper(party, delivered)
        await asyncio.sleep(party.chance.choice((0.0, 0.0, 60.0, 1800.0)))


def _drawn_request(party: Party) -> PollRequest:
    chance = party.chance
    select = chance.choice(SELECTORS) if chance.random() < 0.1 else EVERYTHING
    return PollRequest(
        max=chance.choice(MOST), wait_s=chance.choice((5.0, 60.0)), lease_s=chance.choice(LEASES_S), select=select
    )


async def _treat(temper: Temper, party: Party, delivered: Delivered) -> None:
    await temper(party, delivered)


# --- honest tempers ----------------------------------------------------------------------------------------------


async def prompt(party: Party, delivered: Delivered) -> None:
    """Do what is expected, at once."""
    if delivered.in_transit or delivered.type is MessageType.REQUEST:
        await party.answer(delivered, parts=_work(party, delivered))
    else:
        await party.settle((delivered.token,))


async def slow(party: Party, delivered: Delivered) -> None:
    """Do it minutes or hours later, perhaps when the lease or the whole message is long over."""
    await asyncio.sleep(party.chance.expovariate(1 / HOUR_S))
    await prompt(party, delivered)


async def failing(party: Party, delivered: Delivered) -> None:
    """Answer with an error, or give back what takes no answer."""
    if delivered.in_transit or delivered.type is MessageType.REQUEST:
        await party.answer(delivered, status=ERROR)
    else:
        await party.settle((delivered.token,), Outcome.NACK, party.chance.choice((0.0, 60.0, HOUR_S)))


async def hanging(party: Party, delivered: Delivered) -> None:
    """Take it and never be heard of again."""


async def hesitant(party: Party, delivered: Delivered) -> None:
    """Give most of it back for later."""
    if party.chance.random() < 0.7:
        await party.settle((delivered.token,), Outcome.NACK, party.chance.expovariate(1 / HOUR_S))
    else:
        await prompt(party, delivered)


async def flapping(party: Party, delivered: Delivered) -> None:
    """Work well, and now and then be away for hours with everything that was fetched."""
    if party.chance.random() < 0.05:
        await asyncio.sleep(party.chance.uniform(HOUR_S, 12 * HOUR_S))
    else:
        await prompt(party, delivered)


# --- lies ----------------------------------------------------------------------------------------------------------


async def answers_twice(party: Party, delivered: Delivered) -> None:
    both = [party.answer(delivered, parts=_work(party, delivered)) for _ in range(2)]
    if party.chance.random() < 0.5:
        await asyncio.gather(*both)
    else:
        for one in both:
            await one


async def contradicts_itself(party: Party, delivered: Delivered) -> None:
    """Success and failure at once; whichever comes first counts."""
    await asyncio.gather(party.answer(delivered, parts=_work(party, delivered)), party.answer(delivered, status=ERROR))


async def guesses(party: Party, delivered: Delivered) -> None:
    """Answer with a token that nobody was given."""
    number = ids.token_number(delivered.token) or 0
    for guess in (number, number + 1):
        token = ids.token(guess, delivered.session, delivered.recipient_gcid, b"guessed")
        if not await party.answer(delivered, token=token):
            party.ledger.wrongs.append(f"{party.address} answered delivery {guess:x} with a guessed token")


async def takes_over_then_answers(party: Party, delivered: Delivered) -> None:
    await party.settle((delivered.token,))
    await asyncio.sleep(party.chance.expovariate(1 / HOUR_S))
    await party.answer(delivered, parts=_work(party, delivered))


async def takes_over_and_is_silent(party: Party, delivered: Delivered) -> None:
    await party.settle((delivered.token,))


async def answers_too_late(party: Party, delivered: Delivered) -> None:
    left_s = (delivered.expires_at_us - party.now_us) / 1_000_000
    await asyncio.sleep(max(0.0, left_s) + party.chance.choice((0.0, 0.001, 60.0, HOUR_S)))
    await party.answer(delivered, parts=_work(party, delivered))


async def returns_other_documents(party: Party, delivered: Delivered) -> None:
    forged = [Part(id="other", content_type="text/plain", data=part.data + b" forged") for part in delivered.parts[:1]]
    await party.answer(delivered, parts=(*forged, *delivered.parts[1:]))


async def gives_back_then_answers(party: Party, delivered: Delivered) -> None:
    await party.settle((delivered.token,), Outcome.NACK, party.chance.choice((0.0, 60.0)))
    await prompt(party, delivered)


async def acknowledges_and_answers_at_once(party: Party, delivered: Delivered) -> None:
    await asyncio.gather(party.settle((delivered.token,)), party.answer(delivered, status=ERROR))


async def acknowledges_and_gives_back(party: Party, delivered: Delivered) -> None:
    await asyncio.gather(party.settle((delivered.token,)), party.settle((delivered.token,), Outcome.NACK))


async def cancels_what_is_not_its_own(party: Party, delivered: Delivered) -> None:
    await party.cancel(delivered.session)


LIES: tuple[Temper, ...] = (
    answers_twice,
    contradicts_itself,
    guesses,
    takes_over_then_answers,
    takes_over_and_is_silent,
    answers_too_late,
    returns_other_documents,
    gives_back_then_answers,
    acknowledges_and_answers_at_once,
    acknowledges_and_gives_back,
    cancels_what_is_not_its_own,
)


async def lying(party: Party, delivered: Delivered) -> None:
    await party.chance.choice(LIES)(party, delivered)


TEMPERS: tuple[Temper, ...] = (prompt, prompt, slow, failing, hanging, hesitant, flapping, lying, lying)
TAKES_TIME = (slow, lying)


def _work(party: Party, delivered: Delivered) -> tuple[Part, ...]:
    """The documents with which the service answers; they go on beginning with the handle, so that none can be mixed up."""
    if not delivered.parts or party.chance.random() < 0.3:
        return ()
    first, *others = delivered.parts
    worked = Part(id=first.id, content_type=first.content_type, data=first.data + b" " + party.gcid.encode())
    return (worked, *others)
