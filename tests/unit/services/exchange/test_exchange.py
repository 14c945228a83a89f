"""An exchange forwards what it is sent to every queue of which a binding says yes: over the real stages in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace

import pytest

from postroad.adapters.desk.seen_keys import SeenKeys
from postroad.core.exchange.exchange import DeciderLanguage
from postroad.core.model.asset import Asset, AssetKind, Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service, Visibility
from postroad.core.model.exchange import ANYONE, Binding
from postroad.core.model.history import History
from postroad.core.model.message import Delivered, Message, MessageType, Part, Property, PropertyType, Recipient
from postroad.core.model.polling import Outcome, PollRequest, Settlement
from postroad.core.model.rule import ActionKind, Rule, RuleAction, RuleRole
from postroad.core.routing.forward import Forward
from postroad.flow.registries.configuration import DirectoryChange, build_save
from postroad.ports import ItemValue, QueryVerdict
from postroad.services.engines import Engines
from postroad.services.exchange.callables import Callables
from postroad.services.hosting.hosted_services import run_hosted_services
from postroad.testing.network import MemoryNetwork, memory_network
from tests.samples.conditions import compare, header
from tests.samples.workbench import UpperCase, document
from tests.waiting import eventually_async

ORDER = document("<order><total>1200</total><region>north</region></order>")
SOON_S = 30.0


class Wrapping:
    """An engine whose queries say ``wrap`` (new content), ``fail`` or yes."""

    async def check(self, query: str) -> None: ...

    async def evaluate(
        self, queries: Sequence[str], content: bytes, media_type: str, items: Mapping[str, ItemValue]
    ) -> list[QueryVerdict]:
        if b"slow" in content:
            await asyncio.sleep(0.05)  # sleeps: slow content
        return [self._verdict(query, content) for query in queries]

    def _verdict(self, query: str, content: bytes) -> QueryVerdict:
        if "fail" in query:
            return QueryVerdict(goes=False, error="it failed")
        if "wrap" in query:
            return QueryVerdict(goes=True, content=b"<wrap>" + content + b"</wrap>", media_type="application/xml")
        return QueryVerdict(goes="yes" in query or ("slow" in query and b"slow" in content))


def is_rush(content: bytes, media_type: str, items: Mapping[str, ItemValue]) -> bool:
    return items.get("rush") is True


class Market:
    """An exchange of Acme's, a publisher and two queues."""

    def __init__(self, running: MemoryNetwork, callers: dict[str, Caller]) -> None:
        self.network, self.running, self.callers = running.network, running, callers

    def gcid(self, name: str) -> str:
        service = self.callers[name].service
        assert service is not None
        return service.gcid

    async def bind(self, queue: str, name: str = "", *, exchange: str = "exchange", **how: object) -> Binding:
        binding = Binding(
            exchange=self.gcid(exchange),
            name=name or queue,
            queue=self.gcid(queue),
            **how,  # type: ignore[arg-type]
        )
        await self.network.configuration.change("test", [build_save(binding)])
        return binding

    async def unbind(self, binding: Binding) -> None:
        change = build_save(binding)
        await self.network.configuration.change("test", [DirectoryChange(kind=change.kind, key=change.key, value=None)])

    async def publish(self, part: Part = ORDER, *, to: str = "Acme/Orders", **more: object) -> str:
        message = Message(to=(Recipient(to),), parts=(part,), **more)  # type: ignore[arg-type]
        return (await self.network.post(self.callers["publisher"], message)).session

    async def got(self, name: str, wait_s: float = SOON_S) -> Delivered:
        [one] = await self.network.poll(self.callers[name], PollRequest(max=1, wait_s=wait_s))
        await self.network.settle(self.callers[name], Settlement(tokens=(one.token,)))
        return one

    @property
    def exchange(self) -> Service:
        return self.network.directory.services[self.gcid("exchange")]

    async def trace(self, session: str, organization: str) -> History:
        history = await self.network.trace(session, organization)
        assert history is not None
        return history

    async def eventually_acknowledged(self, session: str) -> None:
        """The exchange settles its own delivery after all others are on their way."""

        async def is_acknowledged() -> bool:
            return "acknowledged" in await self.events_at_the_exchange(session, "Acme")

        await eventually_async(is_acknowledged)

    async def events_at_the_exchange(self, session: str, organization: str) -> list[str]:
        messages = (await self.trace(session, organization)).messages
        [stop] = [
            stop
            for message in messages
            for copy in message.copies
            for stop in copy.stops
            if stop.gcid == self.exchange.gcid
        ]
        return [
            f"{event.what}: {event.detail}" if event.what == "forwarded" and event.detail else event.what
            for event in stop.events
        ]

    async def has_nothing(self, name: str) -> bool:
        return not await self.network.poll(self.callers[name], PollRequest())


