"""Security policies on routes that rules lay: whoever is brought in must not ask for more than the others on the way give."""

from __future__ import annotations

import pytest

from postroad.core.model.directory import ConnectionPolicy, Routing, Transport
from postroad.errors import Refused
from tests.samples.routing_scenario import RoutingScenario, add, add_after, redirect

ONLY_TLS = ConnectionPolicy(transport=Transport.TLS)


@pytest.mark.req("Z1", "R14")
async def test_a_service_that_the_senders_rules_bring_in_may_ask_for_more_than_the_post_gives(
    scenario: RoutingScenario,
) -> None:
    """The post came over plain HTTP: it is refused as a whole, and nobody gets anything."""
    await scenario.service("Safe", policy=ONLY_TLS)
    await scenario.rule("Sender", add("X"), add("Safe"))
    with pytest.raises(Refused) as refused:
        await scenario.request("End")
    assert refused.value.code == "policy.transport"
    for name in ("X", "End"):
        assert await scenario.poll(name) == []


@pytest.mark.req("Z1", "R14", "M8")
async def test_what_a_recipients_rules_bring_in_spoils_that_copy_alone(scenario: RoutingScenario) -> None:
    await scenario.service("Safe", policy=ONLY_TLS)
    await scenario.rule("P", add("Safe"))
    posted = await scenario.request("P", "Q")
    assert [each.code for each in posted.recipients] == ["policy.transport", ""]
    await scenario.receive("Q")


@pytest.mark.req("Z1", "R14", "R15")
async def test_what_is_brought_in_under_way_is_held_to_policies_before_the_next_delivery(
    scenario: RoutingScenario,
) -> None:
    """A router under way names a service for which the message did not come safely enough: it ends there."""
    await scenario.service("Safe", policy=ONLY_TLS)
    await scenario.service("Router", routing=Routing.DYNAMIC)
    await scenario.rule("Router", add_after("Safe"))
    posted = await scenario.request("End", slip=("X", "Router"))
    await scenario.pass_on("X")
    for name in ("Router", "End"):
        assert await scenario.poll(name) == []
    told = await scenario.receive("Sender")
    assert told.status is not None
    assert told.status.code == "policy.transport"
    assert await scenario.state(posted) == "failed"


@pytest.mark.req("Z1", "R14")
@pytest.mark.parametrize("routing", ["static", "dynamic"])
@pytest.mark.parametrize("slip", [(), ("X",)], ids=["none", "one"])
async def test_a_redirect_cannot_lead_a_message_that_came_unsafely_to_who_forbids_that(
    scenario: RoutingScenario, slip: tuple[str, ...], routing: str
) -> None:
    """Neither at the post nor under way: what the message has passed by then counts too."""
    await scenario.service("Safe", policy=ONLY_TLS)
    await scenario.rule("Desk", redirect("Safe"))
    if slip and routing == "dynamic":
        posted = await scenario.request("Desk", slip=slip, routing=routing)
        await scenario.pass_on("X")
        assert await scenario.state(posted) == "failed"
        [told] = await scenario.take("Sender")
        assert told.status is not None
        assert told.status.code == "policy.transport"
    else:
        with pytest.raises(Refused) as refused:
            await scenario.request("Desk", slip=slip, routing=routing)
        assert refused.value.code == "policy.transport"
