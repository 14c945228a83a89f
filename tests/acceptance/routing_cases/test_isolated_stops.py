"""What the sender learns of a service that a recipient keeps to itself: nothing, not even when it ends the journey."""

from __future__ import annotations

import pytest

from postroad.api.resources.message_views import status_view
from postroad.core.model.directory import Visibility
from postroad.core.model.history import MessageHistory
from postroad.core.model.message import MessageType, PostResult, Status
from postroad.errors import Refused
from tests.samples.routing_scenario import RoutingScenario, add

SAID = "the list of Guard names you"


async def seen(scenario: RoutingScenario, posted: PostResult, organization: str) -> MessageHistory:
    history = await scenario.history(posted, organization)
    return next(message for message in history.messages if message.session == posted.session)


@pytest.mark.req("R12", "R15", "Z5")
@pytest.mark.parametrize(("code", "state"), [("rejected", "rejected"), ("broken", "failed")])
async def test_the_end_at_an_isolated_service_does_not_give_it_away(
    scenario: RoutingScenario, code: str, state: str
) -> None:
    await scenario.rule("End", add("Guard", isolates=True))
    await scenario.service("X")
    sender = await scenario.service("Far/Sender", visibility=Visibility.PRIVATE)
    posted = await scenario.post(sender, "Acme/End", route=["Acme/X"], type=MessageType.REQUEST)
    assert (await seen(scenario, posted, "far")).copies[0].route == ["Acme/X", "Acme/End"]

    await scenario.pass_on("X")
    [under_way] = status_view(await seen(scenario, posted, "far")).recipients
    assert (under_way["state"], under_way["inWords"]) == ("queued", "on its way to Acme/End")

    await scenario.respond(await scenario.receive("Guard"), status=Status(code, SAID))
    [told] = await scenario.poll(sender)
    assert told.status is not None
    assert told.status.code == f"route.{state}"
    assert "Guard" not in told.status.text
    [ended] = status_view(await seen(scenario, posted, "far")).recipients
    assert (ended["state"], ended["inWords"]) == (state, f"{state} on the way to Acme/End")

    [_, stop] = (await seen(scenario, posted, "acme")).copies[0].stops
    assert SAID in stop.events[-1].detail, "its owner still finds the reason"


@pytest.mark.req("R14", "Z5")
async def test_a_circle_behind_an_isolated_service_is_spelled_out_to_its_owner_alone(scenario: RoutingScenario) -> None:
    await scenario.rule("End", add("Guard", isolates=True))
    await scenario.rule("Guard", add("Scan"))
    await scenario.rule("Scan", add("Guard"))
    sender = await scenario.service("Far/Sender", visibility=Visibility.PRIVATE)
    with pytest.raises(Refused) as far:
        await scenario.post(sender, "Acme/End", type=MessageType.REQUEST)
    with pytest.raises(Refused) as near:
        await scenario.request("End")
    assert (far.value.code, near.value.code) == ("route.loop", "route.loop")
    assert "Acme/Scan" in near.value.detail
    assert "Scan" not in far.value.detail
    assert "Guard" not in far.value.detail


@pytest.mark.req("D5")
async def test_a_service_that_has_taken_a_message_over_without_answering_yet_is_named(
    scenario: RoutingScenario,
) -> None:
    posted = await scenario.request("End", slip=("X",))
    [taken] = await scenario.take("X")
    [under_way] = status_view(await seen(scenario, posted, "acme")).recipients
    assert under_way["inWords"] == "delivered to Acme/X"
    await scenario.respond(taken)
    [arrived] = status_view(await seen(scenario, posted, "acme")).recipients
    assert arrived["inWords"] == "waiting in the mailbox of Acme/End"
