"""Routing slips: a message passes the services that its header or the sender's rules name, one after the other.

The cases are those that Apache Camel's tests ask of its routing slip, re-stated for a network in which the slip is an explicit
route or comes from rules, and the services are somebody else's.
"""

from __future__ import annotations

import pytest

from postroad.core.model.message import Argument, MessageType, Property, Recipient, Status
from postroad.errors import Refused
from tests.samples.routing_scenario import BROKEN, RoutingScenario, add, add_after, body, body_has, property_lists

VIA = ("X", "Y", "Z")


@pytest.mark.req("R9", "D5")
async def test_everyone_on_the_slip_gets_the_message_once_and_in_order(scenario: RoutingScenario) -> None:
    """A slip of three: each gets the very same content, nobody before it is its turn, and then the recipient."""
    posted = await scenario.request("End", slip=VIA, data=b"answer")
    for place, name in enumerate(VIA):
        for later in (*VIA[place + 1 :], "End"):
            assert await scenario.poll(later) == []
        assert body(await scenario.pass_on(name)) == b"answer"
    last = await scenario.receive("End")
    assert (body(last), last.in_transit) == (b"answer", False)
    assert await scenario.passed(posted) == [*VIA, "End"]
    for name in VIA:
        assert await scenario.poll(name) == []


@pytest.mark.req("R9")
@pytest.mark.parametrize("properties", [(), (Property("via", ""),), (Property("via", "W"),)])
async def test_without_a_slip_or_with_an_empty_one_the_message_goes_straight_to_its_recipient(
    scenario: RoutingScenario, properties: tuple[Property, ...]
) -> None:
    """No header, an empty header, and one that names nobody whom a rule knows."""
    await scenario.rule("Sender", add("X"), when=property_lists("via", "X"))
    posted = await scenario.request("End", properties=properties, data=b"answer")
    assert body(await scenario.receive("End")) == b"answer"
    assert await scenario.passed(posted) == ["End"]


@pytest.mark.req("R2", "R3")
async def test_a_slip_may_come_from_a_header_value(scenario: RoutingScenario) -> None:
    """Rules turn a list in a property into a slip; its order is that of the rules, not that of the list."""
    for name in VIA:
        await scenario.rule("Sender", add(name), when=property_lists("via", name))
    posted = await scenario.request("End", properties=(Property("via", "Z, X"),), data=b"answer")
    await scenario.pass_on("X")
    await scenario.pass_on("Z")
    await scenario.receive("End")
    assert await scenario.passed(posted) == ["X", "Z", "End"]


@pytest.mark.req("R2", "R3")
async def test_a_slip_may_come_from_the_body(scenario: RoutingScenario) -> None:
    await scenario.rule("Sender", add("X"), when=body_has("$.via[*]", "X"))
    await scenario.rule("Sender", add("Y"), when=body_has("$.via[*]", "Y"))
    sent = b'{"via": ["Y", "W"]}'
    await scenario.request("End", data=sent)
    assert body(await scenario.pass_on("Y")) == sent
    assert body(await scenario.receive("End")) == sent


@pytest.mark.req("D5", "R9")
async def test_what_one_changes_the_next_one_sees(scenario: RoutingScenario) -> None:
    """The service in the middle doubles the content: those before saw it single, those behind see it double."""
    await scenario.request("End", slip=VIA, data=b"answer")
    assert body(await scenario.pass_on("X")) == b"answer"
    seen = await scenario.pass_on("Y", b"answeranswer")
    assert body(seen) == b"answer"
    assert body(await scenario.pass_on("Z")) == b"answeranswer"
    assert body(await scenario.receive("End")) == b"answeranswer"


@pytest.mark.req("R9", "R14")
async def test_an_unknown_service_on_the_slip_stops_everything_before_it_begins(scenario: RoutingScenario) -> None:
    """A slip is checked as a whole: even those in front of the unknown one do not get the message."""
    await scenario.service("X")
    with pytest.raises(Refused) as refused:
        await scenario.request("End", slip=("X", "Nobody", "Z"))
    assert refused.value.code == "recipient.unknown"
    for name in ("X", "Z", "End"):
        assert await scenario.poll(name) == []


@pytest.mark.req("R14")
async def test_a_service_that_was_removed_since_the_rule_was_made_stops_it_too(scenario: RoutingScenario) -> None:
    """The slip names somebody who cannot be reached any more."""
    await scenario.rule("Sender", add("X"), add("Y"))
    await scenario.remove("Y")
    with pytest.raises(Refused) as refused:
        await scenario.request("End")
    assert refused.value.code == "recipient.unknown"
    assert await scenario.poll("X") == []


