"""Random networks through the real stages: what is calculated is what happens.

Everyone passes the message on as it came. Then it takes the same way whether rules are tried at the post or only when it reaches
their services; and everyone on the way is given the arguments, topic, invoker and sender of its own invocation, whatever the
others before it were given.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

import msgspec
import pytest
from hypothesis import assume, event, given, note, settings

from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel
from postroad.core.model.message import Delivered, Message, MessageType
from postroad.core.model.polling import PollRequest, Settlement
from postroad.core.model.rule import RuleRole
from postroad.errors import Refused
from postroad.flow.configure import saving
from postroad.flow.network import Network
from postroad.testing.network import memory_network
from tests.property.routing.amount import NETWORKS, PHASES
from tests.property.routing.networks import Posted, posts
from tests.property.routing.reference import Reference, Visit

JOURNEYS = max(1, NETWORKS // 30)
NOWHERE: tuple[str, ...] = ()


@pytest.mark.req("R10", "R14", "R15", "M8")
@pytest.mark.parametrize("routing", ["dynamic", ""], ids=["all", "some"])
@given(posted=posts())
@settings(max_examples=JOURNEYS, phases=PHASES)
def test_an_unchanged_message_goes_the_same_way_statically_and_dynamically(posted: Posted, routing: str) -> None:
    """All services routing dynamically because the message says so, or those that chose it."""
    note(str(posted))
    static, dynamic = (asyncio.run(walked(posted, given)) for given in ("static", routing))
    event(f"{max(map(len, static.ways))} stops")
    assert dynamic.ways == static.ways


@pytest.mark.req("R3", "R7", "R12", "M2")
@given(posted=posts())
@settings(max_examples=JOURNEYS, phases=PHASES)
def test_everyone_on_the_way_is_given_the_context_of_its_own_invocation(posted: Posted) -> None:
    note(str(posted))
    house = posted.directory.organization(posted.sender.organization)
    assume(not posted.sender.suspended and not (house and house.suspended))
    alone = msgspec.structs.replace(
        posted.message, to=posted.message.to[:1], routing="static", type=MessageType.NOTIFICATION
    )
    said = Reference(alone, posted.sender, posted.directory)
    walk = asyncio.run(walked(replace(posted, message=alone), "static"))
    expected = [] if said.outset.faults or said.ways[0].faults else said.ways[0].hops
    event(f"{len(expected)} stops")
    assert [given_to(each) for each in walk.delivered] == [invoked(each, posted) for each in expected]


def given_to(delivered: Delivered) -> tuple[object, ...]:
    context = delivered.topic, delivered.invoker, delivered.sender_gcid
    return delivered.recipient_gcid, delivered.arguments, *context, delivered.in_transit, delivered.type


def invoked(visit: Visit, posted: Posted) -> tuple[object, ...]:
    """Who is kept from the wider route sees a request of who keeps it, and nothing of being in transit."""
    context = visit.topic, posted.directory.services[visit.invoker].address, visit.shown_sender or posted.sender.gcid
    in_transit = visit.role is not RuleRole.RECIPIENT
    asked = MessageType.REQUEST if in_transit and visit.shown_sender else MessageType.NOTIFICATION
    return visit.service.gcid, visit.arguments, *context, in_transit and not visit.shown_sender, asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """For each recipient the services that the message came to, where it arrived in the end; and all that was handed out."""

    ways: list[tuple[str, ...]]
    delivered: list[Delivered] = field(default_factory=list)


async def walked(posted: Posted, routing: str) -> Walk:
    message = msgspec.structs.replace(posted.message, type=MessageType.NOTIFICATION, routing=routing)
    async with memory_network() as running:
        network = running.network
        known = posted.directory
        everything = (*known.organizations.values(), *known.services.values(), *known.rules.values())
        await network.configuration.change("test", [saving(each) for each in everything])
        callers = [Caller(service=each, level=AuthenticationLevel.KEY) for each in network.directory.services.values()]
        try:
            result = await network.post(callers[0], message)
        except Refused:
            return Walk(ways=[NOWHERE] * len(message.to))
        walk = Walk(ways=[])
        while handed_out := await passed_on(network, callers):
            walk.delivered.extend(handed_out)
        history = await network.trace(result.session, None)
        assert history is not None
        for copy in history.messages[0].copies:
            stops = tuple(stop.service for stop in copy.stops)
            walk.ways.append(stops if copy.state == "delivered" else NOWHERE)
        return walk


async def passed_on(network: Network, callers: list[Caller]) -> list[Delivered]:
    """Let everyone do with what is waiting what is asked of them; empty when nothing was."""
    handed_out: list[Delivered] = []
    for caller in callers:
        for delivered in await network.poll(caller, PollRequest(max=100)):
            handed_out.append(delivered)
            if delivered.in_transit or delivered.type is MessageType.REQUEST:
                await network.post(caller, Message(type=MessageType.RESPONSE, reference=delivered.token))
            else:
                await network.settle(caller, Settlement(tokens=(delivered.token,)))
    return handed_out
