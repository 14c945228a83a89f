"""Replies: what comes back to the requester when a request has passed a slip, a router or a list.

Camel's exchanges that expect a reply carry it back along the call; here it is a message of its own, which goes straight back
unless somebody asked to see it or a rule says otherwise.
"""

from __future__ import annotations

import pytest

from postroad.core.model.directory import Visibility
from postroad.core.model.message import Argument, Message, MessageType, Recipient
from postroad.core.model.rule import Comparing, MessageSection, RuleRole, ValueComparison, ValueLocation
from postroad.errors import Refused
from tests.samples.town import BROKEN, Town, add, body, redirect

IS_RESPONSE = ValueComparison(
    operator=Comparing.EQUALS,
    place=ValueLocation(where=MessageSection.HEADER, path="type"),
    values=(MessageType.RESPONSE.value,),
)


@pytest.mark.req("R13")
async def test_a_reply_goes_straight_back_though_the_request_did_not(town: Town) -> None:
    """Those on the slip are not bothered with what comes back."""
    posted = await town.post("End", slip=("X", "Y"), data=b"question")
    await town.pass_on("X")
    await town.pass_on("Y")
    await town.answer(await town.next("End"), b"reply")
    for name in ("X", "Y"):
        assert await town.waiting(name) == []
    [reply] = await town.take("Sender")
    assert (body(reply), reply.sender, reply.in_transit) == (b"reply", "Town/End", False)
    assert await town.state(posted) == "delivered"


@pytest.mark.req("R13")
async def test_those_who_asked_for_it_see_the_reply_again_in_the_order_of_the_way_back(town: Town) -> None:
    """With the arguments they had on the way out; and what they change is changed for the requester."""
    await town.service("X", returns=True)
    await town.service("Y")
    await town.service("Z", returns=True)
    await town.service("End")
    route = tuple(Recipient(f"Town/{name}", (Argument("for", name),)) for name in ("X", "Y", "Z"))
    request = Message(to=(Recipient("Town/End"),), route=route, type=MessageType.REQUEST)
    await town.network.post(await town.service("Sender"), request)
    for name in ("X", "Y", "Z"):
        await town.pass_on(name)
    await town.answer(await town.next("End"), b"reply")
    assert await town.waiting("X") == []
    seen_by_z = await town.pass_on("Z", b"reply, seen by Z")
    seen_by_x = await town.pass_on("X")
    assert (body(seen_by_z), body(seen_by_x)) == (b"reply", b"reply, seen by Z")
    assert seen_by_x.type is MessageType.RESPONSE
    assert (seen_by_z.arguments, seen_by_x.arguments) == ((Argument("for", "Z"),), (Argument("for", "X"),))
    [reply] = await town.take("Sender")
    assert (body(reply), reply.sender) == (b"reply, seen by Z", "Town/End")
    assert await town.waiting("Y") == []


@pytest.mark.req("R13")
async def test_the_way_back_may_differ_from_the_way_out(town: Town) -> None:
    """Rules of the responder, as sender of the response, and of the requester, as its recipient, lay the way back."""
    await town.rule("End", add("Stamp"), role=RuleRole.SENDER)
    await town.rule("Sender", add("Archive"), role=RuleRole.RECIPIENT, when=IS_RESPONSE)
    await town.post("End", slip=("X",))
    await town.pass_on("X")
    await town.answer(await town.next("End"), b"reply")
    assert body(await town.pass_on("Stamp", b"stamped reply")) == b"reply"
    assert body(await town.pass_on("Archive")) == b"stamped reply"
    assert [body(each) for each in await town.take("Sender")] == [b"stamped reply"]


@pytest.mark.req("R12", "R13")
async def test_who_is_isolated_on_the_way_back_is_asked_for_an_answer(town: Town) -> None:
    """The responder keeps the wider route from a service of its own: that one must still see that it has to answer."""
    await town.rule("End", add("Stamp", isolates=True), role=RuleRole.SENDER)
    await town.post("End", data=b"question")
    await town.answer(await town.next("End"), b"reply")
    seen = await town.next("Stamp")
    assert seen.sender == "Town/End"
    assert seen.in_transit or seen.type is MessageType.REQUEST
    await town.answer(seen, b"stamped reply")
    assert [body(each) for each in await town.take("Sender")] == [b"stamped reply"]


