"""Routing slips: a message passes the services that its header or the sender's rules name, one after the other.

The cases are those that Apache Camel's tests ask of its routing slip, re-stated for a network in which the slip is an explicit
route or comes from rules, and the services are somebody else's.
"""

from __future__ import annotations

import pytest

from postroad.core.model.message import Argument, Message, MessageType, Property, Recipient, Status
from postroad.errors import Refused
from tests.samples.town import BROKEN, Town, add, add_after, body, body_says, property_names

VIA = ("X", "Y", "Z")


@pytest.mark.req("R9", "D5")
async def test_everyone_on_the_slip_gets_the_message_once_and_in_order(town: Town) -> None:
    """A slip of three: each gets the very same content, nobody before it is its turn, and then the recipient."""
    posted = await town.post("End", slip=VIA, data=b"answer")
    for place, name in enumerate(VIA):
        for later in (*VIA[place + 1 :], "End"):
            assert await town.waiting(later) == []
        assert body(await town.pass_on(name)) == b"answer"
    last = await town.next("End")
    assert (body(last), last.in_transit) == (b"answer", False)
    assert await town.passed(posted) == [*VIA, "End"]
    for name in VIA:
        assert await town.waiting(name) == []


@pytest.mark.req("R9")
@pytest.mark.parametrize("properties", [(), (Property("via", ""),), (Property("via", "W"),)])
async def test_without_a_slip_or_with_an_empty_one_the_message_goes_straight_to_its_recipient(
    town: Town, properties: tuple[Property, ...]
) -> None:
    """No header, an empty header, and one that names nobody whom a rule knows."""
    await town.rule("Sender", add("X"), when=property_names("via", "X"))
    posted = await town.post("End", properties=properties, data=b"answer")
    assert body(await town.next("End")) == b"answer"
    assert await town.passed(posted) == ["End"]


@pytest.mark.req("R2", "R3")
async def test_a_slip_may_come_from_a_header_value(town: Town) -> None:
    """Rules turn a list in a property into a slip; its order is that of the rules, not that of the list."""
    for name in VIA:
        await town.rule("Sender", add(name), when=property_names("via", name))
    posted = await town.post("End", properties=(Property("via", "Z, X"),), data=b"answer")
    await town.pass_on("X")
    await town.pass_on("Z")
    await town.next("End")
    assert await town.passed(posted) == ["X", "Z", "End"]


@pytest.mark.req("R2", "R3")
async def test_a_slip_may_come_from_the_body(town: Town) -> None:
    await town.rule("Sender", add("X"), when=body_says("$.via[*]", "X"))
    await town.rule("Sender", add("Y"), when=body_says("$.via[*]", "Y"))
    sent = b'{"via": ["Y", "W"]}'
    await town.post("End", data=sent)
    assert body(await town.pass_on("Y")) == sent
    assert body(await town.next("End")) == sent


@pytest.mark.req("D5", "R9")
async def test_what_one_changes_the_next_one_sees(town: Town) -> None:
    """The service in the middle doubles the content: those before saw it single, those behind see it double."""
    await town.post("End", slip=VIA, data=b"answer")
    assert body(await town.pass_on("X")) == b"answer"
    seen = await town.pass_on("Y", b"answeranswer")
    assert body(seen) == b"answer"
    assert body(await town.pass_on("Z")) == b"answeranswer"
    assert body(await town.next("End")) == b"answeranswer"


@pytest.mark.req("R9", "R14")
async def test_an_unknown_service_on_the_slip_stops_everything_before_it_begins(town: Town) -> None:
    """A slip is checked as a whole: even those in front of the unknown one do not get the message."""
    await town.service("X")
    with pytest.raises(Refused) as refused:
        await town.post("End", slip=("X", "Nobody", "Z"))
    assert refused.value.code == "recipient.unknown"
    for name in ("X", "Z", "End"):
        assert await town.waiting(name) == []


@pytest.mark.req("R14")
async def test_a_service_that_was_removed_since_the_rule_was_made_stops_it_too(town: Town) -> None:
    """The slip names somebody who cannot be reached any more."""
    await town.rule("Sender", add("X"), add("Y"))
    await town.remove("Y")
    with pytest.raises(Refused) as refused:
        await town.post("End")
    assert refused.value.code == "recipient.unknown"
    assert await town.waiting("X") == []


