"""Messages of one sender go on from a pushed in-transit service in the order in which they came."""

from __future__ import annotations

import asyncio

import pytest

from postroad.core.delivery.push_request import PushAnswer, PushRequest
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.core.model.polling import PollRequest
from postroad.testing.push_receivers import push_url
from tests.samples.pushes import BUSY, PushScenario, in_virtual_time
from tests.unit.flow.push.test_push import ACME, delivered_in, response, well_known

UPPER = "Transmatics/Upper"


@pytest.mark.req("D6")
def test_answers_to_pushes_count_in_the_order_of_the_pushes() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(UPPER)
        acme = await at.service(ACME)
        await well_known(at, UPPER)  # so that several are under way at once
        at.receivers.received.clear()

        async def the_later_the_quicker(request: PushRequest) -> PushAnswer:
            await asyncio.sleep(0.5 / len(at.receivers.received))
            return response(request, parts=(Part(id="1", content_type="text/plain", data=b"done"),))

        at.receivers.answer_with(push_url(UPPER), the_later_the_quicker)
        sessions = [await at.send(ACME, route=(Recipient(UPPER),)) for _ in range(6)]
        await asyncio.sleep(5)
        assert len({seen.at_us for seen in at.receivers.received}) < 6, "several were under way at once"
        polled = [one for _ in sessions for one in await at.network.poll(acme, PollRequest(max=1))]
        assert [one.session for one in polled] == sessions

    in_virtual_time(work)


def test_a_push_that_fails_does_not_hold_those_behind_it() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(UPPER)
        acme = await at.service(ACME)
        await well_known(at, UPPER)

        async def answering(request: PushRequest) -> PushAnswer:
            if delivered_in(request).topic == "bad":
                await asyncio.sleep(1)
                return BUSY
            return response(request)

        at.receivers.answer_with(push_url(UPPER), answering)
        await at.send(ACME, route=(Recipient(UPPER),), topic="bad")
        good = await at.send(ACME, route=(Recipient(UPPER),))
        await asyncio.sleep(3)
        [polled] = await at.network.poll(acme, PollRequest())
        assert polled.session == good

    in_virtual_time(work)


@pytest.mark.req("D6")
def test_one_poll_hands_out_what_waits_in_the_order_of_the_posts() -> None:
    async def work(at: PushScenario) -> None:
        upper = await at.service(UPPER)
        acme = await at.service(ACME)
        sessions = [await at.send(ACME, route=(Recipient(UPPER),)) for _ in range(3)]
        for delivered in reversed(await at.network.poll(upper, PollRequest())):
            answer = Message(type=MessageType.RESPONSE, reference=delivered.token)
            await at.network.post(upper, answer)
        assert [one.session for one in await at.network.poll(acme, PollRequest())] == sessions

    in_virtual_time(work)
