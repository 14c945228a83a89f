"""Random networks through the real stages: what is calculated is what happens.

Everyone passes the message on as it came. Then it takes the same way whether rules are tried at the post or only when it reaches
their services; and everyone on the way is given the arguments, topic, invoker and sender of its own invocation, whatever the
others before it were given.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from functools import partial

import msgspec
import pytest
from hypothesis import assume, event, given, note, settings

from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel
from postroad.core.model.message import Delivered, Message, MessageType
from postroad.core.model.polling import PollRequest, Settlement
from postroad.core.model.rule import RuleRole
from postroad.errors import Refused
from postroad.flow.network import Network
from postroad.flow.registries.configuration import build_save
from postroad.testing.network import memory_network
from tests.property.routing.amount import NETWORKS, PHASES
from tests.property.routing.networks import DOCUMENTS, Posted, part_from, posts
from tests.property.routing.reference import Reference
from tests.property.routing.visits import Visit

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
    posted = to_one(posted, "static")
    said = Reference(posted.message, posted.sender, posted.directory)
    expected = [] if said.outset.faults or said.ways[0].faults else said.ways[0].hops
    walk = asyncio.run(walked(posted, "static"))
    event(f"{len(expected)} stops")
    assert [given_to(each) for each in walk.delivered] == [invoked(each, posted) for each in expected]


@pytest.mark.req("R10", "R14", "R15", "D5")
@pytest.mark.parametrize("routing", ["dynamic", ""], ids=["all", "some"])
@given(posted=posts())
@settings(max_examples=JOURNEYS, phases=PHASES)
def test_a_message_that_everyone_changes_goes_where_the_rules_say_then(posted: Posted, routing: str) -> None:
    """What fails under way fails there: nobody further is given the message."""
    note(str(posted))
    posted = to_one(posted, routing)
    said = Reference(posted.message, posted.sender, posted.directory)
    expected: list[Visit] = []
    if not said.outset.faults and not said.ways[0].faults:
        expected = said.travel(said.ways[0], partial(changed, posted.message))
    walk = asyncio.run(walked(posted, routing, changes=True))
    event(f"{len(expected)} stops")
    assert [given_to(each) for each in walk.delivered] == [invoked(each, posted) for each in expected]


def to_one(posted: Posted, routing: str) -> Posted:
    """The same for the first recipient only, from a sender who may post."""
    house = posted.directory.organization(posted.sender.organization)
    assume(not posted.sender.suspended and not (house and house.suspended))
    to = posted.message.to[:1]
    alone = msgspec.structs.replace(posted.message, to=to, routing=routing, type=MessageType.NOTIFICATION)
    return replace(posted, message=alone)


def changed(message: Message, passed: int) -> Message:
    """The message as it is left by the service that was the ``passed``-th to get it."""
    return msgspec.structs.replace(message, parts=(part_from(0, *DOCUMENTS[passed % len(DOCUMENTS)]),))


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


async def walked(posted: Posted, routing: str, *, changes: bool = False) -> Walk:
    message = msgspec.structs.replace(posted.message, type=MessageType.NOTIFICATION, routing=routing)
    async with memory_network() as running:
        network = running.network
        known = posted.directory
        everything = (*known.organizations.values(), *known.services.values(), *known.rules.values())
        await network.configuration.change("test", [build_save(each) for each in everything])
        callers = [Caller(service=each, level=AuthenticationLevel.KEY) for each in network.directory.services.values()]
        working = [each for each in callers if each.service and not network.directory.is_suspended(each.service)]
        try:
            result = await network.post(callers[0], message)
        except Refused:
            return Walk(ways=[NOWHERE] * len(message.to))
        walk = Walk(ways=[])
        while await pass_on(network, working, walk.delivered, message if changes else None):
            pass
        history = await network.trace(result.session, None)
        assert history is not None
        for copy in history.messages[0].copies:
            stops = tuple(stop.service for stop in copy.stops)
            walk.ways.append(stops if copy.state == "delivered" else NOWHERE)
        return walk


async def pass_on(network: Network, callers: list[Caller], seen: list[Delivered], changing: Message | None) -> bool:
    """Let everyone do what is asked of them with what is waiting, which is added to ``seen``; False when nothing was."""
    before = len(seen)
    for caller in callers:
        for delivered in await network.poll(caller, PollRequest(max=100)):
            seen.append(delivered)
            if delivered.in_transit or delivered.type is MessageType.REQUEST:
                parts = changed(changing, len(seen)).parts if changing is not None else ()
                await network.post(caller, Message(type=MessageType.RESPONSE, reference=delivered.token, parts=parts))
            else:
                await network.settle(caller, Settlement(tokens=(delivered.token,)))
    return len(seen) > before