@pytest.mark.req("R9", "R14")
async def test_the_same_service_may_stand_on_a_slip_twice(town: Town) -> None:
    """It gets the message twice, each time as it is then, each time with a token of its own."""
    posted = await town.post("End", slip=("X", "Y", "X"), data=b"1")
    first = await town.pass_on("X", b"2")
    await town.pass_on("Y", b"3")
    second = await town.pass_on("X", b"4")
    assert (body(first), body(second), body(await town.next("End"))) == (b"1", b"3", b"4")
    assert first.token != second.token
    assert await town.passed(posted) == ["X", "Y", "X", "End"]


@pytest.mark.req("R15", "M10")
@pytest.mark.parametrize("before", [0, 1, 2])
async def test_a_failure_ends_the_slip_where_it_happens(town: Town, before: int) -> None:
    """First, second or last on the slip: those in front had the message, nobody behind gets it, the sender is told."""
    posted = await town.post("End", slip=VIA, data=b"answer", handle="H-1")
    for name in VIA[:before]:
        await town.pass_on(name)
    await town.fail(VIA[before])
    for name in (*VIA, "End"):
        assert await town.waiting(name) == []
    told = await town.next("Sender")
    assert told.reference is not None
    assert told.status is not None
    assert (told.reference.session, told.reference.handle) == (posted.session, "H-1")
    assert (told.status.code, "Town/" + VIA[before] in told.status.text) == ("route.failed", True)
    assert "cannot do this" in told.status.text
    assert await town.state(posted) == "failed"


@pytest.mark.req("R15")
async def test_a_failed_notification_is_silent_but_leaves_a_trace(town: Town) -> None:
    posted = await town.post("End", slip=("X",), type=MessageType.NOTIFICATION)
    await town.fail("X")
    assert await town.waiting("Sender") == []
    assert await town.waiting("End") == []
    assert await town.state(posted) == "failed"


@pytest.mark.req("R12")
@pytest.mark.parametrize("failing", [0, 1])
async def test_a_handled_failure_lets_the_message_go_on_as_it_was(town: Town, failing: int) -> None:
    """Whoever put the failing service on the slip takes its errors upon itself: the rest of the slip is passed."""
    names = ("X", "Y")
    await town.rule("Sender", *[add(name, absorbs=place == failing) for place, name in enumerate(names)])
    posted = await town.post("End", data=b"answer")
    for place, name in enumerate(names):
        if place == failing:
            await town.answer(await town.next(name), b"rubbish", status=BROKEN)
        else:
            await town.pass_on(name)
    assert body(await town.next("End")) == b"answer"
    assert await town.waiting("Sender") == []
    assert await town.passed(posted) == [*names, "End"]


@pytest.mark.req("R12")
async def test_a_handled_failure_leaves_out_all_that_the_failed_service_brought_along(town: Town) -> None:
    """X brings Y and Z along behind itself; when Y fails, X's place is skipped as one, and what follows is passed."""
    await town.rule("Sender", add("X", absorbs=True), add("W"))
    await town.rule("X", add_after("Y"), add_after("Z"))
    await town.post("End", data=b"answer")
    await town.pass_on("X")
    await town.fail("Y")
    assert await town.waiting("Z") == []
    await town.pass_on("W")
    await town.next("End")


@pytest.mark.req("R15")
async def test_a_filter_that_says_no_ends_the_slip_as_rejected_even_where_errors_are_handled(town: Town) -> None:
    """A stop is no failure: nobody can take it upon himself."""
    await town.rule("Sender", add("Filter", absorbs=True))
    posted = await town.post("End")
    await town.fail("Filter", Status("rejected", "not from you"))
    assert await town.waiting("End") == []
    told = await town.next("Sender")
    assert told.status is not None
    assert (told.status.code, "not from you" in told.status.text) == ("route.rejected", True)
    assert await town.state(posted) == "rejected"


@pytest.mark.req("D2", "D6")
async def test_a_second_try_does_not_send_the_message_on_twice(town: Town) -> None:
    """A service fails at first and works at the second try: it sees the message twice, those behind it once."""
    posted = await town.post("End", slip=("X",), data=b"answer")
    first = await town.next("X")
    await town.give_back(first)
    again = await town.pass_on("X", b"done")
    assert (first.attempt, again.attempt) == (1, 2)
    assert body(await town.next("End")) == b"done"
    assert await town.passed(posted) == ["X", "End"]


