"""A network in memory in which every service is played by the test, one step at a time.

Services are called by one word; whoever is named is made on first use. A service does nothing until the test lets it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from postroad.adapters.system import SystemClock
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Visibility
from postroad.core.model.history import CopyHistory
from postroad.core.model.message import (
    Delivered,
    Message,
    MessageType,
    Part,
    PostResult,
    Property,
    Recipient,
    Status,
)
from postroad.core.model.polling import Outcome, PollRequest, Settlement
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
from postroad.core.model.snapshot import object_key
from postroad.flow.registries.configuration import DirectoryChange, build_save
from postroad.testing.network import MemoryNetwork, memory_network

ALWAYS = ValueComparison(operator=Comparing.EXISTS, place=ValueLocation(where=MessageSection.HEADER, path="type"))
BROKEN = Status("broken", "cannot do this")


class Hourglass:
    """The machine's clock, which can be turned ahead."""

    def __init__(self) -> None:
        self._system = SystemClock()
        self.ahead_s = 0.0

    def now_us(self) -> int:
        return self._system.now_us() + int(self.ahead_s * 1_000_000)

    def monotonic(self) -> float:
        return self._system.monotonic() + self.ahead_s


class Town:
    def __init__(self, running: MemoryNetwork, clock: Hourglass) -> None:
        self.network, self.clock = running.network, clock
        self._running = running
        self._callers: dict[str, Caller] = {}
        self._rules = 0

    # ---- who is there

    async def service(self, name: str, **profile: Any) -> Caller:
        if name not in self._callers:
            profile.setdefault("visibility", Visibility.PUBLIC)
            self._callers[name] = await self._running.register(f"Town/{name}", **profile)
        return self._callers[name]

    async def stranger(self, address: str, **profile: Any) -> Caller:
        """A service of another organization."""
        return await self._running.register(address, **profile)

    async def rule(
        self, owner: str, *then: RuleAction, when: Condition = ALWAYS, role: RuleRole = RuleRole.ANY
    ) -> None:
        """Rules are tried in the order in which they are made."""
        service = (await self.service(owner)).service
        assert service is not None
        self._rules += 1
        rule = Rule(
            service=service.gcid, name=f"rule {self._rules}", place=self._rules, role=role, when=when, then=then
        )
        for action in then:
            if action.service and not action.service.endswith("/Nobody"):
                await self.service(action.service.removeprefix("Town/"))
        await self.network.configuration.change("test", [build_save(rule)])

    async def remove(self, name: str) -> None:
        """The service is no longer there."""
        service = (await self.service(name)).service
        kind, key = object_key(service)
        await self.network.configuration.change("test", [DirectoryChange(kind=kind, key=key, value=None)])

    # ---- what they do

    async def post(
        self, *to: str, sender: str = "Sender", slip: tuple[str, ...] = (), data: bytes = b"", **fields: Any
    ) -> PostResult:
        """A request, unless another type is given, with one document."""
        for name in (*to, *slip):
            if name != "Nobody":
                await self.service(name)
        message = {
            "to": tuple(Recipient(f"Town/{name}") for name in to),
            "route": tuple(Recipient(f"Town/{name}") for name in slip),
            "type": MessageType.REQUEST,
            "parts": (document(data),) if data else (),
        }
        return await self.network.post(await self.service(sender), Message(**message | fields))

    async def waiting(self, name: str) -> list[Delivered]:
        return await self.waiting_for(await self.service(name))

    async def waiting_for(self, caller: Caller) -> list[Delivered]:
        return await self.network.poll(caller, PollRequest())

    async def next(self, name: str) -> Delivered:
        """What the service gets next: exactly one message is waiting for it."""
        [delivered] = await self.waiting(name)
        return delivered

    async def take(self, name: str) -> list[Delivered]:
        """The service gets all that is waiting for it, for good."""
        taken = await self.waiting(name)
        tokens = tuple(each.token for each in taken)
        await self.network.settle(await self.service(name), Settlement(tokens=tokens))
        return taken

    async def answer(
        self,
        delivered: Delivered,
        data: bytes = b"",
        *,
        status: Status | None = None,
        properties: tuple[Property, ...] = (),
    ) -> None:
        """Answer: with the changed message in transit, with the response as its recipient."""
        message = Message(
            type=MessageType.RESPONSE,
            reference=delivered.token,
            status=status,
            parts=(document(data),) if data else (),
            properties=properties,
        )
        await self.network.post(await self.service(delivered.recipient.removeprefix("Town/")), message)

    async def pass_on(self, name: str, data: bytes = b"", *properties: Property) -> Delivered:
        """The service gets its message and sends it on, changed where ``data`` is given; returns what it got."""
        delivered = await self.next(name)
        assert delivered.in_transit
        await self.answer(delivered, data, properties=properties)
        return delivered

    async def fail(self, name: str, status: Status = BROKEN) -> Delivered:
        delivered = await self.next(name)
        await self.answer(delivered, status=status)
        return delivered

    async def give_back(self, delivered: Delivered) -> None:
        caller = await self.service(delivered.recipient.removeprefix("Town/"))
        await self.network.settle(caller, Settlement(tokens=(delivered.token,), outcome=Outcome.NACK))

    async def later(self, seconds: float) -> None:
        """Time passes, and what is due expires."""
        self.clock.ahead_s += seconds
        await self.network.expiry.expire_due()

    # ---- what can be seen of it

    async def copies(self, posted: PostResult) -> list[CopyHistory]:
        history = await self.network.trace(posted.session, None)
        assert history is not None
        [message] = [each for each in history.messages if each.session == posted.session]
        return message.copies

    async def state(self, posted: PostResult, copy: int = 0) -> str:
        return (await self.copies(posted))[copy].state

    async def passed(self, posted: PostResult, copy: int = 0) -> list[str]:
        """The services that the copy came to, in order."""
        stops = (await self.copies(posted))[copy].stops
        return [stop.service.removeprefix("Town/") for stop in stops]


def document(data: bytes) -> Part:
    return Part(id="1", content_type="application/json" if data.startswith(b"{") else "text/plain", data=data)


def body(delivered: Delivered) -> bytes:
    return b"".join(part.data for part in delivered.parts)


def add(name: str, **given: Any) -> RuleAction:
    return RuleAction(kind=ActionKind.ADD_SERVICE, service=f"Town/{name}", **given)


def add_after(name: str, **given: Any) -> RuleAction:
    return RuleAction(kind=ActionKind.ADD_SERVICE_AFTER, service=f"Town/{name}", **given)


def redirect(name: str, **given: Any) -> RuleAction:
    return RuleAction(kind=ActionKind.REDIRECT, service=f"Town/{name}", **given)


def property_is(name: str, value: str) -> ValueComparison:
    return ValueComparison(
        operator=Comparing.EQUALS,
        place=ValueLocation(where=MessageSection.HEADER, path=f"properties.{name}"),
        values=(value,),
    )


def property_names(name: str, word: str) -> ValueComparison:
    """The property is a list in which the word stands."""
    return ValueComparison(
        operator=Comparing.MATCHES,
        place=ValueLocation(where=MessageSection.HEADER, path=f"properties.{name}"),
        values=(rf"\b{word}\b",),
    )


def body_says(path: str, value: str) -> ValueComparison:
    return ValueComparison(
        operator=Comparing.EQUALS, place=ValueLocation(where=MessageSection.BODY, path=path), values=(value,)
    )


@asynccontextmanager
async def open_town() -> AsyncIterator[Town]:
    clock = Hourglass()
    async with memory_network(clock) as running:
        yield Town(running, clock)