@pytest.mark.req("R13", "N3")
@pytest.mark.parametrize("ruled", [False, True])
async def test_a_reply_reaches_a_requester_to_whom_nobody_else_may_send(town: Town, ruled: bool) -> None:
    """The requester is private and belongs to somebody else; a rule on the way back does not change that it may be answered."""
    stranger = await town.stranger("Elsewhere/Private", visibility=Visibility.PRIVATE)
    await town.service("End")
    if ruled:
        await town.rule("End", add("Stamp"), role=RuleRole.SENDER)
    await town.network.post(stranger, Message(to=(Recipient("Town/End"),), type=MessageType.REQUEST))
    await town.answer(await town.next("End"), b"reply")
    if ruled:
        await town.pass_on("Stamp")
    assert [body(each) for each in await town.waiting_for(stranger)] == [b"reply"]


@pytest.mark.req("R6", "R13", "N6")
async def test_a_reply_through_several_redirects_comes_from_whom_the_requester_asked(town: Town) -> None:
    await town.rule("Front", redirect("Middle"))
    await town.rule("Middle", redirect("Back"))
    await town.post("Front", data=b"question")
    asked = await town.next("Back")
    assert asked.invoker == "Town/Middle"
    await town.answer(asked, b"reply")
    [reply] = await town.take("Sender")
    assert (body(reply), reply.sender) == (b"reply", "Town/Front")


@pytest.mark.req("R12", "R13")
@pytest.mark.parametrize("absorbs", [False, True])
async def test_whoever_redirects_decides_whether_an_error_comes_out(town: Town, absorbs: bool) -> None:
    await town.rule("Front", redirect("Back", absorbs=absorbs))
    await town.post("Front")
    await town.fail("Back")
    [reply] = await town.take("Sender")
    assert (reply.status.code if reply.status else "") == ("" if absorbs else "broken")


@pytest.mark.req("M10", "R13")
async def test_a_reply_that_fails_on_its_way_back_ends_as_one_error_to_the_requester(town: Town) -> None:
    await town.rule("End", add("Stamp"), role=RuleRole.SENDER)
    posted = await town.post("End", handle="H-1")
    await town.answer(await town.next("End"), b"reply")
    await town.fail("Stamp", BROKEN)
    [told] = await town.take("Sender")
    assert told.reference is not None
    assert told.status is not None
    assert (told.reference.handle, told.status.code, body(told)) == ("H-1", "route.failed", b"")
    assert await town.state(posted) == "failed"


@pytest.mark.req("M10", "R14")
async def test_a_reply_without_a_valid_way_back_is_told_to_both(town: Town) -> None:
    """The responder's own rule names somebody who does not exist: it is refused, and the requester need not wait."""
    await town.rule("End", add("Nobody"), role=RuleRole.SENDER)
    await town.post("End")
    with pytest.raises(Refused) as refused:
        await town.answer(await town.next("End"), b"reply")
    assert refused.value.code == "recipient.unknown"
    [told] = await town.take("Sender")
    assert told.status is not None
    assert told.status.code == "route.failed"


@pytest.mark.req("M10")
async def test_a_reply_that_is_too_late_on_its_way_back_is_not_delivered(town: Town) -> None:
    """The request's time includes its reply: when it is over, the requester gets one error, and not the reply after it."""
    await town.rule("End", add("Slow"), role=RuleRole.SENDER)
    posted = await town.post("End", expires_at_us=town.clock.now_us() + 60_000_000)
    await town.answer(await town.next("End"), b"reply")
    held = await town.next("Slow")
    await town.later(61)
    with pytest.raises(Refused):
        await town.answer(held)
    told = await town.take("Sender")
    assert [each.status.code for each in told if each.status] == ["route.expired"]
    assert await town.state(posted) == "expired"


@pytest.mark.req("M5", "R13")
async def test_one_reply_per_request(town: Town) -> None:
    await town.post("End")
    asked = await town.next("End")
    await town.answer(asked, b"first")
    with pytest.raises(Refused) as refused:
        await town.answer(asked, b"second")
    assert refused.value.code == "reference.answered"
    assert [body(each) for each in await town.take("Sender")] == [b"first"]