@pytest.fixture
async def market() -> AsyncIterator[Market]:
    engines = Engines(
        transformer=UpperCase(),
        judges={
            DeciderLanguage.QUERY: Wrapping(),
            DeciderLanguage.SCRIPT: Wrapping(),
            DeciderLanguage.CALLABLE: Callables({"rush": is_rush}),
        },
    )
    async with memory_network() as running:
        running.network.exchanges.install(["rush"])
        async with run_hosted_services(running.network, engines):
            callers = {
                "publisher": await running.register("MyBiz/Purchasing"),
                "north": await running.register("North/Desk"),
                "large": await running.register("Large/Desk"),
                "exchange": await running.register(
                    "Acme/Orders", visibility=Visibility.PUBLIC, hosted=Hosting.EXCHANGE, open_to=(ANYONE,)
                ),
                "next": await running.register(
                    "Acme/Next", visibility=Visibility.PUBLIC, hosted=Hosting.EXCHANGE, open_to=("North",)
                ),
            }
            yield Market(running, callers)


@pytest.mark.req("X1", "X3")
async def test_a_message_goes_where_a_query_says_yes_under_its_own_header(market: Market) -> None:
    await market.bind("north", query="$msg/order/region = 'north'")
    await market.bind("large", query="$msg/order/total > 5000")
    session = await market.publish(handle="h1", topic="orders", properties=(Property("a", "1", PropertyType.NUMBER),))
    one = await market.got("north")
    assert (one.sender, one.topic, one.handle, one.parts) == ("MyBiz/Purchasing", "orders", "h1", (ORDER,))
    assert one.properties == (Property("a", "1", PropertyType.NUMBER),)
    assert (one.type, one.transaction) == (MessageType.NOTIFICATION, session)
    assert await market.has_nothing("large")


@pytest.mark.req("X3")
async def test_header_items_and_the_routing_key_decide_too(market: Market) -> None:
    await market.bind("north", routing_key="orders.north")
    await market.bind("large", query="declare variable $weight external; $weight > 5", routing_key="orders.large")
    for topic, weight in (("orders.large", "4"), ("orders.large", "6"), ("orders.north", "6")):
        await market.publish(topic=topic, handle=weight, properties=(Property("weight", weight, PropertyType.NUMBER),))
    assert (await market.got("large")).handle == "6"
    assert (await market.got("north")).topic == "orders.north"
    assert await market.has_nothing("large")


@pytest.mark.req("X2")
async def test_what_a_query_constructs_is_the_new_content_under_the_original_header(market: Market) -> None:
    await market.bind("north", query="<wrap>{$msg}</wrap>")
    await market.publish(topic="orders", handle="h1")
    one = await market.got("north")
    assert one.parts == (replace_data(ORDER, b"<wrap>" + ORDER.data + b"</wrap>"),)
    assert (one.sender, one.handle) == ("MyBiz/Purchasing", "h1")


