"""The test kit itself: a scenario does what the network's own doors do, and complains when a test is wrong."""

from __future__ import annotations

import asyncio
import re

import pytest

from postroad.core.delivery.push_request import PushAnswer
from postroad.core.model.asset import Hosting
from postroad.core.model.directory import Accepts, Role, Visibility
from postroad.core.model.exchange import ANYONE
from postroad.core.model.journal import MessagePosted, MessageRefused
from postroad.core.model.message import MessageType, PostResult, Recipient, Status
from postroad.core.model.rule import ActionKind, RuleAction
from postroad.testing import Scenario, make_part
from postroad.testing.clocks import ManualClock
from tests.samples.service_tools import UpperCase, engines
from tests.unit.flow.stages.polls import until_a_poll_waits
from tests.waiting import eventually_async

ORDERS, INVOICES, STAMP = "Acme/Orders", "Globex/Invoices", "Stamps/In"


async def opened(scenario: Scenario) -> Scenario:
    for address in (ORDERS, INVOICES, STAMP):
        await scenario.service(address)
    return scenario


async def has_event(scenario: Scenario, posted: PostResult, event: str) -> bool:
    return event in await scenario.events(posted)


async def test_a_request_is_answered() -> None:
    async with Scenario() as scenario:
        await opened(scenario)
        request = await scenario.post(
            ORDERS, to=INVOICES, document="<order/>", type=MessageType.REQUEST, topic="orders"
        )
        got = await scenario.receive(INVOICES)
        assert (got.sender, got.topic, got.parts) == (ORDERS, "orders", (make_part("<order/>"),))
        await scenario.respond(got, "<invoice/>")
        assert (await scenario.receive(ORDERS)).parts[0].data == b"<invoice/>"
        assert await scenario.states(request) == ["delivered"]
        assert await scenario.events(request) == ["handed out", "answered"]
        assert len(await scenario.entries(MessagePosted)) == 2


async def test_a_rule_may_be_written_as_in_a_document_or_as_an_object() -> None:
    async with Scenario() as scenario:
        await opened(scenario)
        await scenario.service("Audit/In")
        await scenario.rule(ORDERS, RuleAction(kind=ActionKind.ADD_SERVICE, service="Audit/In"), role="sender")
        large = {"equals": {"header": "topic", "value": "large"}}
        await scenario.rule(INVOICES, {"addServiceBefore": STAMP}, when=large, role="recipient")
        for topic, route in (("small", ["Audit/In", INVOICES]), ("large", ["Audit/In", STAMP, INVOICES])):
            explained = await scenario.explain(ORDERS, to=INVOICES, topic=topic)
            assert [list(copy.route) for copy in explained.copies] == [route]
        posted = await scenario.post(ORDERS, to=INVOICES, document="an order", topic="large")
        await scenario.respond(await scenario.receive("Audit/In"))
        await scenario.respond(await scenario.receive(STAMP), "a stamped order")
        assert (await scenario.receive(INVOICES)).parts[0].data == b"a stamped order"
        assert [stop.service for stop in await scenario.stops(posted)] == ["Audit/In", STAMP, INVOICES]
        assert (await scenario.explanation(posted)).session == posted.session


async def test_leases_and_expiries_pass_when_the_test_says_so() -> None:
    async with Scenario(clock=ManualClock()) as scenario:
        await opened(scenario)
        posted = await scenario.post(ORDERS, to=INVOICES, expires_at_us=scenario.clock.now_us() + 3_600_000_000)
        first = await scenario.receive(INVOICES, lease_s=60)
        assert await scenario.poll(INVOICES) == []
        await scenario.advance(seconds=61)
        assert (await scenario.receive(INVOICES)).attempt == first.attempt + 1
        await scenario.advance(hours=1)
        assert await scenario.states(posted) == ["expired"]


async def test_a_waiting_poll_gets_a_delivery_whose_lease_lapses() -> None:
    async with Scenario() as scenario:
        await opened(scenario)
        await scenario.post(ORDERS, to=INVOICES)
        await scenario.receive(INVOICES, lease_s=600)
        waiting = asyncio.create_task(scenario.receive(INVOICES, wait_s=60))
        await until_a_poll_waits(scenario.network, scenario.caller(INVOICES))
        await scenario.advance(seconds=30)
        await until_a_poll_waits(scenario.network, scenario.caller(INVOICES))
        assert not waiting.done()
        await scenario.advance(seconds=571)
        async with asyncio.timeout(20):
            assert (await waiting).attempt == 2


