"""A trace names the role of each service on a message's route, and its status in the words of that role."""

from __future__ import annotations

import pytest

from postroad.core.model.caller import Caller
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.core.model.polling import PollRequest
from tests.acceptance.asking import Asked, asked_network

ORDER = Part(id="1", content_type="text/plain", data=b"an order")


def service(asked: Asked, address: str) -> Caller:
    found = asked.running.network.directory.service(address)
    assert found is not None
    return Caller(service=found)


async def statuses(asked: Asked, session: str) -> list[tuple[str, str]]:
    told = (await asked.ask("owner of A", "GET", f"/v1/messages/{session}/trace")).json()
    [copy] = next(one for one in told["messages"] if one["session"] == session)["copies"]
    return [(stop["role"], stop["status"]) for stop in copy["stops"]]


@pytest.mark.req("A1")
async def test_the_status_of_a_service_depends_on_its_role() -> None:
    async with asked_network() as asked:
        network = asked.running.network
        order = Message(
            to=(Recipient("Birch/Public"),),
            route=(Recipient("Aster/Public"),),
            type=MessageType.REQUEST,
            parts=(ORDER,),
        )
        session = (await network.post(service(asked, "Aster/Private"), order)).session
        seen = [await statuses(asked, session)]
        for address in ("Aster/Public", "Birch/Public"):
            receiver = service(asked, address)
            [taken] = await network.poll(receiver, PollRequest(wait_s=60))
            seen.append(await statuses(asked, session))
            await network.post(receiver, Message(type=MessageType.RESPONSE, reference=taken.token, parts=(ORDER,)))
            seen.append(await statuses(asked, session))
        assert seen == [
            [("inTransit", "waiting")],
            [("inTransit", "invoked")],
            [("inTransit", "returned"), ("recipient", "waiting")],
            [("inTransit", "returned"), ("recipient", "handed out")],
            [("inTransit", "returned"), ("recipient", "answered")],
        ]
