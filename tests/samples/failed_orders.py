"""A scenario with orders that fail: a buyer, a seller, and the people who may see their dead letters, or may not."""

from __future__ import annotations

from typing import Any, Self

from postroad.core.delivery.reasons import make_reason
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Accepts, Role
from postroad.core.model.reason import Reason
from postroad.testing import Scenario

BUYER, SELLER = "MyBiz/Purchasing", "Acme/Supply"
PEOPLE = {
    "buyer": "dev@mybiz.example",
    "viewer": "viewer@mybiz.example",
    "seller": "owner@acme.example",
    "stranger": "owner@other.example",
    "operator": "ops@network.example",
}
WHY = make_reason("push.server-error", status=503, tries=9)


class FailedOrders(Scenario):
    async def __aenter__(self) -> Self:
        await super().__aenter__()
        await self.service(BUYER)
        await self.service(SELLER, accepts=Accepts.ANYONE)
        await self.person(PEOPLE["buyer"], "MyBiz", Role.DEVELOPER)
        await self.person(PEOPLE["viewer"], "MyBiz", Role.VIEWER)
        await self.person(PEOPLE["seller"], "Acme")
        await self.person(PEOPLE["stranger"], "Other")
        await self.person(PEOPLE["operator"], operator=True)
        return self

    def who(self, name: str) -> Caller:
        """Return one of ``PEOPLE``."""
        return self.caller(PEOPLE[name])

    async def post_order(self, **header: Any) -> str:
        return (await self.post(BUYER, SELLER, "hello", **header)).session

    async def fail_order(self, why: Reason = WHY, **header: Any) -> int:
        """Return the number of a new dead letter at the seller."""
        await self.post_order(**header)
        return await self.fail(await self.receive(SELLER), why)

    async def listed(self, who: str, **search: Any) -> list[int]:
        return [letter.id for letter in await self.dead_letters(PEOPLE[who], **search)]
