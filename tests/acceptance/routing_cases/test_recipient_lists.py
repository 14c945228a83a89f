"""Recipient lists: one message for many, each with a copy, a fate and an answer of its own.

The cases are those that Apache Camel's tests ask of its recipient list, re-stated for messages with several services in To.
There, a list may be told to stop at the first fault or to ignore it; here, one recipient's fault never touches another's copy.
"""

from __future__ import annotations

import pytest

from postroad.core.model.message import Argument, Delivered, Message, MessageType, Property, Recipient
from postroad.errors import Refused
from tests.samples.town import BROKEN, Town, add, body, property_is, redirect


def status(delivered: Delivered) -> str:
    return delivered.status.code if delivered.status else ""


@pytest.mark.req("M8", "M7")
async def test_everyone_on_the_list_gets_a_copy_of_its_own(town: Town) -> None:
    """The same content and session for all, and a token for each."""
    await town.post("X", "Y", "Z", data=b"answer")
    copies = [await town.next(name) for name in ("X", "Y", "Z")]
    assert {body(each) for each in copies} == {b"answer"}
    assert len({each.session for each in copies}) == 1
    assert len({each.token for each in copies}) == 3


@pytest.mark.req("M5")
async def test_an_empty_list_is_refused(town: Town) -> None:
    with pytest.raises(Refused) as refused:
        await town.post()
    assert refused.value.code == "recipient.missing"


@pytest.mark.req("M8")
@pytest.mark.parametrize("place", [0, 1, 2])
async def test_an_unknown_name_on_the_list_is_reported_and_the_others_get_theirs(town: Town, place: int) -> None:
    """First, in the middle or last: the answer to the post names the unknown one with its code."""
    names = ["X", "Y"]
    names.insert(place, "Nobody")
    posted = await town.post(*names, data=b"answer")
    assert [each.code for each in posted.recipients] == [
        "recipient.unknown" if name == "Nobody" else "" for name in names
    ]
    for name in ("X", "Y"):
        assert body(await town.next(name)) == b"answer"


@pytest.mark.req("M8")
async def test_a_list_of_unknown_names_is_refused_as_a_whole(town: Town) -> None:
    with pytest.raises(Refused) as refused:
        await town.post("Nobody", "Nobody")
    assert refused.value.code == "recipient.unknown"


@pytest.mark.req("M8", "M7")
async def test_whoever_is_on_the_list_twice_gets_two_copies(town: Town) -> None:
    """Each with its own arguments and token; each is answered for itself."""
    await town.service("X")
    to = tuple(Recipient("Town/X", (Argument("part", number),)) for number in ("1", "2"))
    await town.network.post(await town.service("Sender"), Message(to=to, type=MessageType.REQUEST))
    first, second = await town.waiting("X")
    assert [each.arguments[0].value for each in (first, second)] == ["1", "2"]
    await town.answer(second, b"two")
    await town.answer(first, b"one")
    assert [body(each) for each in await town.waiting("Sender")] == [b"two", b"one"]


@pytest.mark.req("M8", "R15")
async def test_one_copys_failure_on_the_way_does_not_stop_the_others(town: Town) -> None:
    """Y's own filter fails: X before it and Z behind it on the list get theirs, and one error response comes back."""
    await town.rule("Y", add("Filter"))
    posted = await town.post("X", "Y", "Z", data=b"answer")
    await town.fail("Filter")
    for name in ("X", "Z"):
        assert body(await town.next(name)) == b"answer"
    assert await town.waiting("Y") == []
    told = await town.next("Sender")
    assert (told.sender, status(told)) == ("Town/Y", "route.failed")
    assert [await town.state(posted, copy) for copy in range(3)] == ["under way", "failed", "under way"]


@pytest.mark.req("M8", "R15")
async def test_a_shared_service_may_fail_for_one_copy_and_not_for_the_next(town: Town) -> None:
    """What the sender put in front is passed by every copy for itself."""
    posted = await town.post("X", "Y", slip=("Shared",), data=b"answer")
    first, second = await town.waiting("Shared")
    await town.answer(first, status=BROKEN)
    await town.answer(second)
    assert await town.waiting("X") == []
    assert body(await town.next("Y")) == b"answer"
    assert (await town.next("Sender")).sender == "Town/X"
    assert [await town.state(posted, copy) for copy in (0, 1)] == ["failed", "under way"]


@pytest.mark.req("M8", "D5")
async def test_what_is_done_to_one_copy_is_not_seen_in_another(town: Town) -> None:
    """Copies share nothing: X's own service rewrites what X gets, and only that."""
    await town.rule("X", add("Rewriter"))
    await town.post("X", "Y", data=b"original")
    await town.pass_on("Rewriter", b"rewritten")
    assert (body(await town.next("X")), body(await town.next("Y"))) == (b"rewritten", b"original")


