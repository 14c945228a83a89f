"""A service that is isolated by a service of its own organization learns no more of the wider route than any other."""

from __future__ import annotations

import msgspec
import pytest

from postroad.api.resources.message_views import summary
from postroad.core.model.directory import Visibility
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.core.model.polling import PollRequest
from postroad.core.model.rule import Action, ActionKind, Comparing, Comparison, Place, Rule, RuleRole, Where
from postroad.errors import Refused
from postroad.flow.administration_explaining import stored
from postroad.flow.administration_messages import Wish, browse, history
from postroad.flow.configure import saving
from postroad.testing.network import memory_network

ALWAYS = Comparison(operator=Comparing.EXISTS, place=Place(where=Where.HEADER, path="type"), values=())
ORDER = Part(id="1", content_type="text/plain", data=b"an order")


@pytest.mark.req("R12")
async def test_a_service_isolated_by_its_own_organization_reads_neither_sender_nor_recipient() -> None:
    async with memory_network() as running:
        network, public = running.network, {"visibility": Visibility.PUBLIC}
        buyer = await running.register("MyBiz/Buyer")
        front = await running.register("Transmatics/Front", **public)
        worker = await running.register("Transmatics/Worker", **public)
        supply = await running.register("Acme/Supply", **public)
        owner = await running.enroll("owner@transmatics.example", organization="Transmatics")
        for caller in (front, worker, supply):
            assert caller.service is not None
        include = Action(kind=ActionKind.ADD_SERVICE_BEFORE, service="Transmatics/Worker", isolates=True)
        rule = Rule(
            service=front.service.gcid, name="r", place=1, role=RuleRole.IN_TRANSIT, when=ALWAYS, then=(include,)
        )
        await network.configuration.change("test", [saving(rule)])
        message = Message(
            to=(Recipient("Acme/Supply"),), route=(Recipient("Transmatics/Front"),), parts=(ORDER,),
            type=MessageType.NOTIFICATION,
        )  # fmt: skip
        posted = await network.post(buyer, message)
        [delivered] = await network.poll(worker, PollRequest())
        assert delivered.sender == "Transmatics/Front"
        told: list[object] = [
            await history(network, worker, delivered.session),
            await stored(network, worker, delivered.session),
        ]
        rows = (await browse(network, worker, Wish(box="received"))).rows
        told += [summary("received", row, network.directory) for row in rows]
        text = b" ".join(msgspec.json.encode(one, enc_hook=str) for one in told).decode()
        for word in ("MyBiz", "Buyer", "Acme", "Supply", posted.session):
            assert word not in text, f"{word!r} is told: {text}"
        for read in (history, stored):
            with pytest.raises(Refused, match="not-found"):
                await read(network, worker, posted.session)
        whole = await history(network, owner, posted.session)  # a person of the organization sees all of its services
        assert [stop.service for stop in whole.messages[0].copies[0].stops] == ["Transmatics/Worker"]
        assert whole.messages[0].sender == "MyBiz/Buyer"
