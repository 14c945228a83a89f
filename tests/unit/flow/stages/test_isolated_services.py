"""A service that is isolated by a service of its own organization learns no more of the wider route than any other."""

from __future__ import annotations

import msgspec
import pytest

from postroad.api.resources.message_views import summary
from postroad.core.model.directory import Visibility
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.core.model.polling import PollRequest
from postroad.core.model.rule import (
    ActionKind,
    Comparing,
    MessageSection,
    Rule,
    RuleAction,
    RuleRole,
    ValueComparison,
    ValueLocation,
)
from postroad.errors import Refused
from postroad.flow.administration.messages.explanations import explain_stored
from postroad.flow.administration.messages.message_list import MessageSearch, browse, load_history
from postroad.flow.registries.configuration import build_save
from postroad.testing.network import memory_network

ALWAYS = ValueComparison(
    operator=Comparing.EXISTS, place=ValueLocation(where=MessageSection.HEADER, path="type"), values=()
)
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
        assert front.service is not None
        assert worker.service is not None
        assert supply.service is not None
        include = RuleAction(kind=ActionKind.ADD_SERVICE_BEFORE, service="Transmatics/Worker", isolates=True)
        rule = Rule(
            service=front.service.gcid, name="r", place=1, role=RuleRole.IN_TRANSIT, when=ALWAYS, then=(include,)
        )
        await network.configuration.change("test", [build_save(rule)])
        message = Message(
            to=(Recipient("Acme/Supply"),), route=(Recipient("Transmatics/Front"),), parts=(ORDER,),
            type=MessageType.NOTIFICATION,
        )  # fmt: skip
        posted = await network.post(buyer, message)
        [delivered] = await network.poll(worker, PollRequest())
        assert delivered.sender == "Transmatics/Front"
        told: list[object] = [
            await load_history(network, worker, delivered.session),
            await explain_stored(network, worker, delivered.session),
        ]
        rows = (await browse(network, worker, MessageSearch(box="received"))).rows
        told += [summary("received", row, network.directory) for row in rows]
        text = b" ".join(msgspec.json.encode(one, enc_hook=str) for one in told).decode()
        for word in ("MyBiz", "Buyer", "Acme", "Supply", posted.session):
            assert word not in text, f"{word!r} is told: {text}"
        for read in (load_history, explain_stored):
            with pytest.raises(Refused, match="not-found"):
                await read(network, worker, posted.session)
        whole = await load_history(
            network, owner, posted.session
        )  # a person of the organization sees all of its services
        assert [stop.service for stop in whole.messages[0].copies[0].stops] == ["Transmatics/Worker"]
        assert whole.messages[0].sender == "MyBiz/Buyer"