@pytest.mark.req("X2")
async def test_it_takes_the_place_of_what_it_was_made_of_wherever_that_stood(market: Market) -> None:
    """The content is the first document, which need not be the first part."""
    await market.bind("north", query="<wrap>{$msg}</wrap>")
    scan = Part(id="scan", content_type="image/png", data=b"PNG", attachment=True)
    message = Message(to=(Recipient("Acme/Orders"),), parts=(scan, ORDER))
    await market.network.post(market.callers["publisher"], message)
    made = replace_data(ORDER, b"<wrap>" + ORDER.data + b"</wrap>")
    assert (await market.got("north")).parts == (scan, made)


@pytest.mark.req("X1")
async def test_an_error_means_no_and_is_told_at_its_binding(market: Market) -> None:
    broken = await market.bind("large", query="<fail>{$msg}</fail>")
    await market.bind("north")
    await market.publish()
    await market.got("north")
    assert await market.has_nothing("large")
    tally = (await market.network.exchanges.opened(market.gcid("exchange"))).tally(broken)
    assert (tally.errors, tally.last_error, tally.matched) == (1, "it failed", 0)


@pytest.mark.req("X4")
async def test_named_routings_are_queries_scripts_or_the_operators_callables(market: Market) -> None:
    exchange = market.gcid("exchange")
    asset = Asset(service=exchange, kind=AssetKind.QUERY, name="North only", content="$msg/order/region = 'north'")
    await market.network.configuration.change("test", [build_save(asset)])
    await market.bind("north", routing="north only")
    await market.bind("large", routing="rush")
    await market.publish(handle="1")
    await market.publish(
        replace_data(ORDER, b"<order><region>south</region></order>"),
        handle="2",
        properties=(Property("rush", "true", PropertyType.BOOLEAN),),
    )
    assert (await market.got("north")).handle == "1"
    assert (await market.got("large")).handle == "2"
    changed = Asset(service=exchange, kind=AssetKind.QUERY, name="North only", content="$msg/order/region = 'south'")
    await market.network.configuration.change("test", [build_save(changed)])
    await market.publish(replace_data(ORDER, b"<order><region>south</region></order>"), handle="3")
    assert (await market.got("north")).handle == "3"


@pytest.mark.req("X6")
async def test_bindings_come_and_go_while_messages_flow(market: Market) -> None:
    binding = await market.bind("north", query="$msg/order/total > 1")
    await market.publish(handle="1")
    assert (await market.got("north")).handle == "1"
    await market.bind("north", query="$msg/order/total > 1", enabled=False)
    await market.bind("large", name="other")
    await market.publish(handle="2")
    assert (await market.got("large")).handle == "2"
    await market.unbind(binding)
    await market.unbind(await market.bind("large", name="other"))
    result = await market.publish(type=MessageType.REQUEST, handle="3")
    answer = await market.got("publisher")
    assert answer.reference is not None
    assert answer.reference.session == result
    assert answer.properties == (Property("exchange.copies", "0", PropertyType.NUMBER),)


async def test_a_queue_gets_a_message_once_however_many_of_its_bindings_say_yes(market: Market) -> None:
    await market.bind("north", "one")
    await market.bind("north", "two", query="$msg/order")
    await market.bind("large")
    await market.publish(type=MessageType.REQUEST)
    assert (await market.got("publisher")).properties[0].value == "2"
    await market.got("north")
    assert await market.has_nothing("north")


async def test_messages_leave_in_the_order_in_which_they_came_though_some_take_longer(market: Market) -> None:
    await market.bind("north", query="<slow>{$msg}</slow>")
    await market.bind("north", "others", query="not($msg/order/region = 'slow')")
    numbers = [str(number) for number in range(20)]
    slow = replace_data(ORDER, b"<order><region>slow</region></order>")
    for number in numbers:
        await market.publish(slow if int(number) % 5 == 0 else ORDER, handle=number)
    assert [(await market.got("north")).handle for _ in numbers] == numbers


