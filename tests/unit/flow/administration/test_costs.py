"""What a message costs whoever reads of it: everybody is told its own part of the price."""

from __future__ import annotations

from decimal import Decimal

import pytest

from postroad.core.model.billing import PriceShares, Rate, Tariff, Tier
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Person
from postroad.flow.administration.messages.costs import quote_costs
from postroad.testing import Scenario

OPERATOR = Caller(person=Person(email="op@network.example", operator=True))
PRICE = (Tier(price=Decimal("0.10")),)
TARIFF = Tariff(
    name="standard",
    valid_from="1970-01",
    currency="EUR",
    message=Rate(per_message=PRICE, shares=PriceShares(originator=60, recipient=40)),
    invocation=Rate(per_message=PRICE, vendor_percent=50),
)


@pytest.mark.req("P3")
async def test_everybody_is_told_its_own_part_of_the_price() -> None:
    async with Scenario() as scenario:
        sender, stamp, acme, stranger = [
            await scenario.service(name) for name in ("MyBiz/Out", "Stamps/In", "Acme/In", "Other/In")
        ]
        network = scenario.network
        session = (await scenario.post("MyBiz/Out", to="Acme/In", route="Stamps/In", document="an order")).session
        assert await quote_costs(network, sender, session) == []
        await scenario.save(TARIFF)
        await scenario.respond(await scenario.receive("Stamps/In"))

        async def told(caller: Caller) -> list[tuple[str, str, int]]:
            return [
                (one.organization, one.part.value, one.micros) for one in await quote_costs(network, caller, session)
            ]

        assert await told(sender) == [("MyBiz", "originator", 60_000), ("MyBiz", "originator", 100_000)]
        assert await told(acme) == [("Acme", "recipient", 40_000)]
        assert await told(stamp) == [("Stamps", "vendor", -50_000)]
        assert len(await told(OPERATOR)) == 4
        await scenario.refusal(told(stranger))