@pytest.mark.req("D5", "M5")
async def test_one_answer_per_service_and_only_from_whom_it_was_given_to(town: Town) -> None:
    """Neither the next one nor a second answer can send the message on again."""
    await town.post("End", slip=("X", "Y"), data=b"answer")
    delivered = await town.pass_on("X", b"first")
    with pytest.raises(Refused) as twice:
        await town.answer(delivered, b"second")
    assert twice.value.code == "reference.answered"
    stolen = Message(type=MessageType.RESPONSE, reference=delivered.token)
    with pytest.raises(Refused) as foreign:
        await town.network.post(await town.service("Y"), stolen)
    assert foreign.value.code == "reference.invalid"
    assert body(await town.pass_on("Y")) == b"first"
    assert body(await town.next("End")) == b"first"


@pytest.mark.req("D6")
async def test_messages_keep_their_order_along_a_slip(town: Town) -> None:
    """Ten messages from one sender reach each stop, and the recipient, in the order in which they were posted."""
    numbers = [str(number).encode() for number in range(10)]
    for number in numbers:
        await town.post("End", slip=("X",), data=number, type=MessageType.NOTIFICATION)
    delivered = await town.waiting("X")
    assert [body(each) for each in delivered] == numbers
    for each in delivered:
        await town.answer(each)
    assert [body(each) for each in await town.waiting("End")] == numbers


@pytest.mark.req("R3", "R9")
async def test_everyone_gets_the_arguments_meant_for_him(town: Town) -> None:
    for name in ("X", "Y", "End"):
        await town.service(name)
    await town.rule("Sender", add("Y", arguments=(Argument("sheet", "split"),)))
    to = (Recipient("Town/End", (Argument("operation", "order"),)),)
    route = (Recipient("Town/X", (Argument("mode", "strict"),)),)
    await town.network.post(await town.service("Sender"), Message(to=to, route=route))
    assert (await town.pass_on("Y")).arguments == (Argument("sheet", "split"),)
    assert (await town.pass_on("X")).arguments == (Argument("mode", "strict"),)
    assert (await town.next("End")).arguments == (Argument("operation", "order"),)


@pytest.mark.req("R12")
async def test_who_is_isolated_sees_a_plain_request_of_who_included_it(town: Town) -> None:
    """X includes Y and keeps the wider route from it: to Y the message is a request of X's, and its answer goes on."""
    await town.rule("X", add("Y", isolates=True))
    await town.post("End", slip=("X",), data=b"answer", type=MessageType.NOTIFICATION, handle="H-1")
    seen = await town.next("Y")
    assert (seen.sender, seen.type, seen.in_transit, seen.handle) == ("Town/X", MessageType.REQUEST, False, "")
    await town.answer(seen, b"changed")
    wide = await town.pass_on("X")
    assert (body(wide), wide.sender, wide.handle) == (b"changed", "Town/Sender", "H-1")
    assert body(await town.next("End")) == b"changed"


@pytest.mark.req("M10", "R15")
async def test_a_service_that_keeps_silent_lets_the_message_expire(town: Town) -> None:
    """Time runs out on the slip: the sender is told, nobody behind gets anything, and a late answer changes nothing."""
    expires = town.clock.now_us() + 60_000_000
    posted = await town.post("End", slip=("X", "Y"), expires_at_us=expires)
    await town.pass_on("X")
    slow = await town.next("Y")
    await town.later(61)
    with pytest.raises(Refused):
        await town.answer(slow)
    assert await town.waiting("End") == []
    told = await town.next("Sender")
    assert told.status is not None
    assert told.status.code == "route.expired"
    assert await town.state(posted) == "expired"


@pytest.mark.req("M9")
async def test_a_message_withdrawn_on_its_slip_goes_nowhere(town: Town) -> None:
    posted = await town.post("End", slip=("X",))
    taken = await town.next("X")
    cancel = Message(type=MessageType.CANCEL, reference=posted.session)
    [result] = (await town.network.post(await town.service("Sender"), cancel)).recipients
    assert result.code == ""
    with pytest.raises(Refused):
        await town.answer(taken)
    assert await town.waiting("End") == []
    assert await town.state(posted) == "cancelled"


@pytest.mark.req("A1", "A2")
async def test_every_stop_leaves_its_events(town: Town) -> None:
    """As many deliveries as there are services on the slip and a recipient, each handed out once and settled once."""
    posted = await town.post("End", slip=VIA)
    for name in VIA:
        await town.pass_on(name)
    await town.answer(await town.next("End"))
    [copy] = await town.copies(posted)
    assert [[event.what for event in stop.events].count("handed out") for stop in copy.stops] == [1, 1, 1, 1]
    assert len({stop.delivery for stop in copy.stops}) == 4