@pytest.mark.req("R9", "R14")
async def test_the_same_service_may_stand_on_a_slip_twice(scenario: RoutingScenario) -> None:
    """It gets the message twice, each time as it is then, each time with a token of its own."""
    posted = await scenario.request("End", slip=("X", "Y", "X"), data=b"1")
    first = await scenario.pass_on("X", b"2")
    await scenario.pass_on("Y", b"3")
    second = await scenario.pass_on("X", b"4")
    assert (body(first), body(second), body(await scenario.receive("End"))) == (b"1", b"3", b"4")
    assert first.token != second.token
    assert await scenario.passed(posted) == ["X", "Y", "X", "End"]


@pytest.mark.req("R15", "M10")
@pytest.mark.parametrize("before", [0, 1, 2])
async def test_a_failure_ends_the_slip_where_it_happens(scenario: RoutingScenario, before: int) -> None:
    """First, second or last on the slip: those in front had the message, nobody behind gets it, the sender is told."""
    posted = await scenario.request("End", slip=VIA, data=b"answer", handle="H-1")
    for name in VIA[:before]:
        await scenario.pass_on(name)
    await scenario.refuse(VIA[before])
    for name in (*VIA, "End"):
        assert await scenario.poll(name) == []
    told = await scenario.receive("Sender")
    assert told.reference is not None
    assert told.status is not None
    assert (told.reference.session, told.reference.handle) == (posted.session, "H-1")
    assert (told.status.code, "Acme/" + VIA[before] in told.status.text) == ("route.failed", True)
    assert "cannot do this" in told.status.text
    assert await scenario.state(posted) == "failed"


@pytest.mark.req("R15")
async def test_a_failed_notification_is_silent_but_leaves_a_trace(scenario: RoutingScenario) -> None:
    posted = await scenario.request("End", slip=("X",), type=MessageType.NOTIFICATION)
    await scenario.refuse("X")
    assert await scenario.poll("Sender") == []
    assert await scenario.poll("End") == []
    assert await scenario.state(posted) == "failed"


@pytest.mark.req("R12")
@pytest.mark.parametrize("failing", [0, 1])
async def test_a_handled_failure_lets_the_message_go_on_as_it_was(scenario: RoutingScenario, failing: int) -> None:
    """Whoever put the failing service on the slip takes its errors upon itself: the rest of the slip is passed."""
    names = ("X", "Y")
    await scenario.rule("Sender", *[add(name, absorbs=place == failing) for place, name in enumerate(names)])
    posted = await scenario.request("End", data=b"answer")
    for place, name in enumerate(names):
        if place == failing:
            await scenario.respond(await scenario.receive(name), b"rubbish", status=BROKEN)
        else:
            await scenario.pass_on(name)
    assert body(await scenario.receive("End")) == b"answer"
    assert await scenario.poll("Sender") == []
    assert await scenario.passed(posted) == [*names, "End"]


@pytest.mark.req("R12")
async def test_a_handled_failure_leaves_out_all_that_the_failed_service_brought_along(
    scenario: RoutingScenario,
) -> None:
    """X brings Y and Z along behind itself; when Y fails, X's place is skipped as one, and what follows is passed."""
    await scenario.rule("Sender", add("X", absorbs=True), add("W"))
    await scenario.rule("X", add_after("Y"), add_after("Z"))
    await scenario.request("End", data=b"answer")
    await scenario.pass_on("X")
    await scenario.refuse("Y")
    assert await scenario.poll("Z") == []
    await scenario.pass_on("W")
    await scenario.receive("End")


@pytest.mark.req("R15")
async def test_a_filter_that_says_no_ends_the_slip_as_rejected_even_where_errors_are_handled(
    scenario: RoutingScenario,
) -> None:
    """A stop is no failure: nobody can take it upon himself."""
    await scenario.rule("Sender", add("Filter", absorbs=True))
    posted = await scenario.request("End")
    await scenario.refuse("Filter", Status("rejected", "not from you"))
    assert await scenario.poll("End") == []
    told = await scenario.receive("Sender")
    assert told.status is not None
    assert (told.status.code, "not from you" in told.status.text) == ("route.rejected", True)
    assert await scenario.state(posted) == "rejected"


@pytest.mark.req("D2", "D6")
async def test_a_second_try_does_not_send_the_message_on_twice(scenario: RoutingScenario) -> None:
    """A service fails at first and works at the second try: it sees the message twice, those behind it once."""
    posted = await scenario.request("End", slip=("X",), data=b"answer")
    first = await scenario.receive("X")
    await scenario.return_to_queue(first)
    again = await scenario.pass_on("X", b"done")
    assert (first.attempt, again.attempt) == (1, 2)
    assert body(await scenario.receive("End")) == b"done"
    assert await scenario.passed(posted) == ["X", "End"]