async def test_deliveries_are_returned_and_acknowledged() -> None:
    async with Scenario() as scenario:
        await opened(scenario)
        await scenario.post(ORDERS, to=INVOICES)
        await scenario.return_to_queue(await scenario.receive(INVOICES), reason="busy")
        [taken] = await scenario.take(INVOICES)
        assert taken.attempt == 2
        assert await scenario.take(INVOICES) == []
        result = await scenario.acknowledge(taken, by=ORDERS)
        assert [settled.code for settled in result.settled] == ["token.unknown"]


async def test_a_failed_delivery_is_a_dead_letter_of_both_organizations() -> None:
    async with Scenario() as scenario:
        await opened(scenario)
        viewer = await scenario.person("view@acme.example", "Acme", Role.VIEWER)
        await scenario.person("ops@network.example", operator=True)
        await scenario.post(ORDERS, to=INVOICES, topic="orders")
        number = await scenario.fail(await scenario.receive(INVOICES))
        for who in (viewer, "view@acme.example", "ops@network.example", INVOICES):
            assert [letter.id for letter in await scenario.dead_letters(who, topic="orders")] == [number]
        assert await scenario.dead_letters(STAMP) == []


async def test_a_refused_push_is_tried_again_when_time_has_passed() -> None:
    async with Scenario() as scenario:
        await scenario.service(ORDERS)
        await scenario.pushed_service(INVOICES)
        scenario.receivers.answer(INVOICES, PushAnswer(status=503), PushAnswer(status=200))
        posted = await scenario.post(ORDERS, to=INVOICES)
        await scenario.receivers.wait_for(INVOICES)
        await eventually_async(lambda: has_event(scenario, posted, "push failed"))
        await scenario.advance(hours=1)
        first, second = await scenario.receivers.wait_for(INVOICES, 2)
        assert second.request.headers["webhook-id"] == first.request.headers["webhook-id"]
        assert second.at_us - first.at_us >= 3_600_000_000


async def test_hosted_services_run_with_the_engines_that_are_given() -> None:
    async with Scenario(engines=engines(UpperCase())) as scenario:
        await opened(scenario)
        await scenario.service("Exchange/In", hosted=Hosting.EXCHANGE, open_to=(ANYONE,))
        await scenario.bind("Exchange/In", INVOICES, routing_key="orders")
        await scenario.post(ORDERS, to="Exchange/In", topic="orders", document="<order/>")
        assert (await scenario.receive(INVOICES, wait_s=30)).topic == "orders"


async def test_a_restart_keeps_what_the_journal_has() -> None:
    async with Scenario() as scenario:
        await opened(scenario)
        await scenario.post(ORDERS, to=INVOICES)
        await scenario.restart()
        assert (await scenario.receive(INVOICES)).sender == ORDERS


async def test_profiles_are_changed_and_services_removed() -> None:
    async with Scenario() as scenario:
        await opened(scenario)
        await scenario.change(INVOICES, accepts=Accepts.LISTED)
        assert (await scenario.refusal(scenario.post(ORDERS, to=INVOICES))).code == "recipient.not-allowed"
        assert (await scenario.service("Acme/Private", visibility=Visibility.PRIVATE)).service != scenario.profile(
            ORDERS
        )
        await scenario.remove(INVOICES)
        refusal = await scenario.refusal(scenario.post(ORDERS, to=INVOICES, handle="h-1"))
        assert refusal.code == "recipient.unknown"
        assert [entry.handle for entry in await scenario.entries(MessageRefused)][-1] == "h-1"


async def test_a_wrong_expectation_is_an_error_that_names_it() -> None:
    async with Scenario() as scenario:
        await opened(scenario)
        with pytest.raises(AssertionError, match="0 messages wait for Globex/Invoices"):
            await scenario.receive(INVOICES)
        with pytest.raises(AssertionError, match="accepted"):
            await scenario.refusal(scenario.post(ORDERS, to=Recipient(INVOICES)))
        for missing in ("Acme/Nothing", "nobody@acme.example"):
            with pytest.raises(AssertionError, match=f"there is no .*{re.escape(missing)}"):
                scenario.caller(missing)
        with pytest.raises(AssertionError, match="does not know session 0"):
            await scenario.history("0" * 32)


async def test_an_error_status_ends_a_route() -> None:
    async with Scenario() as scenario:
        await opened(scenario)
        posted = await scenario.post(ORDERS, to=INVOICES, route=[STAMP], type=MessageType.REQUEST)
        await scenario.respond(await scenario.receive(STAMP), status=Status("broken", "no ink"))
        response = await scenario.receive(ORDERS)
        assert response.status is not None
        assert response.status.code == "route.failed"
        assert (await scenario.copies(posted))[0].state == "failed"
