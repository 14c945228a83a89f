"""A service that is isolated by a service of its own organization learns no more of the wider route than any other."""

from __future__ import annotations

import msgspec
import pytest

from postroad.api.resources.message_views import summary
from postroad.core.model.directory import Visibility
from postroad.errors import Refused
from postroad.flow.administration.messages.explanations import explain_stored
from postroad.flow.administration.messages.message_list import MessageSearch, browse, load_history
from postroad.testing import Scenario

BUYER, FRONT, WORKER, SUPPLY = "MyBiz/Buyer", "Transmatics/Front", "Transmatics/Worker", "Acme/Supply"


@pytest.mark.req("R12")
async def test_a_service_isolated_by_its_own_organization_reads_neither_sender_nor_recipient() -> None:
    async with Scenario() as scenario:
        await scenario.service(BUYER, visibility=Visibility.PRIVATE)
        for address in (FRONT, WORKER, SUPPLY):
            await scenario.service(address)
        owner = await scenario.person("owner@transmatics.example", "Transmatics")
        await scenario.rule(FRONT, {"addServiceBefore": WORKER, "isolate": True}, role="inTransit")
        posted = await scenario.post(BUYER, SUPPLY, "an order", route=[FRONT])
        delivered = await scenario.receive(WORKER)
        assert delivered.sender == FRONT
        network, worker = scenario.network, scenario.caller(WORKER)
        told: list[object] = [
            await load_history(network, worker, delivered.session),
            await explain_stored(network, worker, delivered.session),
        ]
        rows = (await browse(network, worker, MessageSearch(box="received"))).rows
        told += [summary("received", row, network.directory) for row in rows]
        text = b" ".join(msgspec.json.encode(one, enc_hook=str) for one in told).decode()
        for word in ("MyBiz", "Buyer", "Acme", "Supply", posted.session):
            assert word not in text, f"{word!r} is named: {text}"
        for read in (load_history, explain_stored):
            with pytest.raises(Refused, match="not-found"):
                await read(network, worker, posted.session)
        whole = await load_history(network, owner, posted.session)  # a person sees all services of the organization
        assert [stop.service for stop in whole.messages[0].copies[0].stops] == [WORKER]
        assert whole.messages[0].sender == BUYER
