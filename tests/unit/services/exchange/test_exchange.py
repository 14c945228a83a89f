"""An exchange forwards what it is sent to every queue of which a binding says yes: over the real stages in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from postroad.adapters.desk.seen_keys import SeenKeys
from postroad.core.model.asset import AssetKind, Hosting
from postroad.core.model.directory import Visibility
from postroad.core.model.message import MessageType, Part, Property, PropertyType
from postroad.core.routing.forward import Forward
from tests.samples.conditions import compare, header
from tests.samples.exchange_scenario import (
    EXCHANGE,
    LARGE,
    NEXT,
    NORTH,
    ORDER,
    PUBLISHER,
    SOON_S,
    ExchangeScenario,
    exchange_scenario,
)


@pytest.fixture
async def scenario() -> AsyncIterator[ExchangeScenario]:
    async with exchange_scenario() as scenario:
        yield scenario


@pytest.mark.req("X1", "X3")
async def test_a_message_is_forwarded_with_its_own_header_where_a_query_matches(scenario: ExchangeScenario) -> None:
    await scenario.add_binding(NORTH, query="$msg/order/region = 'north'")
    await scenario.add_binding(LARGE, query="$msg/order/total > 5000")
    session = await scenario.publish(handle="h1", topic="orders", properties=(Property("a", "1", PropertyType.NUMBER),))
    one = await scenario.got(NORTH)
    assert (one.sender, one.topic, one.handle, one.parts) == (PUBLISHER, "orders", "h1", (ORDER,))
    assert one.properties == (Property("a", "1", PropertyType.NUMBER),)
    assert (one.type, one.transaction) == (MessageType.NOTIFICATION, session)
    assert await scenario.has_nothing(LARGE)


@pytest.mark.req("X3")
async def test_header_items_and_the_routing_key_decide_too(scenario: ExchangeScenario) -> None:
    await scenario.add_binding(NORTH, routing_key="orders.north")
    await scenario.add_binding(
        LARGE, query="declare variable $weight external; $weight > 5", routing_key="orders.large"
    )
    for topic, weight in (("orders.large", "4"), ("orders.large", "6"), ("orders.north", "6")):
        await scenario.publish(
            topic=topic, handle=weight, properties=(Property("weight", weight, PropertyType.NUMBER),)
        )
    assert (await scenario.got(LARGE)).handle == "6"
    assert (await scenario.got(NORTH)).topic == "orders.north"
    assert await scenario.has_nothing(LARGE)


@pytest.mark.req("X2")
async def test_content_constructed_by_a_query_keeps_the_original_header(scenario: ExchangeScenario) -> None:
    await scenario.add_binding(NORTH, query="<wrap>{$msg}</wrap>")
    await scenario.publish(topic="orders", handle="h1")
    one = await scenario.got(NORTH)
    assert one.parts == (replace_data(ORDER, b"<wrap>" + ORDER.data + b"</wrap>"),)
    assert (one.sender, one.handle) == (PUBLISHER, "h1")


@pytest.mark.req("X2")
async def test_constructed_content_replaces_the_first_document_wherever_it_is(scenario: ExchangeScenario) -> None:
    """The content is the first document, which need not be the first part."""
    await scenario.add_binding(NORTH, query="<wrap>{$msg}</wrap>")
    scan = Part(id="scan", content_type="image/png", data=b"PNG", attachment=True)
    await scenario.post(PUBLISHER, EXCHANGE, parts=(scan, ORDER))
    made = replace_data(ORDER, b"<wrap>" + ORDER.data + b"</wrap>")
    assert (await scenario.got(NORTH)).parts == (scan, made)


@pytest.mark.req("X1")
async def test_a_query_that_fails_does_not_match_and_is_counted_at_its_binding(scenario: ExchangeScenario) -> None:
    broken = await scenario.add_binding(LARGE, query="<fail>{$msg}</fail>")
    await scenario.add_binding(NORTH)
    await scenario.publish()
    await scenario.got(NORTH)
    assert await scenario.has_nothing(LARGE)
    tally = await scenario.tally(broken)
    assert (tally.errors, tally.last_error, tally.matched) == (1, "it failed", 0)


@pytest.mark.req("X4")
async def test_named_routings_are_queries_scripts_or_the_operators_callables(scenario: ExchangeScenario) -> None:
    await scenario.asset(EXCHANGE, AssetKind.QUERY, "North only", "$msg/order/region = 'north'")
    await scenario.add_binding(NORTH, routing="north only")
    await scenario.add_binding(LARGE, routing="rush")
    await scenario.publish(handle="1")
    await scenario.publish(
        replace_data(ORDER, b"<order><region>south</region></order>"),
        handle="2",
        properties=(Property("rush", "true", PropertyType.BOOLEAN),),
    )
    assert (await scenario.got(NORTH)).handle == "1"
    assert (await scenario.got(LARGE)).handle == "2"
    await scenario.asset(EXCHANGE, AssetKind.QUERY, "North only", "$msg/order/region = 'south'")
    await scenario.publish(replace_data(ORDER, b"<order><region>south</region></order>"), handle="3")
    assert (await scenario.got(NORTH)).handle == "3"


@pytest.mark.req("X6")
async def test_bindings_come_and_go_while_messages_flow(scenario: ExchangeScenario) -> None:
    binding = await scenario.add_binding(NORTH, query="$msg/order/total > 1")
    await scenario.publish(handle="1")
    assert (await scenario.got(NORTH)).handle == "1"
    await scenario.add_binding(NORTH, query="$msg/order/total > 1", enabled=False)
    await scenario.add_binding(LARGE, name="other")
    await scenario.publish(handle="2")
    assert (await scenario.got(LARGE)).handle == "2"
    await scenario.remove(binding)
    await scenario.remove(await scenario.add_binding(LARGE, name="other"))
    result = await scenario.publish(type=MessageType.REQUEST, handle="3")
    answer = await scenario.got(PUBLISHER)
    assert answer.reference is not None
    assert answer.reference.session == result
    assert answer.properties == (Property("exchange.copies", "0", PropertyType.NUMBER),)


async def test_a_queue_gets_a_message_once_however_many_of_its_bindings_say_yes(scenario: ExchangeScenario) -> None:
    await scenario.add_binding(NORTH, "one")
    await scenario.add_binding(NORTH, "two", query="$msg/order")
    await scenario.add_binding(LARGE)
    await scenario.publish(type=MessageType.REQUEST)
    assert (await scenario.got(PUBLISHER)).properties[0].value == "2"
    await scenario.got(NORTH)
    assert await scenario.has_nothing(NORTH)


async def test_messages_leave_in_the_order_in_which_they_came_though_some_take_longer(
    scenario: ExchangeScenario,
) -> None:
    await scenario.add_binding(NORTH, query="<slow>{$msg}</slow>")
    await scenario.add_binding(NORTH, "others", query="not($msg/order/region = 'slow')")
    numbers = [str(number) for number in range(20)]
    slow = replace_data(ORDER, b"<order><region>slow</region></order>")
    for number in numbers:
        await scenario.publish(slow if int(number) % 5 == 0 else ORDER, handle=number)
    assert [(await scenario.got(NORTH)).handle for _ in numbers] == numbers


@pytest.mark.req("X7")
async def test_exchanges_in_a_chain_hand_messages_on_and_a_circle_is_cut(scenario: ExchangeScenario) -> None:
    await scenario.add_binding(NEXT)
    await scenario.add_binding(EXCHANGE, exchange=NEXT)  # back again
    await scenario.add_binding(NORTH, exchange=NEXT, query="$msg/order/region = 'north'")
    await scenario.publish(handle="h1")
    one = await scenario.got(NORTH)
    assert (one.sender, one.handle) == (PUBLISHER, "h1")
    await scenario.publish(type=MessageType.REQUEST, handle="h2")
    await scenario.got(PUBLISHER)
    assert (await scenario.got(NORTH)).handle == "h2"
    assert await scenario.has_nothing(NORTH)


async def test_an_exchange_in_transit_lets_the_message_go_on_as_it_came(scenario: ExchangeScenario) -> None:
    await scenario.add_binding(NORTH)
    await scenario.service("Open/Desk")
    await scenario.post(PUBLISHER, "Open/Desk", route=[EXCHANGE], parts=(ORDER,))
    assert (await scenario.got(NORTH)).parts == (ORDER,)
    assert (await scenario.got("Open/Desk")).parts == (ORDER,)


@pytest.mark.req("X8")
async def test_an_unreadable_document_is_reported_unless_a_binding_matches_without_it(
    scenario: ExchangeScenario,
) -> None:
    await scenario.add_binding(NORTH, query="$msg/order/region = 'north'")
    broken = replace_data(ORDER, b"<order><region>north")
    await scenario.publish(broken, type=MessageType.REQUEST)
    answer = await scenario.got(PUBLISHER)
    assert answer.status is not None
    assert answer.status.code == "wire.malformed"
    await scenario.add_binding(LARGE)  # which does not look
    await scenario.publish(broken, handle="h2")
    assert (await scenario.got(LARGE)).handle == "h2"


@pytest.mark.req("X1", "X8")
async def test_malformed_xml_is_an_error_of_the_binding_that_looks_inside_though_another_matches(
    scenario: ExchangeScenario,
) -> None:
    inside = await scenario.add_binding(NORTH, query="$msg/order/region = 'north'")
    await scenario.add_binding(LARGE, query="$handle = 'h1'")
    await scenario.publish(replace_data(ORDER, b"<order><region>north"), handle="h1")
    assert (await scenario.got(LARGE)).handle == "h1"
    tally = await scenario.tally(inside)
    assert (tally.errors, tally.matched) == (1, 0)
    assert "not well-formed" in tally.last_error


async def test_large_messages_are_matched_while_bindings_come_and_go(scenario: ExchangeScenario) -> None:
    await scenario.add_binding(NORTH, query="$msg/order/region = 'north'")
    large = replace_data(ORDER, b"<order><region>north</region>" + b"<item>1</item>" * 40_000 + b"</order>")
    for number in range(5):
        await scenario.publish(large, handle=str(number))
        await scenario.add_binding(LARGE, f"b{number}", query=f"$msg/order/item = '{number + 1}'")
    got = [(await scenario.got(NORTH)).handle for _ in range(5)]
    assert got == ["0", "1", "2", "3", "4"]
    exchange = await scenario.network.exchanges.load(scenario.gcid(EXCHANGE))
    assert len(exchange) == 6


async def test_rules_of_a_receiver_route_its_copy_and_see_the_publisher(scenario: ExchangeScenario) -> None:
    await scenario.service("North/Gate", visibility=Visibility.PRIVATE)
    written_by = compare("equals", header("from"), PUBLISHER)
    await scenario.rule(NORTH, {"addServiceBefore": "North/Gate"}, when=written_by, role="recipient")
    await scenario.add_binding(NORTH)
    await scenario.add_binding(LARGE)
    await scenario.publish(handle="h1")
    at_the_gate = await scenario.receive("North/Gate", wait_s=SOON_S)
    assert (at_the_gate.in_transit, at_the_gate.sender) == (True, PUBLISHER)
    await scenario.respond(at_the_gate)
    assert (await scenario.got(NORTH)).handle == "h1"
    assert (await scenario.got(LARGE)).handle == "h1"


async def test_an_exchange_forwards_nothing_to_organizations_that_it_is_not_open_to(scenario: ExchangeScenario) -> None:
    north = await scenario.add_binding(NORTH)
    await scenario.add_binding(LARGE)
    await scenario.change(EXCHANGE, open_to=("Large",))
    await scenario.publish()
    await scenario.got(LARGE)
    assert await scenario.has_nothing(NORTH)
    tally = await scenario.tally(north)
    assert tally.last_error.startswith("permission.denied")


@pytest.mark.req("A2")
async def test_each_organization_sees_only_its_own_part_of_the_history(scenario: ExchangeScenario) -> None:
    await scenario.add_binding(NORTH)
    await scenario.add_binding(LARGE)
    session = await scenario.publish()
    one, _ = await scenario.got(NORTH), await scenario.got(LARGE)
    await scenario.eventually_acknowledged(session)
    seen = {
        organization: {
            message.session: (message.sender, sorted(copy.recipient for copy in message.copies), message.forwards)
            for message in (await scenario.history(asked, organization)).messages
        }
        for organization, asked in (("Acme", session), ("MyBiz", session), ("North", one.session))
    }
    posted = {session: (PUBLISHER, ["Acme/Orders"], "")}
    assert seen["MyBiz"] == posted
    assert seen["Acme"] == posted | {one.session: ("Acme/Orders", ["Large/Desk", "North/Desk"], session)}
    assert seen["North"] == {one.session: (PUBLISHER, ["North/Desk"], "")}
    told = {who: await scenario.events_at_the_exchange(session, who) for who in ("Acme", "MyBiz")}
    assert told["Acme"] == ["handed out", "forwarded: to 2, with session " + one.session, "acknowledged"]
    assert told["MyBiz"] == ["handed out", "forwarded", "acknowledged"]


async def test_a_delivery_forwarded_again_after_an_interruption_reaches_each_receiver_once(
    scenario: ExchangeScenario,
) -> None:
    await scenario.change(EXCHANGE, hosted=Hosting.NONE)
    await scenario.publish(handle="h1")
    caller = scenario.caller(EXCHANGE)
    handed = await scenario.receive(EXCHANGE, wait_s=SOON_S)
    made = Part(id="1", content_type="text/plain", data=b"made")
    north, large = scenario.gcid(NORTH), scenario.gcid(LARGE)
    forwards = [Forward(north, "one"), Forward(north, "two", made), Forward(large, "three")]
    first = await scenario.network.forward(caller, handed, forwards)
    again = await scenario.network.forward(caller, handed, forwards)
    assert (first.copies, again.copies) == (3, 3)
    got = await scenario.poll(NORTH)
    assert sorted(one.parts[0].data for one in got) == sorted([ORDER.data, b"made"])
    assert len(await scenario.poll(LARGE)) == 1


async def test_a_delivery_is_forwarded_once_even_if_memory_has_forgotten_its_keys(
    scenario: ExchangeScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interchange may have a million documents, and what was resent may be of last week."""
    monkeypatch.setattr(scenario.network.desk._hot, "keys", SeenKeys(generation_most=2))  # type: ignore[attr-defined]
    await scenario.change(EXCHANGE, hosted=Hosting.NONE)
    await scenario.publish()
    caller, north = scenario.caller(EXCHANGE), scenario.gcid(NORTH)
    forwards = [Forward(north, str(n), Part(id="1", content_type="text/plain", data=b"%d" % n)) for n in range(8)]
    for _ in range(2):
        handed = await scenario.receive(EXCHANGE, wait_s=SOON_S)
        assert (await scenario.network.forward(caller, handed, forwards)).copies == 8
        await scenario.return_to_queue(handed)
        await scenario.network.wait_until_indexed()
    got = await scenario.poll(NORTH)
    assert sorted(int(one.parts[0].data) for one in got) == list(range(8))


def replace_data(part: Part, data: bytes) -> Part:
    return Part(id=part.id, content_type=part.content_type, data=data)
