"""An invoker that sees a response again may change its context on the way up to whoever asked."""

from __future__ import annotations

import pytest

from postroad.core.model.directory import Visibility
from postroad.core.model.message import Message, MessageType, Part, Property, Recipient
from postroad.core.model.polling import PollRequest
from postroad.testing.network import memory_network

DONE = Part(id="1", content_type="text/plain", data=b"done")


@pytest.mark.req("R13")
async def test_an_invoker_changes_the_response_context_on_its_way_up() -> None:
    async with memory_network() as running:
        network = running.network
        buyer = await running.register("MyBiz/Buyer")
        front = await running.register("Transmatics/Front", visibility=Visibility.PUBLIC, returns=True)
        acme = await running.register("Acme/Supply", visibility=Visibility.PUBLIC)
        order = Message(
            to=(Recipient("Acme/Supply"),), route=(Recipient("Transmatics/Front"),), type=MessageType.REQUEST,
            parts=(DONE,),
        )  # fmt: skip
        await network.post(buyer, order)
        [out] = await network.poll(front, PollRequest())
        await network.post(front, Message(type=MessageType.RESPONSE, reference=out.token, parts=out.parts))
        [asked] = await network.poll(acme, PollRequest())
        said = (Property("result", "raw"), Property("carrier", "ship"))
        answer = Message(type=MessageType.RESPONSE, reference=asked.token, parts=(DONE,), properties=said)
        await network.post(acme, answer)
        [back] = await network.poll(front, PollRequest())
        assert back.properties == said
        changed = (Property("result", "checked"), Property("checkedBy", "Front"))
        await network.post(
            front, Message(type=MessageType.RESPONSE, reference=back.token, parts=back.parts, properties=changed)
        )
        [got] = await network.poll(buyer, PollRequest())
        assert {one.name: one.value for one in got.properties} == {
            "result": "checked", "carrier": "ship", "checkedBy": "Front",
        }  # fmt: skip
