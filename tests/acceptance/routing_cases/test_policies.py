"""Security policies on routes that rules lay: whoever is brought in must not ask for more than the others on the way give."""

from __future__ import annotations

import pytest

from postroad.core.model.directory import ConnectionPolicy, Routing, Transport
from postroad.errors import Refused
from tests.samples.town import Town, add, add_after, redirect

ONLY_TLS = ConnectionPolicy(transport=Transport.TLS)


@pytest.mark.req("Z1", "R14")
async def test_a_service_that_the_senders_rules_bring_in_may_ask_for_more_than_the_post_gives(town: Town) -> None:
    """The post came over plain HTTP: it is refused as a whole, and nobody gets anything."""
    await town.service("Safe", policy=ONLY_TLS)
    await town.rule("Sender", add("X"), add("Safe"))
    with pytest.raises(Refused) as refused:
        await town.post("End")
    assert refused.value.code == "policy.transport"
    for name in ("X", "End"):
        assert await town.waiting(name) == []


@pytest.mark.req("Z1", "R14", "M8")
async def test_what_a_recipients_rules_bring_in_spoils_that_copy_alone(town: Town) -> None:
    await town.service("Safe", policy=ONLY_TLS)
    await town.rule("P", add("Safe"))
    posted = await town.post("P", "Q")
    assert [each.code for each in posted.recipients] == ["policy.transport", ""]
    await town.next("Q")


@pytest.mark.req("Z1", "R14", "R15")
async def test_what_is_brought_in_under_way_is_held_to_policies_before_the_next_delivery(town: Town) -> None:
    """A router under way names a service for which the message did not come safely enough: it ends there."""
    await town.service("Safe", policy=ONLY_TLS)
    await town.service("Router", routing=Routing.DYNAMIC)
    await town.rule("Router", add_after("Safe"))
    posted = await town.post("End", slip=("X", "Router"))
    await town.pass_on("X")
    for name in ("Router", "End"):
        assert await town.waiting(name) == []
    told = await town.next("Sender")
    assert told.status is not None
    assert told.status.code == "policy.transport"
    assert await town.state(posted) == "failed"


@pytest.mark.req("Z1", "R14")
@pytest.mark.parametrize("routing", ["static", "dynamic"])
@pytest.mark.parametrize("slip", [(), ("X",)], ids=["none", "one"])
async def test_a_redirect_cannot_lead_a_message_that_came_unsafely_to_who_forbids_that(
    town: Town, slip: tuple[str, ...], routing: str
) -> None:
    """Neither at the post nor under way: what the message has passed by then counts too."""
    await town.service("Safe", policy=ONLY_TLS)
    await town.rule("Desk", redirect("Safe"))
    if slip and routing == "dynamic":
        posted = await town.post("Desk", slip=slip, routing=routing)
        await town.pass_on("X")
        assert await town.state(posted) == "failed"
        [told] = await town.take("Sender")
        assert told.status is not None
        assert told.status.code == "policy.transport"
    else:
        with pytest.raises(Refused) as refused:
            await town.post("Desk", slip=slip, routing=routing)
        assert refused.value.code == "policy.transport"
