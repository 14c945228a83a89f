"""A scenario for tests of routes: services of one organization, each named by one word and added on first use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.message import Delivered, MessageType, Part, PostResult, Property, Status
from postroad.core.model.rule import (
    ActionKind,
    Comparing,
    Condition,
    MessageSection,
    Rule,
    RuleAction,
    RuleRole,
    ValueComparison,
    ValueLocation,
)
from postroad.testing import Scenario, make_part
from postroad.testing.scenario import Who

ALWAYS = ValueComparison(operator=Comparing.EXISTS, place=ValueLocation(where=MessageSection.HEADER, path="type"))
BROKEN = Status("broken", "cannot do this")
ORGANIZATION = "Acme"
UNKNOWN = "Nobody"  # never added


class RoutingScenario(Scenario):
    """Names without a slash are services of ``Acme``."""

    async def service(self, address: str, **profile: Any) -> Caller:
        if profile or self.network.directory.service(full(address)) is None:
            return await super().service(full(address), **profile)
        return self.caller(address)

    async def _add(self, *names: Who) -> None:
        for name in names:
            if isinstance(name, str) and name.rpartition("/")[2] != UNKNOWN:
                await self.service(name)

    def profile(self, address: str) -> Service:
        return super().profile(full(address))

    def caller(self, who: Who) -> Caller:
        return super().caller(full(who) if isinstance(who, str) else who)

    async def rule(
        self,
        owner: str,
        *then: RuleAction | Mapping[str, object],
        when: Condition | Mapping[str, object] | str = ALWAYS,
        role: RuleRole | str = RuleRole.ANY,
    ) -> Rule:
        await self._add(
            owner, *(action.service for action in then if isinstance(action, RuleAction) and action.service)
        )
        return await super().rule(owner, *then, when=when, role=role)

    async def request(
        self, *to: str, sender: str = "Sender", slip: tuple[str, ...] = (), data: bytes = b"", **fields: Any
    ) -> PostResult:
        """Post a request with one document along a routing slip."""
        await self._add(sender, *to, *slip)
        message = {"type": MessageType.REQUEST, "parts": (document(data),) if data else ()}
        route = [full(name) for name in slip]
        return await self.post(sender, [full(name) for name in to], route=route, **message | fields)

    async def poll(self, service: Who, **request: Any) -> list[Delivered]:
        await self._add(service)
        return await super().poll(service, **request)

    async def pass_on(self, name: str, data: bytes = b"", *properties: Property) -> Delivered:
        """Let a service receive its message and pass it on, changed if ``data`` is given; returns what it received."""
        delivered = await self.receive(name)
        assert delivered.in_transit
        await self.respond(delivered, data or None, properties=properties)
        return delivered

    async def refuse(self, name: str, status: Status = BROKEN) -> Delivered:
        """Let a service respond to its message with an error; returns what it received."""
        delivered = await self.receive(name)
        await self.respond(delivered, status=status)
        return delivered

    async def state(self, posted: PostResult, copy: int = 0) -> str:
        return (await self.copies(posted))[copy].state

    async def passed(self, posted: PostResult, copy: int = 0) -> list[str]:
        """Return the names of the services that a copy reached, in order."""
        return [stop.service.removeprefix(f"{ORGANIZATION}/") for stop in await self.stops(posted, copy)]


def full(name: str) -> str:
    return name if "/" in name or "@" in name else f"{ORGANIZATION}/{name}"


def document(data: bytes) -> Part:
    return make_part(data)


def body(delivered: Delivered) -> bytes:
    return b"".join(part.data for part in delivered.parts)


def add(name: str, **options: Any) -> RuleAction:
    return RuleAction(kind=ActionKind.ADD_SERVICE, service=full(name), **options)


def add_after(name: str, **options: Any) -> RuleAction:
    return RuleAction(kind=ActionKind.ADD_SERVICE_AFTER, service=full(name), **options)


def redirect(name: str, **options: Any) -> RuleAction:
    return RuleAction(kind=ActionKind.REDIRECT, service=full(name), **options)


def property_is(name: str, value: str) -> ValueComparison:
    return ValueComparison(
        operator=Comparing.EQUALS,
        place=ValueLocation(where=MessageSection.HEADER, path=f"properties.{name}"),
        values=(value,),
    )


def property_lists(name: str, word: str) -> ValueComparison:
    """Whether the property, a list of words, has this word."""
    return ValueComparison(
        operator=Comparing.MATCHES,
        place=ValueLocation(where=MessageSection.HEADER, path=f"properties.{name}"),
        values=(rf"\b{word}\b",),
    )


def body_has(path: str, value: str) -> ValueComparison:
    return ValueComparison(
        operator=Comparing.EQUALS, place=ValueLocation(where=MessageSection.BODY, path=path), values=(value,)
    )
