"""What a message costs whoever reads of it: everybody is told its own part of the price."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal

import pytest

from postroad.core.model.billing import PriceShares, Rate, Tariff, Tier
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Person, Visibility
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.core.model.polling import PollRequest
from postroad.errors import Refused
from postroad.flow.administration.messages.costs import quote_costs
from postroad.flow.registries.configuration import build_save
from postroad.testing.network import MemoryNetwork, memory_network

PUBLIC = {"visibility": Visibility.PUBLIC}
OPERATOR = Caller(person=Person(email="op@network.example", operator=True))
PRICE = (Tier(price=Decimal("0.10")),)
TARIFF = Tariff(
    name="standard",
    valid_from="1970-01",
    currency="EUR",
    message=Rate(per_message=PRICE, shares=PriceShares(originator=60, recipient=40)),
    invocation=Rate(per_message=PRICE, vendor_percent=50),
)
PARTS = (Part(id="order", content_type="text/plain", data=b"an order"),)


@pytest.fixture
async def running() -> AsyncIterator[MemoryNetwork]:
    async with memory_network() as network:
        yield network


@pytest.mark.req("P3")
async def test_everybody_is_told_its_own_part_of_the_price(running: MemoryNetwork) -> None:
    sender = await running.register("MyBiz/Out")
    stamp, acme, stranger = [await running.register(name, **PUBLIC) for name in ("Stamps/In", "Acme/In", "Other/In")]
    network = running.network
    posted = Message(to=(Recipient("Acme/In"),), route=(Recipient("Stamps/In"),), parts=PARTS)
    session = (await network.post(sender, posted)).session
    assert await quote_costs(network, sender, session) == []
    await network.configuration.change("test", [build_save(TARIFF)])
    [delivered] = await network.poll(stamp, PollRequest(max=1))
    await network.post(stamp, Message(type=MessageType.RESPONSE, reference=delivered.token))

    async def told(caller: Caller) -> list[tuple[str, str, int]]:
        return [(one.organization, one.part.value, one.micros) for one in await quote_costs(network, caller, session)]

    assert await told(sender) == [("MyBiz", "originator", 60_000), ("MyBiz", "originator", 100_000)]
    assert await told(acme) == [("Acme", "recipient", 40_000)]
    assert await told(stamp) == [("Stamps", "vendor", -50_000)]
    assert len(await told(OPERATOR)) == 4
    with pytest.raises(Refused):
        await told(stranger)
