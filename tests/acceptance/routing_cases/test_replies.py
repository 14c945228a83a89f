"""Replies: what comes back to the requester when a request has passed a slip, a router or a list.

Camel's exchanges that expect a reply carry it back along the call; here it is a message of its own, which goes straight back
unless somebody asked to see it or a rule says otherwise.
"""

from __future__ import annotations

import pytest

from postroad.core.model.directory import Visibility
from postroad.core.model.message import Argument, MessageType, Recipient
from postroad.core.model.rule import Comparing, MessageSection, RuleRole, ValueComparison, ValueLocation
from postroad.errors import Refused
from tests.samples.routing_scenario import BROKEN, RoutingScenario, add, body, redirect

IS_RESPONSE = ValueComparison(
    operator=Comparing.EQUALS,
    place=ValueLocation(where=MessageSection.HEADER, path="type"),
    values=(MessageType.RESPONSE.value,),
)


@pytest.mark.req("R13")
async def test_a_reply_goes_straight_back_though_the_request_did_not(scenario: RoutingScenario) -> None:
    """Those on the slip are not bothered with what comes back."""
    posted = await scenario.request("End", slip=("X", "Y"), data=b"question")
    await scenario.pass_on("X")
    await scenario.pass_on("Y")
    await scenario.respond(await scenario.receive("End"), b"reply")
    for name in ("X", "Y"):
        assert await scenario.poll(name) == []
    [reply] = await scenario.take("Sender")
    assert (body(reply), reply.sender, reply.in_transit) == (b"reply", "Acme/End", False)
    assert await scenario.state(posted) == "delivered"


@pytest.mark.req("R13")
async def test_those_who_asked_for_it_see_the_reply_again_in_the_order_of_the_way_back(
    scenario: RoutingScenario,
) -> None:
    """With the arguments they had on the way out; and what they change is changed for the requester."""
    await scenario.service("X", returns=True)
    await scenario.service("Y")
    await scenario.service("Z", returns=True)
    await scenario.service("End")
    await scenario.service("Sender")
    route = [Recipient(f"Acme/{name}", (Argument("for", name),)) for name in ("X", "Y", "Z")]
    await scenario.post("Sender", "Acme/End", route=route, type=MessageType.REQUEST)
    for name in ("X", "Y", "Z"):
        await scenario.pass_on(name)
    await scenario.respond(await scenario.receive("End"), b"reply")
    assert await scenario.poll("X") == []
    seen_by_z = await scenario.pass_on("Z", b"reply, seen by Z")
    seen_by_x = await scenario.pass_on("X")
    assert (body(seen_by_z), body(seen_by_x)) == (b"reply", b"reply, seen by Z")
    assert seen_by_x.type is MessageType.RESPONSE
    assert (seen_by_z.arguments, seen_by_x.arguments) == ((Argument("for", "Z"),), (Argument("for", "X"),))
    [reply] = await scenario.take("Sender")
    assert (body(reply), reply.sender) == (b"reply, seen by Z", "Acme/End")
    assert await scenario.poll("Y") == []


@pytest.mark.req("R13")
async def test_the_way_back_may_differ_from_the_way_out(scenario: RoutingScenario) -> None:
    """Rules of the responder, as sender of the response, and of the requester, as its recipient, lay the way back."""
    await scenario.rule("End", add("Stamp"), role=RuleRole.SENDER)
    await scenario.rule("Sender", add("Archive"), role=RuleRole.RECIPIENT, when=IS_RESPONSE)
    await scenario.request("End", slip=("X",))
    await scenario.pass_on("X")
    await scenario.respond(await scenario.receive("End"), b"reply")
    assert body(await scenario.pass_on("Stamp", b"stamped reply")) == b"reply"
    assert body(await scenario.pass_on("Archive")) == b"stamped reply"
    assert [body(each) for each in await scenario.take("Sender")] == [b"stamped reply"]


@pytest.mark.req("R12", "R13")
async def test_who_is_isolated_on_the_way_back_is_asked_for_an_answer(scenario: RoutingScenario) -> None:
    """The responder keeps the wider route from a service of its own: that one must still see that it has to answer."""
    await scenario.rule("End", add("Stamp", isolates=True), role=RuleRole.SENDER)
    await scenario.request("End", data=b"question")
    await scenario.respond(await scenario.receive("End"), b"reply")
    seen = await scenario.receive("Stamp")
    assert seen.sender == "Acme/End"
    assert seen.in_transit or seen.type is MessageType.REQUEST
    await scenario.respond(seen, b"stamped reply")
    assert [body(each) for each in await scenario.take("Sender")] == [b"stamped reply"]