@pytest.mark.req("D5", "M5")
async def test_one_answer_per_service_and_only_from_whom_it_was_given_to(scenario: RoutingScenario) -> None:
    """Neither the next one nor a second answer can send the message on again."""
    await scenario.request("End", slip=("X", "Y"), data=b"answer")
    delivered = await scenario.pass_on("X", b"first")
    with pytest.raises(Refused) as twice:
        await scenario.respond(delivered, b"second")
    assert twice.value.code == "reference.answered"
    with pytest.raises(Refused) as foreign:
        await scenario.respond(delivered, by="Y")
    assert foreign.value.code == "reference.invalid"
    assert body(await scenario.pass_on("Y")) == b"first"
    assert body(await scenario.receive("End")) == b"first"


@pytest.mark.req("D6")
async def test_messages_keep_their_order_along_a_slip(scenario: RoutingScenario) -> None:
    """Ten messages from one sender reach each stop, and the recipient, in the order in which they were posted."""
    numbers = [str(number).encode() for number in range(10)]
    for number in numbers:
        await scenario.request("End", slip=("X",), data=number, type=MessageType.NOTIFICATION)
    delivered = await scenario.poll("X")
    assert [body(each) for each in delivered] == numbers
    for each in delivered:
        await scenario.respond(each)
    assert [body(each) for each in await scenario.poll("End")] == numbers


@pytest.mark.req("R3", "R9")
async def test_everyone_gets_the_arguments_meant_for_him(scenario: RoutingScenario) -> None:
    for name in ("X", "Y", "End"):
        await scenario.service(name)
    await scenario.rule("Sender", add("Y", arguments=(Argument("sheet", "split"),)))
    await scenario.service("Sender")
    to = Recipient("Acme/End", (Argument("operation", "order"),))
    await scenario.post("Sender", to, route=[Recipient("Acme/X", (Argument("mode", "strict"),))])
    assert (await scenario.pass_on("Y")).arguments == (Argument("sheet", "split"),)
    assert (await scenario.pass_on("X")).arguments == (Argument("mode", "strict"),)
    assert (await scenario.receive("End")).arguments == (Argument("operation", "order"),)


@pytest.mark.req("R12")
async def test_who_is_isolated_sees_a_plain_request_of_who_included_it(scenario: RoutingScenario) -> None:
    """X includes Y and keeps the wider route from it: to Y the message is a request of X's, and its answer goes on."""
    await scenario.rule("X", add("Y", isolates=True))
    await scenario.request("End", slip=("X",), data=b"answer", type=MessageType.NOTIFICATION, handle="H-1")
    seen = await scenario.receive("Y")
    assert (seen.sender, seen.type, seen.in_transit, seen.handle) == ("Acme/X", MessageType.REQUEST, False, "")
    await scenario.respond(seen, b"changed")
    wide = await scenario.pass_on("X")
    assert (body(wide), wide.sender, wide.handle) == (b"changed", "Acme/Sender", "H-1")
    assert body(await scenario.receive("End")) == b"changed"


@pytest.mark.req("M10", "R15")
async def test_a_service_that_keeps_silent_lets_the_message_expire(scenario: RoutingScenario) -> None:
    """Time runs out on the slip: the sender is told, nobody behind gets anything, and a late answer changes nothing."""
    expires = scenario.clock.now_us() + 60_000_000
    posted = await scenario.request("End", slip=("X", "Y"), expires_at_us=expires)
    await scenario.pass_on("X")
    slow = await scenario.receive("Y")
    await scenario.advance(seconds=61)
    with pytest.raises(Refused):
        await scenario.respond(slow)
    assert await scenario.poll("End") == []
    told = await scenario.receive("Sender")
    assert told.status is not None
    assert told.status.code == "route.expired"
    assert await scenario.state(posted) == "expired"


@pytest.mark.req("M9")
async def test_a_message_withdrawn_on_its_slip_goes_nowhere(scenario: RoutingScenario) -> None:
    posted = await scenario.request("End", slip=("X",))
    taken = await scenario.receive("X")
    [result] = (await scenario.post("Sender", type=MessageType.CANCEL, reference=posted.session)).recipients
    assert result.code == ""
    with pytest.raises(Refused):
        await scenario.respond(taken)
    assert await scenario.poll("End") == []
    assert await scenario.state(posted) == "cancelled"


@pytest.mark.req("A1", "A2")
async def test_every_stop_leaves_its_events(scenario: RoutingScenario) -> None:
    """As many deliveries as there are services on the slip and a recipient, each handed out once and settled once."""
    posted = await scenario.request("End", slip=VIA)
    for name in VIA:
        await scenario.pass_on(name)
    await scenario.respond(await scenario.receive("End"))
    [copy] = await scenario.copies(posted)
    assert [[event.what for event in stop.events].count("handed out") for stop in copy.stops] == [1, 1, 1, 1]
    assert len({stop.delivery for stop in copy.stops}) == 4
