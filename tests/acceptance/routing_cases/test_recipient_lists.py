"""Recipient lists: one message for many, each with a copy, a fate and an answer of its own.

The cases are those that Apache Camel's tests ask of its recipient list, re-stated for messages with several services in To.
There, a list may be told to stop at the first fault or to ignore it; here, one recipient's fault never touches another's copy.
"""

from __future__ import annotations

import pytest

from postroad.core.model.message import Argument, Delivered, MessageType, Property, Recipient
from postroad.errors import Refused
from tests.samples.routing_scenario import BROKEN, RoutingScenario, add, body, property_is, redirect


def status(delivered: Delivered) -> str:
    return delivered.status.code if delivered.status else ""


@pytest.mark.req("M8", "M7")
async def test_everyone_on_the_list_gets_a_copy_of_its_own(scenario: RoutingScenario) -> None:
    """The same content and session for all, and a token for each."""
    await scenario.request("X", "Y", "Z", data=b"answer")
    copies = [await scenario.receive(name) for name in ("X", "Y", "Z")]
    assert {body(each) for each in copies} == {b"answer"}
    assert len({each.session for each in copies}) == 1
    assert len({each.token for each in copies}) == 3


@pytest.mark.req("M5")
async def test_an_empty_list_is_refused(scenario: RoutingScenario) -> None:
    with pytest.raises(Refused) as refused:
        await scenario.request()
    assert refused.value.code == "recipient.missing"


@pytest.mark.req("M8")
@pytest.mark.parametrize("place", [0, 1, 2])
async def test_an_unknown_name_on_the_list_is_reported_and_the_others_get_theirs(
    scenario: RoutingScenario, place: int
) -> None:
    """First, in the middle or last: the answer to the post names the unknown one with its code."""
    names = ["X", "Y"]
    names.insert(place, "Nobody")
    posted = await scenario.request(*names, data=b"answer")
    assert [each.code for each in posted.recipients] == [
        "recipient.unknown" if name == "Nobody" else "" for name in names
    ]
    for name in ("X", "Y"):
        assert body(await scenario.receive(name)) == b"answer"


@pytest.mark.req("M8")
async def test_a_list_of_unknown_names_is_refused_as_a_whole(scenario: RoutingScenario) -> None:
    with pytest.raises(Refused) as refused:
        await scenario.request("Nobody", "Nobody")
    assert refused.value.code == "recipient.unknown"


@pytest.mark.req("M8", "M7")
async def test_whoever_is_on_the_list_twice_gets_two_copies(scenario: RoutingScenario) -> None:
    """Each with its own arguments and token; each is answered for itself."""
    await scenario.service("X")
    await scenario.service("Sender")
    to = [Recipient("Acme/X", (Argument("part", number),)) for number in ("1", "2")]
    await scenario.post("Sender", to, type=MessageType.REQUEST)
    first, second = await scenario.poll("X")
    assert [each.arguments[0].value for each in (first, second)] == ["1", "2"]
    await scenario.respond(second, b"two")
    await scenario.respond(first, b"one")
    assert [body(each) for each in await scenario.poll("Sender")] == [b"two", b"one"]


@pytest.mark.req("M8", "R15")
async def test_one_copys_failure_on_the_way_does_not_stop_the_others(scenario: RoutingScenario) -> None:
    """Y's own filter fails: X before it and Z behind it on the list get theirs, and one error response comes back."""
    await scenario.rule("Y", add("Filter"))
    posted = await scenario.request("X", "Y", "Z", data=b"answer")
    await scenario.refuse("Filter")
    for name in ("X", "Z"):
        assert body(await scenario.receive(name)) == b"answer"
    assert await scenario.poll("Y") == []
    told = await scenario.receive("Sender")
    assert (told.sender, status(told)) == ("Acme/Y", "route.failed")
    assert [await scenario.state(posted, copy) for copy in range(3)] == ["under way", "failed", "under way"]


@pytest.mark.req("M8", "R15")
async def test_a_shared_service_may_fail_for_one_copy_and_not_for_the_next(scenario: RoutingScenario) -> None:
    """What the sender put in front is passed by every copy for itself."""
    posted = await scenario.request("X", "Y", slip=("Shared",), data=b"answer")
    first, second = await scenario.poll("Shared")
    await scenario.respond(first, status=BROKEN)
    await scenario.respond(second)
    assert await scenario.poll("X") == []
    assert body(await scenario.receive("Y")) == b"answer"
    assert (await scenario.receive("Sender")).sender == "Acme/X"
    assert [await scenario.state(posted, copy) for copy in (0, 1)] == ["failed", "under way"]


@pytest.mark.req("M8", "D5")
async def test_what_is_done_to_one_copy_is_not_seen_in_another(scenario: RoutingScenario) -> None:
    """Copies share nothing: X's own service rewrites what X gets, and only that."""
    await scenario.rule("X", add("Rewriter"))
    await scenario.request("X", "Y", data=b"original")
    await scenario.pass_on("Rewriter", b"rewritten")
    assert (body(await scenario.receive("X")), body(await scenario.receive("Y"))) == (b"rewritten", b"original")


