"""Dynamic routers: where a message goes next is decided when it gets there, on the message as it is then.

The cases are those that Apache Camel's tests ask of its dynamic router, re-stated for services whose rules wait for the message.
"""

from __future__ import annotations

import pytest

from postroad.core.model.directory import Routing
from postroad.core.model.message import MessageType, Property
from tests.samples.routing_scenario import (
    RoutingScenario,
    add,
    add_after,
    body,
    body_has,
    property_is,
    redirect,
)

HELLO, BYE = b'{"says": "Hello World"}', b'{"says": "Bye World"}'
SAID_BYE = body_has("$.says", "Bye World")


@pytest.mark.req("R10")
@pytest.mark.parametrize(("routing", "passed"), [("dynamic", ["A", "C", "B", "End"]), ("static", ["A", "B", "End"])])
async def test_rules_see_the_message_as_it_is_on_arrival(
    scenario: RoutingScenario, routing: str, passed: list[str]
) -> None:
    """A changes the content; B's rule looks at it. Decided under way it holds, decided at the post it does not."""
    await scenario.rule("B", add("C"), when=SAID_BYE)
    posted = await scenario.request("End", slip=("A", "B"), data=HELLO, routing=routing)
    assert body(await scenario.pass_on("A", BYE)) == HELLO
    for name in passed[1:-1]:
        assert body(await scenario.pass_on(name)) == BYE
    assert body(await scenario.receive("End")) == BYE
    assert await scenario.passed(posted) == passed


@pytest.mark.req("R10")
async def test_one_service_may_wait_while_the_others_do_not(scenario: RoutingScenario) -> None:
    """Chosen per service: only the router's rules are tried under way."""
    await scenario.service("Router", routing=Routing.DYNAMIC)
    await scenario.rule("Router", add_after("Late"), when=SAID_BYE)
    await scenario.rule("Static", add_after("Never"), when=SAID_BYE)
    posted = await scenario.request("End", slip=("A", "Static", "Router"), data=HELLO)
    await scenario.pass_on("A", BYE)
    for name in ("Static", "Router", "Late"):
        await scenario.pass_on(name)
    await scenario.receive("End")
    assert await scenario.passed(posted) == ["A", "Static", "Router", "Late", "End"]


@pytest.mark.req("R10")
async def test_a_router_is_asked_at_every_step_until_it_names_nobody(scenario: RoutingScenario) -> None:
    """One, then two at once, then another that changes the content, then nobody: each step decides on what it is given."""
    await scenario.rule("One", add_after("Two"), add_after("Three"), when=body_has("$.says", "Hello World"))
    await scenario.rule("Three", add_after("Four"), when=body_has("$.says", "Hello World"))
    await scenario.rule("Four", add_after("Five"), when=body_has("$.says", "Hello World"))
    await scenario.rule("Four", add_after("Six"), when=SAID_BYE)
    posted = await scenario.request("End", slip=("Start", "One"), data=HELLO, routing="dynamic")
    await scenario.pass_on("Start")
    for name in ("One", "Two"):
        assert body(await scenario.pass_on(name)) == HELLO
    await scenario.pass_on("Three", BYE)
    for name in ("Four", "Six"):
        assert body(await scenario.pass_on(name)) == BYE
    assert body(await scenario.receive("End")) == BYE
    assert await scenario.passed(posted) == ["Start", "One", "Two", "Three", "Four", "Six", "End"]


@pytest.mark.req("R10")
async def test_a_router_that_names_nobody_from_the_start_lets_the_message_pass(scenario: RoutingScenario) -> None:
    await scenario.rule("Router", add("C"), when=SAID_BYE)
    posted = await scenario.request("End", slip=("A", "Router"), data=HELLO, routing="dynamic")
    await scenario.pass_on("A")
    await scenario.pass_on("Router")
    await scenario.receive("End")
    assert await scenario.passed(posted) == ["A", "Router", "End"]


@pytest.mark.req("R10", "R13")
async def test_state_is_kept_in_what_services_return(scenario: RoutingScenario) -> None:
    """A service returns a property with its answer; the sender's further services, and their rules, see it."""
    await scenario.rule("B", add("Urgent"), when=property_is("priority", "high"))
    posted = await scenario.request("End", slip=("A", "B"), data=HELLO, routing="dynamic")
    await scenario.pass_on("A", b"", Property("priority", "high"))
    urgent = await scenario.pass_on("Urgent")
    assert Property("priority", "high") in urgent.properties
    assert Property("priority", "high") in (await scenario.pass_on("B")).properties
    await scenario.receive("End")
    assert await scenario.passed(posted) == ["A", "Urgent", "B", "End"]