@pytest.mark.req("X7")
async def test_exchanges_in_a_chain_hand_messages_on_and_a_circle_is_cut(market: Market) -> None:
    await market.bind("next")
    await market.bind("exchange", exchange="next")  # back again
    await market.bind("north", exchange="next", query="$msg/order/region = 'north'")
    await market.publish(handle="h1")
    one = await market.got("north")
    assert (one.sender, one.handle) == ("MyBiz/Purchasing", "h1")
    await market.publish(type=MessageType.REQUEST, handle="h2")
    await market.got("publisher")
    assert (await market.got("north")).handle == "h2"
    assert await market.has_nothing("north")


async def test_an_exchange_in_transit_lets_the_message_go_on_as_it_came(market: Market) -> None:
    await market.bind("north")
    market.callers["open"] = await market.running.register("Open/Desk", visibility=Visibility.PUBLIC)
    message = Message(to=(Recipient("Open/Desk"),), route=(Recipient("Acme/Orders"),), parts=(ORDER,))
    await market.network.post(market.callers["publisher"], message)
    assert (await market.got("north")).parts == (ORDER,)
    assert (await market.got("open")).parts == (ORDER,)


@pytest.mark.req("X8")
async def test_what_nobody_could_look_into_is_told_and_kept(market: Market) -> None:
    await market.bind("north", query="$msg/order/region = 'north'")
    broken = replace_data(ORDER, b"<order><region>north")
    await market.publish(broken, type=MessageType.REQUEST)
    answer = await market.got("publisher")
    assert answer.status is not None
    assert answer.status.code == "wire.malformed"
    await market.bind("large")  # which does not look
    await market.publish(broken, handle="h2")
    assert (await market.got("large")).handle == "h2"


@pytest.mark.req("X1", "X8")
async def test_malformed_xml_is_an_error_of_the_binding_that_looks_inside_though_another_matches(
    market: Market,
) -> None:
    inside = await market.bind("north", query="$msg/order/region = 'north'")
    await market.bind("large", query="$handle = 'h1'")
    await market.publish(replace_data(ORDER, b"<order><region>north"), handle="h1")
    assert (await market.got("large")).handle == "h1"
    exchange = await market.network.exchanges.opened(market.gcid("exchange"))
    tally = exchange.tally(inside)
    assert (tally.errors, tally.matched) == (1, 0)
    assert "not well-formed" in tally.last_error


async def test_large_messages_are_matched_while_bindings_come_and_go(market: Market) -> None:
    await market.bind("north", query="$msg/order/region = 'north'")
    large = replace_data(ORDER, b"<order><region>north</region>" + b"<item>1</item>" * 40_000 + b"</order>")
    for number in range(5):
        await market.publish(large, handle=str(number))
        await market.bind("large", f"b{number}", query=f"$msg/order/item = '{number + 1}'")
    got = [(await market.got("north")).handle for _ in range(5)]
    assert got == ["0", "1", "2", "3", "4"]
    exchange = await market.network.exchanges.opened(market.gcid("exchange"))
    assert len(exchange) == 6


async def test_the_rules_of_a_receiver_lead_its_copy_and_see_who_wrote_it(market: Market) -> None:
    market.callers["gate"] = await market.running.register("North/Gate")
    passing = RuleAction(kind=ActionKind.ADD_SERVICE_BEFORE, service="North/Gate")
    written_by = compare("equals", header("from"), "MyBiz/Purchasing")
    rule = Rule(
        service=market.gcid("north"), name="gate", place=1, role=RuleRole.RECIPIENT, when=written_by, then=(passing,)
    )
    await market.network.configuration.change("test", [build_save(rule)])
    await market.bind("north")
    await market.bind("large")
    await market.publish(handle="h1")
    [at_the_gate] = await market.network.poll(market.callers["gate"], PollRequest(max=1, wait_s=SOON_S))
    assert (at_the_gate.in_transit, at_the_gate.sender) == (True, "MyBiz/Purchasing")
    answer = Message(type=MessageType.RESPONSE, reference=at_the_gate.token)
    await market.network.post(market.callers["gate"], answer)
    assert (await market.got("north")).handle == "h1"
    assert (await market.got("large")).handle == "h1"