@pytest.mark.req("D8", "M8")
async def test_nobody_waits_for_a_slow_one(town: Town) -> None:
    """The first on the list does nothing; the others have answered, and the answers are there."""
    await town.post("Slow", "B", "C", data=b"answer")
    held = await town.next("Slow")
    await town.answer(await town.next("C"), b"c")
    await town.answer(await town.next("B"), b"b")
    assert [body(each) for each in await town.waiting("Sender")] == [b"c", b"b"], "in the order of answering"
    await town.answer(held, b"a")
    assert body((await town.waiting("Sender"))[-1]) == b"a"


@pytest.mark.req("M10")
async def test_a_silent_one_times_out_alone(town: Town) -> None:
    """B and C answer in time, A does not: the sender gets two responses and one error, and A's late answer is refused."""
    posted = await town.post("A", "B", "C", expires_at_us=town.clock.now_us() + 60_000_000)
    silent = await town.next("A")
    for name in ("B", "C"):
        await town.answer(await town.next(name), name.encode())
    assert [body(each) for each in await town.take("Sender")] == [b"B", b"C"]
    await town.later(61)
    with pytest.raises(Refused):
        await town.answer(silent, b"A")
    assert [(each.sender, status(each)) for each in await town.take("Sender")] == [("Town/A", "route.expired")]
    assert [await town.state(posted, copy) for copy in range(3)] == ["expired", "delivered", "delivered"]


@pytest.mark.req("M11")
async def test_all_answers_belong_together(town: Town) -> None:
    """Responses and errors of every copy carry the transaction and refer to the one request."""
    await town.rule("Y", add("Filter"))
    posted = await town.post("X", "Y", "Z", handle="H-7")
    await town.fail("Filter")
    for name in ("X", "Z"):
        await town.answer(await town.next(name), name.encode())
    answers = await town.waiting("Sender")
    assert {each.transaction for each in answers} == {posted.transaction}
    assert {(each.reference.session, each.reference.handle) for each in answers if each.reference} == {
        (posted.session, "H-7")
    }
    assert sorted(each.sender for each in answers) == ["Town/X", "Town/Y", "Town/Z"]


@pytest.mark.req("M1", "R13")
async def test_an_error_answered_by_a_recipient_is_a_response_like_any_other(town: Town) -> None:
    """The recipient itself says that it failed: its status reaches the sender as it was given."""
    await town.post("X", "Y")
    await town.fail("X")
    await town.answer(await town.next("Y"), b"fine")
    failed, fine = await town.waiting("Sender")
    assert (failed.sender, status(failed)) == ("Town/X", "broken")
    assert (body(fine), status(fine)) == (b"fine", "")


@pytest.mark.req("R2", "R6")
async def test_a_list_may_be_chosen_by_a_header_value(town: Town) -> None:
    """A virtual recipient stands for whoever fits the message."""
    await town.service("Sales", logical_only=True)
    await town.rule("Sales", redirect("North"), when=property_is("region", "north"))
    await town.rule("Sales", redirect("South"), when=property_is("region", "south"))
    await town.post("Sales", properties=(Property("region", "south"),))
    assert (await town.next("South")).invoker == "Town/Sales"
    assert await town.waiting("North") == []


@pytest.mark.req("R6", "R12")
@pytest.mark.parametrize("kind", [MessageType.NOTIFICATION, MessageType.REQUEST])
async def test_a_notification_stays_one_behind_an_isolating_redirect(town: Town, kind: MessageType) -> None:
    """Whoever stands in for another sees that one as the sender, and is asked for no more than the sender asked for."""
    await town.rule("Virtual", redirect("Target", isolates=True))
    await town.post("Virtual", data=b"answer", type=kind)
    delivered = await town.next("Target")
    assert (delivered.type, delivered.sender, delivered.in_transit) == (kind, "Town/Virtual", False)


@pytest.mark.req("R6", "R11", "M8")
async def test_a_virtual_recipient_that_fits_nobody_is_that_copys_fault_alone(town: Town) -> None:
    await town.service("Sales", logical_only=True)
    await town.rule("Sales", redirect("North"), when=property_is("region", "north"))
    posted = await town.post("Sales", "X", properties=(Property("region", "west"),))
    assert [each.code for each in posted.recipients] == ["route.invalid", ""]
    await town.next("X")
    assert await town.waiting("North") == []


@pytest.mark.req("M9", "M8")
async def test_withdrawing_tells_for_each_on_the_list_what_was_withdrawn(town: Town) -> None:
    posted = await town.post("Taken", "Waiting", type=MessageType.NOTIFICATION)
    await town.next("Taken")
    cancel = Message(type=MessageType.CANCEL, reference=posted.session)
    result = await town.network.post(await town.service("Sender"), cancel)
    assert [(each.service, bool(each.code)) for each in result.recipients] == [
        ("Town/Taken", True),
        ("Town/Waiting", False),
    ]
    assert await town.waiting("Waiting") == []


@pytest.mark.req("D6")
async def test_many_messages_to_many_keep_their_order_for_everyone(town: Town) -> None:
    numbers = [str(number).encode() for number in range(8)]
    for number in numbers:
        await town.post("X", "Y", data=number, type=MessageType.NOTIFICATION)
    for name in ("X", "Y"):
        assert [body(each) for each in await town.waiting(name)] == numbers
