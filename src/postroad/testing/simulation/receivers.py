"""The behaviours of receiving services: prompt, slow, silent, or in violation of the network's rules.

Rule: a behaviour uses only what its service received. ``receive_deliveries`` passes each delivery to the service's
behaviour; slow ones run in parallel with the next poll.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from postroad.core.model import ids
from postroad.core.model.message import Delivered, MessageType, Part, Status
from postroad.core.model.polling import EVERYTHING, Outcome, PollRequest, Selector
from postroad.testing.simulation.simulated_services import SimulatedService

ReceiverBehaviour = Callable[[SimulatedService, Delivered], Awaitable[None]]

ERROR = Status("broken", "it could not be done")
HOUR_S = 3600.0
LEASES_S = (0.0, 0.0, 20.0, 300.0, 2 * HOUR_S)
POLL_SIZES = (1, 3, 10, 100)
SELECTORS = (Selector(topic="orders"), Selector(type=MessageType.REQUEST), Selector(type=MessageType.RESPONSE))


async def receive_deliveries(party: SimulatedService, temper: ReceiverBehaviour) -> None:
    """Poll and handle deliveries until the service leaves."""
    while True:
        request = PollRequest(
            max=party.chance.choice(POLL_SIZES),
            wait_s=party.chance.choice((5.0, 60.0)),
            lease_s=party.chance.choice(LEASES_S),
        )
        for delivered in await party.poll(request):
            if temper in TAKES_TIME:
                party.begin(_handle_delivery(temper, party, delivered))
            else:
                await temper(party, delivered)
        await asyncio.sleep(party.chance.choice((0.0, 0.0, 60.0, 1800.0)))


def _drawn_request(party: SimulatedService) -> PollRequest:
    chance = party.chance
    select = chance.choice(SELECTORS) if chance.random() < 0.1 else EVERYTHING
    return PollRequest(
        max=chance.choice(POLL_SIZES), wait_s=chance.choice((5.0, 60.0)), lease_s=chance.choice(LEASES_S), select=select
    )


async def _handle_delivery(temper: ReceiverBehaviour, party: SimulatedService, delivered: Delivered) -> None:
    await temper(party, delivered)


# --- honest tempers ----------------------------------------------------------------------------------------------


async def answer_promptly(party: SimulatedService, delivered: Delivered) -> None:
    """Respond or acknowledge as expected, immediately."""
    if delivered.in_transit or delivered.type is MessageType.REQUEST:
        await party.answer(delivered, parts=_answer_documents(party, delivered))
    else:
        await party.settle((delivered.token,))


async def answer_slowly(party: SimulatedService, delivered: Delivered) -> None:
    """Answer minutes or hours later, perhaps after the lease or the message has expired."""
    await asyncio.sleep(party.chance.expovariate(1 / HOUR_S))
    await answer_promptly(party, delivered)


async def answer_with_error(party: SimulatedService, delivered: Delivered) -> None:
    """Respond with an error, or give back messages that take no response."""
    if delivered.in_transit or delivered.type is MessageType.REQUEST:
        await party.answer(delivered, status=ERROR)
    else:
        await party.settle((delivered.token,), Outcome.NACK, party.chance.choice((0.0, 60.0, HOUR_S)))


async def never_answer(party: SimulatedService, delivered: Delivered) -> None:
    """Receive a delivery and never respond."""


async def give_back_most(party: SimulatedService, delivered: Delivered) -> None:
    """Give back nearly all deliveries for later."""
    if party.chance.random() < 0.7:
        await party.settle((delivered.token,), Outcome.NACK, party.chance.expovariate(1 / HOUR_S))
    else:
        await answer_promptly(party, delivered)


async def disappear_at_times(party: SimulatedService, delivered: Delivered) -> None:
    """Work normally, and sometimes disappear for hours with everything fetched."""
    if party.chance.random() < 0.05:
        await asyncio.sleep(party.chance.uniform(HOUR_S, 12 * HOUR_S))
    else:
        await answer_promptly(party, delivered)


# --- lies ----------------------------------------------------------------------------------------------------------


async def answer_twice(party: SimulatedService, delivered: Delivered) -> None:
    both = [party.answer(delivered, parts=_answer_documents(party, delivered)) for _ in range(2)]
    if party.chance.random() < 0.5:
        await asyncio.gather(*both)
    else:
        for one in both:
            await one


async def contradict_itself(party: SimulatedService, delivered: Delivered) -> None:
    """Report success and failure at the same time; the first one counts."""
    await asyncio.gather(
        party.answer(delivered, parts=_answer_documents(party, delivered)), party.answer(delivered, status=ERROR)
    )


async def guess_token(party: SimulatedService, delivered: Delivered) -> None:
    """Answer with a token that was never issued."""
    number = ids.token_number(delivered.token) or 0
    for guess in (number, number + 1):
        token = ids.token(guess, delivered.session, delivered.recipient_gcid, b"guessed")
        if not await party.answer(delivered, token=token):
            party.ledger.wrongs.append(f"{party.address} answered delivery {guess:x} with a guessed token")


async def take_over_then_answer(party: SimulatedService, delivered: Delivered) -> None:
    await party.settle((delivered.token,))
    await asyncio.sleep(party.chance.expovariate(1 / HOUR_S))
    await party.answer(delivered, parts=_answer_documents(party, delivered))


async def take_over_silently(party: SimulatedService, delivered: Delivered) -> None:
    await party.settle((delivered.token,))


async def answer_too_late(party: SimulatedService, delivered: Delivered) -> None:
    left_s = (delivered.expires_at_us - party.now_us) / 1_000_000
    await asyncio.sleep(max(0.0, left_s) + party.chance.choice((0.0, 0.001, 60.0, HOUR_S)))
    await party.answer(delivered, parts=_answer_documents(party, delivered))


async def return_other_documents(party: SimulatedService, delivered: Delivered) -> None:
    forged = [Part(id="other", content_type="text/plain", data=part.data + b" forged") for part in delivered.parts[:1]]
    await party.answer(delivered, parts=(*forged, *delivered.parts[1:]))


async def give_back_then_answer(party: SimulatedService, delivered: Delivered) -> None:
    await party.settle((delivered.token,), Outcome.NACK, party.chance.choice((0.0, 60.0)))
    await answer_promptly(party, delivered)


async def acknowledge_and_answer_at_once(party: SimulatedService, delivered: Delivered) -> None:
    await asyncio.gather(party.settle((delivered.token,)), party.answer(delivered, status=ERROR))


async def acknowledge_and_give_back(party: SimulatedService, delivered: Delivered) -> None:
    await asyncio.gather(party.settle((delivered.token,)), party.settle((delivered.token,), Outcome.NACK))


async def cancel_foreign_message(party: SimulatedService, delivered: Delivered) -> None:
    await party.cancel(delivered.session)


RULE_BREAKERS: tuple[ReceiverBehaviour, ...] = (
    answer_twice,
    contradict_itself,
    guess_token,
    take_over_then_answer,
    take_over_silently,
    answer_too_late,
    return_other_documents,
    give_back_then_answer,
    acknowledge_and_answer_at_once,
    acknowledge_and_give_back,
    cancel_foreign_message,
)


async def break_a_rule(party: SimulatedService, delivered: Delivered) -> None:
    await party.chance.choice(RULE_BREAKERS)(party, delivered)


BEHAVIOURS: tuple[ReceiverBehaviour, ...] = (
    answer_promptly,
    answer_promptly,
    answer_slowly,
    answer_with_error,
    never_answer,
    give_back_most,
    disappear_at_times,
    break_a_rule,
    break_a_rule,
)
TAKES_TIME = (answer_slowly, break_a_rule)


def _answer_documents(party: SimulatedService, delivered: Delivered) -> tuple[Part, ...]:
    """Return the documents of the answer; they begin with the handle, so that mix-ups are detected."""
    if not delivered.parts or party.chance.random() < 0.3:
        return ()
    first, *others = delivered.parts
    worked = Part(id=first.id, content_type=first.content_type, data=first.data + b" " + party.gcid.encode())
    return (worked, *others)