@pytest.mark.req("R13", "N3")
@pytest.mark.parametrize("ruled", [False, True])
async def test_a_reply_reaches_a_requester_to_whom_nobody_else_may_send(scenario: RoutingScenario, ruled: bool) -> None:
    """The requester is private and belongs to somebody else; a rule on the way back does not change that it may be answered."""
    stranger = await scenario.service("Elsewhere/Private", visibility=Visibility.PRIVATE)
    await scenario.service("End")
    if ruled:
        await scenario.rule("End", add("Stamp"), role=RuleRole.SENDER)
    await scenario.post(stranger, "Acme/End", type=MessageType.REQUEST)
    await scenario.respond(await scenario.receive("End"), b"reply")
    if ruled:
        await scenario.pass_on("Stamp")
    assert [body(each) for each in await scenario.poll(stranger)] == [b"reply"]


@pytest.mark.req("R6", "R13", "N6")
async def test_a_reply_through_several_redirects_comes_from_whom_the_requester_asked(scenario: RoutingScenario) -> None:
    await scenario.rule("Front", redirect("Middle"))
    await scenario.rule("Middle", redirect("Back"))
    await scenario.request("Front", data=b"question")
    asked = await scenario.receive("Back")
    assert asked.invoker == "Acme/Middle"
    await scenario.respond(asked, b"reply")
    [reply] = await scenario.take("Sender")
    assert (body(reply), reply.sender) == (b"reply", "Acme/Front")


@pytest.mark.req("R12", "R13")
@pytest.mark.parametrize("absorbs", [False, True])
async def test_whoever_redirects_decides_whether_an_error_comes_out(scenario: RoutingScenario, absorbs: bool) -> None:
    await scenario.rule("Front", redirect("Back", absorbs=absorbs))
    await scenario.request("Front")
    await scenario.refuse("Back")
    [reply] = await scenario.take("Sender")
    assert (reply.status.code if reply.status else "") == ("" if absorbs else "broken")


@pytest.mark.req("M10", "R13")
async def test_a_reply_that_fails_on_its_way_back_ends_as_one_error_to_the_requester(scenario: RoutingScenario) -> None:
    await scenario.rule("End", add("Stamp"), role=RuleRole.SENDER)
    posted = await scenario.request("End", handle="H-1")
    await scenario.respond(await scenario.receive("End"), b"reply")
    await scenario.refuse("Stamp", BROKEN)
    [told] = await scenario.take("Sender")
    assert told.reference is not None
    assert told.status is not None
    assert (told.reference.handle, told.status.code, body(told)) == ("H-1", "route.failed", b"")
    assert await scenario.state(posted) == "failed"


@pytest.mark.req("M10", "R14")
async def test_a_reply_without_a_valid_way_back_is_told_to_both(scenario: RoutingScenario) -> None:
    """The responder's own rule names somebody who does not exist: it is refused, and the requester need not wait."""
    await scenario.rule("End", add("Nobody"), role=RuleRole.SENDER)
    await scenario.request("End")
    with pytest.raises(Refused) as refused:
        await scenario.respond(await scenario.receive("End"), b"reply")
    assert refused.value.code == "recipient.unknown"
    [told] = await scenario.take("Sender")
    assert told.status is not None
    assert told.status.code == "route.failed"


@pytest.mark.req("M10")
async def test_a_reply_that_is_too_late_on_its_way_back_is_not_delivered(scenario: RoutingScenario) -> None:
    """The request's time includes its reply: when it is over, the requester gets one error, and not the reply after it."""
    await scenario.rule("End", add("Slow"), role=RuleRole.SENDER)
    posted = await scenario.request("End", expires_at_us=scenario.clock.now_us() + 60_000_000)
    await scenario.respond(await scenario.receive("End"), b"reply")
    held = await scenario.receive("Slow")
    await scenario.advance(seconds=61)
    with pytest.raises(Refused):
        await scenario.respond(held)
    told = await scenario.take("Sender")
    assert [each.status.code for each in told if each.status] == ["route.expired"]
    assert await scenario.state(posted) == "expired"


@pytest.mark.req("M5", "R13")
async def test_one_reply_per_request(scenario: RoutingScenario) -> None:
    await scenario.request("End")
    asked = await scenario.receive("End")
    await scenario.respond(asked, b"first")
    with pytest.raises(Refused) as refused:
        await scenario.respond(asked, b"second")
    assert refused.value.code == "reference.answered"
    assert [body(each) for each in await scenario.take("Sender")] == [b"first"]