@pytest.mark.req("R10", "R6")
async def test_a_dynamic_recipient_may_still_redirect(scenario: RoutingScenario) -> None:
    """Whoever is to get it is known only when the message is nearly there."""
    await scenario.service("Desk", routing=Routing.DYNAMIC)
    await scenario.rule("Desk", redirect("Farewells"), when=SAID_BYE)
    posted = await scenario.request("Desk", slip=("A",), data=HELLO)
    await scenario.pass_on("A", BYE)
    last = await scenario.receive("Farewells")
    assert (body(last), last.in_transit, last.invoker) == (BYE, False, "Acme/Desk")
    assert await scenario.poll("Desk") == []
    await scenario.respond(last, b"done")
    [response] = await scenario.take("Sender")
    assert (body(response), response.sender) == (b"done", "Acme/Desk"), "replies come back through who redirected"
    assert await scenario.state(posted) == "delivered"


@pytest.mark.req("R14", "R15", "R10")
@pytest.mark.parametrize("kind", [MessageType.REQUEST, MessageType.NOTIFICATION])
async def test_an_unknown_service_named_under_way_ends_the_route_before_the_next_delivery(
    scenario: RoutingScenario, kind: MessageType
) -> None:
    """What was passed was passed; nobody further gets the message, not even the router; a requester is told."""
    await scenario.rule("Router", add("Nobody"), when=SAID_BYE)
    posted = await scenario.request("End", slip=("A", "Router"), data=HELLO, routing="dynamic", type=kind)
    await scenario.pass_on("A", BYE)
    for name in ("Router", "End"):
        assert await scenario.poll(name) == []
    told = [each.status.code for each in await scenario.poll("Sender") if each.status]
    assert told == (["recipient.unknown"] if kind is MessageType.REQUEST else [])
    assert await scenario.state(posted) == "failed"


@pytest.mark.req("R14", "R15")
async def test_a_circle_that_closes_under_way_is_cut(scenario: RoutingScenario) -> None:
    """B brings in C, and C would bring in B again: found when the message reaches C, and spelled out."""
    await scenario.rule("B", add_after("C"))
    await scenario.rule("C", add_after("B"), when=SAID_BYE)
    posted = await scenario.request("End", slip=("A", "B"), data=HELLO, routing="dynamic")
    await scenario.pass_on("A")
    await scenario.pass_on("B", BYE)
    told = await scenario.receive("Sender")
    assert told.status is not None
    assert told.status.code == "route.loop"
    assert "Acme/B → Acme/C → Acme/B" in told.status.text
    assert await scenario.poll("C") == []
    assert await scenario.poll("End") == []
    assert await scenario.state(posted) == "failed"


@pytest.mark.req("R10")
async def test_a_router_that_is_tried_again_decides_once(scenario: RoutingScenario) -> None:
    """The router fails at first and gets the message again: what it named is passed once."""
    await scenario.rule("Router", add_after("C"))
    posted = await scenario.request("End", slip=("A", "Router"), data=HELLO, routing="dynamic")
    await scenario.pass_on("A")
    await scenario.return_to_queue(await scenario.receive("Router"))
    await scenario.pass_on("Router")
    await scenario.pass_on("C")
    await scenario.receive("End")
    assert await scenario.passed(posted) == ["A", "Router", "C", "End"]


@pytest.mark.req("R10", "M8")
async def test_each_copy_decides_for_itself(scenario: RoutingScenario) -> None:
    """Two recipients, and the service before the router changes only one of the copies."""
    await scenario.rule("Router", add("C"), when=SAID_BYE)
    posted = await scenario.request("P", "Q", slip=("A", "Router"), data=HELLO, routing="dynamic")
    first, second = await scenario.poll("A")
    await scenario.respond(first, BYE)
    await scenario.respond(second)
    await scenario.pass_on("C")
    for delivered in await scenario.poll("Router"):
        await scenario.respond(delivered)
    assert (body(await scenario.receive("P")), body(await scenario.receive("Q"))) == (BYE, HELLO)
    assert [await scenario.passed(posted, copy) for copy in (0, 1)] == [["A", "C", "Router", "P"], ["A", "Router", "Q"]]


@pytest.mark.req("R10")
async def test_rules_changed_on_the_way_count_for_what_is_decided_later(
    scenario: RoutingScenario,
) -> None:
    """The router's rule is made after the post: dynamic routing tries what is in force when the message gets there."""
    posted = await scenario.request("End", slip=("A", "Router"), data=HELLO, routing="dynamic")
    await scenario.rule("Router", add("C"))
    await scenario.pass_on("A")
    await scenario.pass_on("C")
    await scenario.pass_on("Router")
    await scenario.receive("End")
    assert await scenario.passed(posted) == ["A", "C", "Router", "End"]
