"""A network for one test: create organizations and services, let them act, and inspect what the network records.

    async with Scenario() as scenario:
        await scenario.service("Acme/Orders")
        await scenario.service("Globex/Invoices")
        request = await scenario.post("Acme/Orders", to="Globex/Invoices", type=MessageType.REQUEST, document="<order/>")
        await scenario.respond(await scenario.receive("Globex/Invoices"), "<invoice/>")
        assert (await scenario.receive("Acme/Orders")).parts[0].data == b"<invoice/>"
        assert await scenario.states(request) == ["delivered"]

It runs the stages of a real network in memory, on a clock that the test advances. Services are named by address, people
by e-mail address; a ``Caller`` is accepted in place of either, for example one with other credentials.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from typing import Any, Self, TypeVar

from postroad.core.configuration.entries.rules import ALWAYS, ALWAYS_WRITTEN, ActionEntry, ConditionEntry
from postroad.core.delivery.reasons import make_reason
from postroad.core.model.asset import Asset, AssetKind
from postroad.core.model.caller import Caller
from postroad.core.model.directory import (
    AuthenticationLevel,
    DeliveryMode,
    Push,
    PushAuthentication,
    Role,
    Service,
    Visibility,
)
from postroad.core.model.exchange import Binding
from postroad.core.model.history import CopyHistory, History, Stop
from postroad.core.model.journal import Entry, decode
from postroad.core.model.message import Delivered, MessageType, PostResult
from postroad.core.model.polling import Outcome, PollRequest, Settlement, SettlementResult
from postroad.core.model.reason import Reason
from postroad.core.model.rule import Condition, Rule, RuleAction, RuleRole
from postroad.core.routing.explain.explanation import RouteExplanation
from postroad.core.visibility.redact_dead_letter import DeadLetterView
from postroad.errors import Refused
from postroad.flow.administration import dead_letters
from postroad.flow.administration.base import Administration, build_removal
from postroad.flow.network import Network
from postroad.flow.push.slots import PushCapacity
from postroad.flow.push.stage import PushStage
from postroad.flow.registries.configuration import build_save
from postroad.ports import Randomness
from postroad.services.engines import Engines
from postroad.services.hosting.hosted_services import run_hosted_services
from postroad.testing.clocks import ManualClock, ShiftedClock
from postroad.testing.compose import Destination, compose
from postroad.testing.network import MemoryNetwork, MemoryStorage, memory_network
from postroad.testing.push_receivers import MemorySecrets, PushReceivers, push_url
from postroad.testing.simulation.virtual_time import VirtualClock

E = TypeVar("E", bound=Entry)
ScenarioClock = ManualClock | ShiftedClock | VirtualClock
Who = str | Caller
Session = str | PostResult | Delivered  # a message: its session, the result of its post, or the received message
FAILED = make_reason("push.server-error", status=503, tries=9)
BY = "scenario"  # who changes the directory


class Scenario:
    """A network in memory that one test sets up, uses and inspects."""

    def __init__(
        self,
        *,
        clock: ScenarioClock | None = None,
        storage: MemoryStorage | None = None,
        randomness: Randomness | None = None,
        engines: Engines | None = None,
        pushes: bool = True,
        push_capacity: PushCapacity | None = None,
    ) -> None:
        """``engines``: run hosted services with these. ``pushes``: push to services whose delivery mode asks for it."""
        self.clock = clock or ShiftedClock()
        self.storage = storage or MemoryStorage()
        self.receivers = PushReceivers(self.clock)
        self.secrets = MemorySecrets()
        self.running: MemoryNetwork
        self.administration: Administration
        self._randomness, self._engines = randomness, engines
        self._pushes, self._push_capacity = pushes, push_capacity
        self._callers: dict[str, Caller] = {}
        self._open = AsyncExitStack()
        self._rules = 0

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def open(self) -> None:
        """Start the network over what is stored; ``async with`` does it."""
        async with AsyncExitStack() as opening:
            self.running = await opening.enter_async_context(self.start_network())
            self.administration = Administration(self.network, self.running.passwords)
            if self._engines is not None:
                await opening.enter_async_context(run_hosted_services(self.network, self._engines))
            if self._pushes:
                stage = PushStage(self.network, self.receivers, self.secrets, capacity=self._push_capacity)
                stage.start()
                opening.push_async_callback(stage.close)
            self._open = opening.pop_all()

    async def close(self) -> None:
        """Stop the network; what is stored remains."""
        await self._open.aclose()

    async def restart(self) -> None:
        """Stop the network and start it over its journal; everything else is lost, the index too."""
        await self.close()
        self.storage = MemoryStorage(journal=self.storage.journal)
        await self.open()

    def start_network(self) -> AbstractAsyncContextManager[MemoryNetwork]:
        """Return the network to run; for scenarios over other adapters."""
        return memory_network(self.clock, storage=self.storage, randomness=self._randomness)

    @property
    def network(self) -> Network:
        return self.running.network

    # ---- who takes part

    async def service(self, address: str, **profile: Any) -> Caller:
        """Add a service, and its organization where needed; it is public unless its profile says otherwise."""
        profile.setdefault("visibility", Visibility.PUBLIC)
        self._callers[address] = await self.running.register(address, **profile)
        return self._callers[address]

    async def pushed_service(self, address: str, *, push: Mapping[str, Any] | None = None, **profile: Any) -> Caller:
        """Add a service that is pushed to; its server is in ``receivers``, under the service's address."""
        options = {"url": push_url(address), "authentication": PushAuthentication.NONE, **(push or {})}
        return await self.service(address, delivery=DeliveryMode.PUSH, push=Push(**options), **profile)

    async def person(
        self, email: str, organization: str = "", role: Role = Role.OWNER, *, operator: bool = False
    ) -> Caller:
        """Add a person, and their organization where needed."""
        return await self.running.enroll(email, organization=organization, role=role, operator=operator)

    async def save(self, *objects: Any) -> None:
        """Add or change directory objects: organizations, rules, credentials …"""
        await self.network.configuration.change(BY, [build_save(item) for item in objects])

    async def remove(self, *objects: Any) -> None:
        """Remove directory objects; services may be named by address."""
        found = [self.profile(item) if isinstance(item, str) else item for item in objects]
        await self.network.configuration.change(BY, [build_removal(item) for item in found])

    async def change(self, address: str, **fields: Any) -> Caller:
        """Change fields of a service's profile; returns the caller with the new profile."""
        await self.save(replace(self.profile(address), **fields))
        return self.caller(address)

    async def rule(
        self,
        owner: str,
        *then: RuleAction | Mapping[str, object],
        when: Condition | Mapping[str, object] | str = ALWAYS,
        role: RuleRole | str = RuleRole.ANY,
    ) -> Rule:
        """Add a rule of a service; actions and condition may be written as in a document. Earlier rules come first."""
        actions = [each if isinstance(each, RuleAction) else ActionEntry.model_validate(each).action() for each in then]
        if isinstance(when, (str, Mapping)):
            when = ConditionEntry.model_validate(ALWAYS_WRITTEN if when == ALWAYS else when).condition()
        self._rules += 1
        rule = Rule(
            service=self.gcid(owner),
            name=f"rule {self._rules}",
            place=self._rules,
            role=RuleRole(role),
            when=when,
            then=tuple(actions),
        )
        await self.save(rule)
        return rule

    async def bind(self, exchange: str, queue: str, name: str = "", **options: Any) -> Binding:
        """Bind a service to an exchange: by ``routing_key``, ``query``, ``script`` or ``routing``."""
        binding = Binding(
            exchange=self.gcid(exchange), name=name or queue.rpartition("/")[2], queue=self.gcid(queue), **options
        )
        await self.save(binding)
        return binding

    async def asset(self, address: str, kind: AssetKind, name: str, content: str) -> None:
        """Register an asset of a service: a stylesheet, a table, a schema …"""
        await self.save(Asset(service=self.gcid(address), kind=kind, name=name, content=content))

    def profile(self, address: str) -> Service:
        """Return a service as it is in the directory now."""
        found = self.network.directory.service(address)
        assert found is not None, f"there is no service {address}"
        return found

    def gcid(self, address: str) -> str:
        """Return the GCID of a service, also of one that the scenario added and removed."""
        service = self.caller(address).service
        assert service is not None, f"{address} is a person"
        return service.gcid

    def caller(self, who: Who) -> Caller:
        """Return the caller of an address or e-mail address, with its profile as it is now."""
        if isinstance(who, Caller):
            return who
        if "@" in who:
            person = self.network.directory.person(who)
            assert person is not None, f"there is no person {who}"
            return Caller(person=person, level=AuthenticationLevel.KEY)
        service = self.network.directory.service(who)
        if service is None and who in self._callers:
            return self._callers[who]  # removed meanwhile
        return Caller(service=service or self.profile(who), level=AuthenticationLevel.KEY)

    # ---- what they do

    async def post(
        self,
        sender: Who,
        to: Destination | Sequence[Destination] = (),
        document: bytes | str | None = None,
        *,
        idempotency: str = "",
        **header: Any,
    ) -> PostResult:
        """Post a message: a notification unless ``type`` says otherwise; ``header`` has the other fields of ``Message``."""
        message = compose(to, document, **header)
        size = sum(len(part.data) for part in message.parts)
        return await self.network.post(self.caller(sender), message, size=size, idempotency=idempotency)

    async def poll(self, service: Who, **request: Any) -> list[Delivered]:
        """Return what waits for a service; ``request`` has the fields of ``PollRequest``."""
        return await self.network.poll(self.caller(service), PollRequest(**{"max": 100, **request}))

    async def receive(self, service: Who, **request: Any) -> Delivered:
        """Return the one message that waits for a service; it is an error if there are none or several."""
        found = await self.poll(service, **request)
        assert len(found) == 1, f"{len(found)} messages wait for {service}, not one"
        return found[0]

    async def take(self, service: Who, **request: Any) -> list[Delivered]:
        """Return what waits for a service, and acknowledge it."""
        found = await self.poll(service, **request)
        if found:
            await self.acknowledge(*found, by=service)
        return found

    async def acknowledge(self, *delivered: Delivered, by: Who | None = None) -> SettlementResult:
        """Acknowledge deliveries of one service."""
        return await self._settle(delivered, by, Outcome.ACK)

    async def return_to_queue(
        self, *delivered: Delivered, by: Who | None = None, delay_s: float = 0.0, reason: str = ""
    ) -> SettlementResult:
        """Return deliveries, to be offered again after ``delay_s``."""
        return await self._settle(delivered, by, Outcome.NACK, delay_s=delay_s, reason=reason)

    async def _settle(
        self, delivered: Sequence[Delivered], by: Who | None, outcome: Outcome, **options: Any
    ) -> SettlementResult:
        tokens = tuple(each.token for each in delivered)
        caller = self.recipient_of(delivered[0]) if by is None else self.caller(by)
        return await self.network.settle(caller, Settlement(tokens=tokens, outcome=outcome, **options))

    async def respond(
        self, delivered: Delivered, document: bytes | str | None = None, *, by: Who | None = None, **header: Any
    ) -> PostResult:
        """Respond as the recipient. A service on the way passes the message on by it, with the changed document if given."""
        caller = self.recipient_of(delivered) if by is None else by
        return await self.post(
            caller, (), document, **{"type": MessageType.RESPONSE, "reference": delivered.token, **header}
        )

    async def fail(self, delivered: Delivered, reason: Reason = FAILED) -> int:
        """Fail a delivery, as after the last try of a push: it becomes a dead letter. Returns the delivery's number."""
        await self.network.fail(delivered, reason)
        return self.number(delivered)

    async def refusal(self, attempt: Awaitable[object]) -> Refused:
        """Return the error by which the network refuses this; it is an error if the network accepts it."""
        try:
            result = await attempt
        except Refused as refused:
            return refused
        raise AssertionError(f"accepted: {result!r}")

    async def advance(self, *, seconds: float = 0.0, hours: float = 0.0, days: float = 0.0) -> None:
        """Let time pass: what is due expires, and waiting pushes are tried again."""
        passed_s = seconds + 3_600 * hours + 86_400 * days
        if isinstance(self.clock, VirtualClock):
            await asyncio.sleep(passed_s)
        else:
            self.clock.advance(passed_s)
            self.network.clock_steps.report()
            self.running.wake_all()
        await self.network.expiry.expire_due()

    def recipient_of(self, delivered: Delivered) -> Caller:
        """Return the service to which a message was delivered."""
        directory = self.network.directory
        exists = delivered.recipient_gcid in directory.services
        return self.caller(directory.address_of(delivered.recipient_gcid) if exists else delivered.recipient)

    def number(self, delivered: Delivered) -> int:
        """Return the number of a delivery, by which the administration finds it."""
        return self.network.lookup.number(delivered)

    # ---- what the network records

    async def history(self, of: Session, organization: str | None = None) -> History:
        """Return the history of a message's transaction, as that organization may see it; None: in full."""
        await self.network.wait_until_indexed()
        found = await self.network.trace(session_of(of), organization)
        assert found is not None, f"{organization or 'the network'} does not know session {session_of(of)}"
        return found

    async def copies(self, of: Session) -> list[CopyHistory]:
        """Return the copies of a message, one for each recipient."""
        [message] = [each for each in (await self.history(of)).messages if each.session == session_of(of)]
        return message.copies

    async def stops(self, of: Session, copy: int = 0) -> list[Stop]:
        """Return the services that one copy reached, in order."""
        return (await self.copies(of))[copy].stops

    async def states(self, of: Session) -> list[str]:
        """Return the state of a message at each service that it reached."""
        return [stop.state for copy in await self.copies(of) for stop in copy.stops]

    async def events(self, of: Session) -> list[str]:
        """Return what happened to the first copy at the last service that it reached."""
        return [event.what for event in (await self.stops(of))[-1].events]

    async def explain(
        self, sender: Who, to: Destination | Sequence[Destination], document: bytes | str | None = None, **header: Any
    ) -> RouteExplanation:
        """Explain how a message would be routed; takes what ``post`` takes, and posts nothing."""
        return await self.network.explain(self.caller(sender), compose(to, document, **header))

    async def explanation(self, of: Session, organization: str | None = None) -> RouteExplanation:
        """Explain how a posted message was routed."""
        found = await self.network.explanation(session_of(of), organization)
        assert found is not None, f"{organization or 'the network'} does not know session {session_of(of)}"
        return found

    async def dead_letters(self, viewer: Who, **search: Any) -> list[DeadLetterView]:
        """Return the dead letters that a caller may see, oldest first; ``search`` has the fields of ``DeadLetterSearch``."""
        wanted = dead_letters.DeadLetterSearch(**search)
        return [each.letter for each in (await dead_letters.browse(self.network, self.caller(viewer), wanted)).found]

    async def entries(self, *kinds: type[E]) -> list[E]:
        """Return the journal's entries of these kinds, in order."""
        return [entry for entry in await self.journal() if isinstance(entry, kinds)]

    async def journal(self) -> list[Entry]:
        """Return all entries of the journal."""
        found: list[Entry] = []
        after = 0
        while records := (await self.network.journal.read(after)).records:
            found += [decode(record.facts) for record in records]
            after = records[-1].seq
        return found


def session_of(message: Session) -> str:
    return message if isinstance(message, str) else message.session
