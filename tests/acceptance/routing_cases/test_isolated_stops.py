"""What the sender learns of a service that a recipient keeps to itself: nothing, not even when it ends the journey."""

from __future__ import annotations

import pytest

from postroad.api.resources.message_views import status_view
from postroad.core.model.history import MessageHistory
from postroad.core.model.message import Message, MessageType, PostResult, Recipient, Status
from postroad.errors import Refused
from tests.samples.town import Town, add

SAID = "the list of Guard names you"


async def seen(town: Town, posted: PostResult, house: str) -> MessageHistory:
    history = await town.network.trace(posted.session, house)
    assert history is not None
    return next(message for message in history.messages if message.session == posted.session)


@pytest.mark.req("R12", "R15", "Z5")
@pytest.mark.parametrize(("code", "state"), [("rejected", "rejected"), ("broken", "failed")])
async def test_the_end_at_an_isolated_service_does_not_give_it_away(town: Town, code: str, state: str) -> None:
    await town.rule("End", add("Guard", isolates=True))
    await town.service("X")
    sender = await town.stranger("Far/Sender")
    request = Message(to=(Recipient("Town/End"),), route=(Recipient("Town/X"),), type=MessageType.REQUEST)
    posted = await town.network.post(sender, request)
    assert (await seen(town, posted, "far")).copies[0].route == ["Town/X", "Town/End"]

    await town.pass_on("X")
    [under_way] = status_view(await seen(town, posted, "far"))["recipients"]
    assert (under_way["state"], under_way["inWords"]) == ("queued", "on its way to Town/End")

    await town.answer(await town.next("Guard"), status=Status(code, SAID))
    [told] = await town.waiting_for(sender)
    assert told.status is not None
    assert told.status.code == f"route.{state}"
    assert "Guard" not in told.status.text
    [ended] = status_view(await seen(town, posted, "far"))["recipients"]
    assert (ended["state"], ended["inWords"]) == (state, f"{state} on the way to Town/End")

    [_, stop] = (await seen(town, posted, "town")).copies[0].stops
    assert SAID in stop.events[-1].detail, "its owner still finds the reason"


@pytest.mark.req("R14", "Z5")
async def test_a_circle_behind_an_isolated_service_is_spelled_out_to_its_owner_alone(town: Town) -> None:
    await town.rule("End", add("Guard", isolates=True))
    await town.rule("Guard", add("Scan"))
    await town.rule("Scan", add("Guard"))
    request = Message(to=(Recipient("Town/End"),), type=MessageType.REQUEST)
    with pytest.raises(Refused) as far:
        await town.network.post(await town.stranger("Far/Sender"), request)
    with pytest.raises(Refused) as near:
        await town.post("End")
    assert (far.value.code, near.value.code) == ("route.loop", "route.loop")
    assert "Town/Scan" in near.value.detail
    assert "Scan" not in far.value.detail
    assert "Guard" not in far.value.detail


@pytest.mark.req("D5")
async def test_a_service_that_has_taken_a_message_over_without_answering_yet_is_named(town: Town) -> None:
    posted = await town.post("End", slip=("X",))
    [taken] = await town.take("X")
    [under_way] = status_view(await seen(town, posted, "town"))["recipients"]
    assert under_way["inWords"] == "delivered to Town/X"
    await town.answer(taken)
    [arrived] = status_view(await seen(town, posted, "town"))["recipients"]
    assert arrived["inWords"] == "waiting in the mailbox of Town/End"