async def test_nothing_goes_to_another_house_once_the_exchange_is_not_open_to_it(market: Market) -> None:
    north = await market.bind("north")
    await market.bind("large")
    await market.network.configuration.change("test", [build_save(replace(market.exchange, open_to=("Large",)))])
    await market.publish()
    await market.got("large")
    assert await market.has_nothing("north")
    tally = (await market.network.exchanges.opened(market.gcid("exchange"))).tally(north)
    assert tally.last_error.startswith("permission.denied")


@pytest.mark.req("A2")
async def test_the_trace_tells_each_party_what_is_theirs_to_know(market: Market) -> None:
    await market.bind("north")
    await market.bind("large")
    session = await market.publish()
    one, _ = await market.got("north"), await market.got("large")
    await market.eventually_acknowledged(session)
    seen = {
        organization: {
            message.session: (message.sender, sorted(copy.recipient for copy in message.copies), message.forwards)
            for message in (await market.trace(asked, organization)).messages
        }
        for organization, asked in (("Acme", session), ("MyBiz", session), ("North", one.session))
    }
    posted = {session: ("MyBiz/Purchasing", ["Acme/Orders"], "")}
    assert seen["MyBiz"] == posted
    assert seen["Acme"] == posted | {one.session: ("Acme/Orders", ["Large/Desk", "North/Desk"], session)}
    assert seen["North"] == {one.session: ("MyBiz/Purchasing", ["North/Desk"], "")}
    told = {who: await market.events_at_the_exchange(session, who) for who in ("Acme", "MyBiz")}
    assert told["Acme"] == ["handed out", "forwarded: to 2, with session " + one.session, "acknowledged"]
    assert told["MyBiz"] == ["handed out", "forwarded", "acknowledged"]


async def test_what_comes_again_after_an_interruption_is_forwarded_to_nobody_twice(market: Market) -> None:
    await market.network.configuration.change("test", [build_save(replace(market.exchange, hosted=Hosting.NONE))])
    await market.publish(handle="h1")
    caller = Caller(service=market.exchange)
    [handed] = await market.network.poll(caller, PollRequest(wait_s=SOON_S))
    made = Part(id="1", content_type="text/plain", data=b"made")
    north, large = market.gcid("north"), market.gcid("large")
    forwards = [Forward(north, "one"), Forward(north, "two", made), Forward(large, "three")]
    first = await market.network.forward(caller, handed, forwards)
    again = await market.network.forward(caller, handed, forwards)
    assert (first.copies, again.copies) == (3, 3)
    got = await market.network.poll(market.callers["north"], PollRequest(max=10))
    assert sorted(one.parts[0].data for one in got) == sorted([ORDER.data, b"made"])
    assert len(await market.network.poll(market.callers["large"], PollRequest(max=10))) == 1


async def test_nor_when_memory_has_forgotten_what_it_was_forwarded_by(
    market: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interchange may have a million documents, and what was resent may be of last week."""
    monkeypatch.setattr(market.network.desk._hot, "keys", SeenKeys(generation_most=2))  # type: ignore[attr-defined]
    await market.network.configuration.change("test", [build_save(replace(market.exchange, hosted=Hosting.NONE))])
    await market.publish()
    caller, north = Caller(service=market.exchange), market.gcid("north")
    forwards = [Forward(north, str(n), Part(id="1", content_type="text/plain", data=b"%d" % n)) for n in range(8)]
    for _ in range(2):
        [handed] = await market.network.poll(caller, PollRequest(wait_s=SOON_S))
        assert (await market.network.forward(caller, handed, forwards)).copies == 8
        await market.network.settle(caller, Settlement(tokens=(handed.token,), outcome=Outcome.NACK))
        await market.network.indexed()
    got = await market.network.poll(market.callers["north"], PollRequest(max=100))
    assert sorted(int(one.parts[0].data) for one in got) == list(range(8))


def replace_data(part: Part, data: bytes) -> Part:
    return Part(id=part.id, content_type=part.content_type, data=data)
