"""Every way in which a service can be included in a route, for what must hold on all of them.

MyBiz/Buyer sends to Acme/Supply. Transmatics/Work is the service that is included; Transmatics/First only precedes it
where an inclusion needs a message that is on its way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Self

from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel, Routing
from postroad.core.model.message import MessageType, Status
from postroad.core.model.rule import ActionKind, RuleAction, RuleRole
from postroad.errors import Refused
from postroad.testing import Scenario
from postroad.testing.scenario import Who

BUYER, SUPPLY, WORK, FIRST = "MyBiz/Buyer", "Acme/Supply", "Transmatics/Work", "Transmatics/First"
ORDERS = {"equals": {"header": "topic", "value": "orders"}}


class InclusionScenario(Scenario):
    """The four services; Acme/Supply with this profile. All of them use the safest connection there is."""

    def __init__(self, **supply: Any) -> None:
        super().__init__()
        self._supply = supply

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        for address in (BUYER, WORK, FIRST):
            await self.service(address)
        await self.service(SUPPLY, **self._supply)
        return self

    def caller(self, who: Who) -> Caller:
        if isinstance(who, Caller) or "@" in who:
            return super().caller(who)
        return Caller(service=self.profile(who), level=AuthenticationLevel.CERTIFICATE, secure=True)

    async def include(self, owner: str, role: RuleRole, kind: ActionKind, *, isolates: bool = False) -> None:
        """Let a rule of the owner include Work, whatever the message."""
        await self.rule(owner, RuleAction(kind=kind, service=WORK, isolates=isolates), when=ORDERS, role=role)

    async def try_post(self, to: str = SUPPLY, *route: str) -> Refused | None:
        """Post an order; returns the error, if there is one."""
        return await _error_of(self.post(BUYER, to, type=MessageType.REQUEST, topic="orders", route=route))

    async def try_respond(self, address: str) -> Refused | None:
        """Let a service respond to the message that waits for it; returns the error, if there is one."""
        return await _error_of(self.respond(await self.receive(address), topic="orders"))

    async def status(self, address: str = BUYER) -> Status | None:
        """Return the status of the response that waits for a service."""
        waiting = await self.poll(address)
        return waiting[0].status if waiting else None


async def _error_of(attempt: Awaitable[object]) -> Refused | None:
    try:
        await attempt
    except Refused as refusal:
        return refusal
    return None


Inclusion = Callable[[InclusionScenario], Awaitable[Refused | None]]


async def as_recipient(at: InclusionScenario) -> Refused | None:
    return await at.try_post(WORK)


async def in_an_explicit_route(at: InclusionScenario) -> Refused | None:
    return await at.try_post(SUPPLY, WORK)


async def by_the_senders_rule(at: InclusionScenario) -> Refused | None:
    await at.include(BUYER, RuleRole.SENDER, ActionKind.ADD_SERVICE)
    return await at.try_post()


async def by_the_recipients_rule(at: InclusionScenario) -> Refused | None:
    await at.include(SUPPLY, RuleRole.RECIPIENT, ActionKind.ADD_SERVICE_BEFORE)
    return await at.try_post()


async def by_redirect(at: InclusionScenario) -> Refused | None:
    await at.include(SUPPLY, RuleRole.RECIPIENT, ActionKind.REDIRECT)
    return await at.try_post()


async def by_a_dynamic_rule_at_once(at: InclusionScenario) -> Refused | None:
    await at.change(SUPPLY, routing=Routing.DYNAMIC)
    return await by_the_recipients_rule(at)


async def by_a_dynamic_rule_on_the_way(at: InclusionScenario) -> Refused | None:
    """The rule is tried when First has answered, and its sender is told by a response."""
    await at.change(SUPPLY, routing=Routing.DYNAMIC)
    await at.include(SUPPLY, RuleRole.RECIPIENT, ActionKind.ADD_SERVICE_BEFORE)
    assert await at.try_post(SUPPLY, FIRST) is None
    assert await at.try_respond(FIRST) is None
    status = await at.status()
    return Refused(status.code, status.text) if status is not None else None


async def by_a_rule_on_the_way_back(at: InclusionScenario) -> Refused | None:
    await at.include(BUYER, RuleRole.RECIPIENT, ActionKind.ADD_SERVICE_BEFORE)
    assert await at.try_post() is None
    return await at.try_respond(SUPPLY)


INCLUSIONS: tuple[Inclusion, ...] = (
    as_recipient,
    in_an_explicit_route,
    by_the_senders_rule,
    by_the_recipients_rule,
    by_redirect,
    by_a_dynamic_rule_at_once,
    by_a_dynamic_rule_on_the_way,
    by_a_rule_on_the_way_back,
)