@pytest.mark.req("D8", "M8")
async def test_nobody_waits_for_a_slow_one(scenario: RoutingScenario) -> None:
    """The first on the list does nothing; the others have answered, and the answers are there."""
    await scenario.request("Slow", "B", "C", data=b"answer")
    held = await scenario.receive("Slow")
    await scenario.respond(await scenario.receive("C"), b"c")
    await scenario.respond(await scenario.receive("B"), b"b")
    assert [body(each) for each in await scenario.poll("Sender")] == [b"c", b"b"], "in the order of answering"
    await scenario.respond(held, b"a")
    assert body((await scenario.poll("Sender"))[-1]) == b"a"


@pytest.mark.req("M10")
async def test_a_silent_one_times_out_alone(scenario: RoutingScenario) -> None:
    """B and C answer in time, A does not: the sender gets two responses and one error, and A's late answer is refused."""
    posted = await scenario.request("A", "B", "C", expires_at_us=scenario.clock.now_us() + 60_000_000)
    silent = await scenario.receive("A")
    for name in ("B", "C"):
        await scenario.respond(await scenario.receive(name), name.encode())
    assert [body(each) for each in await scenario.take("Sender")] == [b"B", b"C"]
    await scenario.advance(seconds=61)
    with pytest.raises(Refused):
        await scenario.respond(silent, b"A")
    assert [(each.sender, status(each)) for each in await scenario.take("Sender")] == [("Acme/A", "route.expired")]
    assert [await scenario.state(posted, copy) for copy in range(3)] == ["expired", "delivered", "delivered"]


@pytest.mark.req("M11")
async def test_all_answers_belong_together(scenario: RoutingScenario) -> None:
    """Responses and errors of every copy carry the transaction and refer to the one request."""
    await scenario.rule("Y", add("Filter"))
    posted = await scenario.request("X", "Y", "Z", handle="H-7")
    await scenario.refuse("Filter")
    for name in ("X", "Z"):
        await scenario.respond(await scenario.receive(name), name.encode())
    answers = await scenario.poll("Sender")
    assert {each.transaction for each in answers} == {posted.transaction}
    assert {(each.reference.session, each.reference.handle) for each in answers if each.reference} == {
        (posted.session, "H-7")
    }
    assert sorted(each.sender for each in answers) == ["Acme/X", "Acme/Y", "Acme/Z"]


@pytest.mark.req("M1", "R13")
async def test_an_error_answered_by_a_recipient_is_a_response_like_any_other(scenario: RoutingScenario) -> None:
    """The recipient itself says that it failed: its status reaches the sender as it was given."""
    await scenario.request("X", "Y")
    await scenario.refuse("X")
    await scenario.respond(await scenario.receive("Y"), b"fine")
    failed, fine = await scenario.poll("Sender")
    assert (failed.sender, status(failed)) == ("Acme/X", "broken")
    assert (body(fine), status(fine)) == (b"fine", "")


@pytest.mark.req("R2", "R6")
async def test_a_list_may_be_chosen_by_a_header_value(scenario: RoutingScenario) -> None:
    """A virtual recipient stands for whoever fits the message."""
    await scenario.service("Sales", logical_only=True)
    await scenario.rule("Sales", redirect("North"), when=property_is("region", "north"))
    await scenario.rule("Sales", redirect("South"), when=property_is("region", "south"))
    await scenario.request("Sales", properties=(Property("region", "south"),))
    assert (await scenario.receive("South")).invoker == "Acme/Sales"
    assert await scenario.poll("North") == []


@pytest.mark.req("R6", "R12")
@pytest.mark.parametrize("kind", [MessageType.NOTIFICATION, MessageType.REQUEST])
async def test_a_notification_stays_one_behind_an_isolating_redirect(
    scenario: RoutingScenario, kind: MessageType
) -> None:
    """Whoever stands in for another sees that one as the sender, and is asked for no more than the sender asked for."""
    await scenario.rule("Virtual", redirect("Target", isolates=True))
    await scenario.request("Virtual", data=b"answer", type=kind)
    delivered = await scenario.receive("Target")
    assert (delivered.type, delivered.sender, delivered.in_transit) == (kind, "Acme/Virtual", False)


@pytest.mark.req("R6", "R11", "M8")
async def test_a_virtual_recipient_that_fits_nobody_is_that_copys_fault_alone(scenario: RoutingScenario) -> None:
    await scenario.service("Sales", logical_only=True)
    await scenario.rule("Sales", redirect("North"), when=property_is("region", "north"))
    posted = await scenario.request("Sales", "X", properties=(Property("region", "west"),))
    assert [each.code for each in posted.recipients] == ["route.invalid", ""]
    await scenario.receive("X")
    assert await scenario.poll("North") == []


@pytest.mark.req("M9", "M8")
async def test_withdrawing_tells_for_each_on_the_list_what_was_withdrawn(scenario: RoutingScenario) -> None:
    posted = await scenario.request("Taken", "Waiting", type=MessageType.NOTIFICATION)
    await scenario.receive("Taken")
    result = await scenario.post("Sender", type=MessageType.CANCEL, reference=posted.session)
    assert [(each.service, bool(each.code)) for each in result.recipients] == [
        ("Acme/Taken", True),
        ("Acme/Waiting", False),
    ]
    assert await scenario.poll("Waiting") == []


@pytest.mark.req("D6")
async def test_many_messages_to_many_keep_their_order_for_everyone(scenario: RoutingScenario) -> None:
    numbers = [str(number).encode() for number in range(8)]
    for number in numbers:
        await scenario.request("X", "Y", data=number, type=MessageType.NOTIFICATION)
    for name in ("X", "Y"):
        assert [body(each) for each in await scenario.poll(name)] == numbers
