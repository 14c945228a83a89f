"""Every way in which a service can get on a route, on a network in memory, for what must hold on all of them.

MyBiz/Buyer sends to Acme/Supply. Transmatics/Work is the service that gets on the route; Transmatics/First only stands before it
where that takes a message that is on its way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel, Routing, Service, Visibility
from postroad.core.model.message import Delivered, Message, MessageType, Recipient, Status
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
from postroad.flow.registries.configuration import build_save
from postroad.testing.network import MemoryNetwork, memory_network

ALWAYS = ValueComparison(
    operator=Comparing.EQUALS, place=ValueLocation(where=MessageSection.HEADER, path="topic"), values=("orders",)
)
BUYER, SUPPLY, WORK, FIRST = "MyBiz/Buyer", "Acme/Supply", "Transmatics/Work", "Transmatics/First"


class Town:
    def __init__(self, running: MemoryNetwork) -> None:
        self.running, self.network = running, running.network

    def service(self, address: str) -> Service:
        found = self.network.directory.service(address)
        assert found is not None
        return found

    def caller(self, address: str) -> Caller:
        """The service over the safest connection there is."""
        return Caller(service=self.service(address), level=AuthenticationLevel.CERTIFICATE, secure=True)

    async def change(self, address: str, **profile: object) -> None:
        changed = replace(self.service(address), **profile)  # type: ignore[arg-type]
        await self.network.configuration.change("test", [build_save(changed)])

    async def rule(self, owner: str, role: RuleRole, kind: ActionKind, *, isolates: bool = False) -> None:
        """Have the owner bring Work in, whatever the message."""
        action = RuleAction(kind=kind, service=WORK, isolates=isolates)
        rule = Rule(service=self.service(owner).gcid, name="r", place=1, role=role, when=ALWAYS, then=(action,))
        await self.network.configuration.change("test", [build_save(rule)])

    async def post(self, to: str = SUPPLY, *route: str, by: str = BUYER) -> Refused | None:
        """What the poster is told is wrong, if anything is."""
        message = Message(
            to=(Recipient(to),),
            type=MessageType.REQUEST,
            topic="orders",
            route=tuple(Recipient(stop) for stop in route),
        )
        try:
            await self.network.post(self.caller(by), message)
        except Refused as refusal:
            return refusal
        return None

    async def poll(self, address: str) -> list[Delivered]:
        return await self.network.poll(self.caller(address), PollRequest(max=100))

    async def answer(self, address: str) -> Refused | None:
        """Have the service answer what it is given."""
        [delivered] = await self.poll(address)
        response = Message(type=MessageType.RESPONSE, reference=delivered.token, topic="orders")
        try:
            await self.network.post(self.caller(address), response)
        except Refused as refusal:
            return refusal
        return None

    async def told(self, address: str = BUYER) -> Status | None:
        """The status of the response that waits for the service."""
        waiting = await self.poll(address)
        return waiting[0].status if waiting else None


Way = Callable[[Town], Awaitable[Refused | None]]


async def as_recipient(town: Town) -> Refused | None:
    return await town.post(WORK)


async def in_an_explicit_route(town: Town) -> Refused | None:
    return await town.post(SUPPLY, WORK)


async def by_the_senders_rule(town: Town) -> Refused | None:
    await town.rule(BUYER, RuleRole.SENDER, ActionKind.ADD_SERVICE)
    return await town.post()


async def by_the_recipients_rule(town: Town) -> Refused | None:
    await town.rule(SUPPLY, RuleRole.RECIPIENT, ActionKind.ADD_SERVICE_BEFORE)
    return await town.post()


async def by_redirect(town: Town) -> Refused | None:
    await town.rule(SUPPLY, RuleRole.RECIPIENT, ActionKind.REDIRECT)
    return await town.post()


async def by_a_dynamic_rule_at_once(town: Town) -> Refused | None:
    await town.change(SUPPLY, routing=Routing.DYNAMIC)
    return await by_the_recipients_rule(town)


async def by_a_dynamic_rule_on_the_way(town: Town) -> Refused | None:
    """The rule is tried when First has answered, and its sender is told by a response."""
    await town.change(SUPPLY, routing=Routing.DYNAMIC)
    await town.rule(SUPPLY, RuleRole.RECIPIENT, ActionKind.ADD_SERVICE_BEFORE)
    assert await town.post(SUPPLY, FIRST) is None
    assert await town.answer(FIRST) is None
    status = await town.told()
    return Refused(status.code, status.text) if status is not None else None


async def by_a_rule_on_the_way_back(town: Town) -> Refused | None:
    await town.rule(BUYER, RuleRole.RECIPIENT, ActionKind.ADD_SERVICE_BEFORE)
    assert await town.post() is None
    return await town.answer(SUPPLY)


WAYS: tuple[Way, ...] = (
    as_recipient,
    in_an_explicit_route,
    by_the_senders_rule,
    by_the_recipients_rule,
    by_redirect,
    by_a_dynamic_rule_at_once,
    by_a_dynamic_rule_on_the_way,
    by_a_rule_on_the_way_back,
)


@asynccontextmanager
async def town(**supply: object) -> AsyncIterator[Town]:
    """The network; Acme/Supply with this profile."""
    async with memory_network() as running:
        public = {"visibility": Visibility.PUBLIC}
        for address in (BUYER, WORK, FIRST):
            await running.register(address, **public)
        await running.register(SUPPLY, **public | supply)
        yield Town(running)
