"""Dead letters: who sees them, what becomes of those that are resent or dropped, and that each is dealt with once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from postroad.core.delivery.dead_letters import Cause
from postroad.core.delivery.reasons import make_reason
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.directory import Accepts, Role
from postroad.core.model.message import MessageType, Status
from postroad.errors import Refused
from postroad.flow.administration import dead_letters as letters
from postroad.flow.administration.dead_letters import DeadLetterSearch
from postroad.flow.registries.configuration import DirectoryChange, build_save
from postroad.testing import Scenario
from postroad.testing.push_receivers import push_url
from tests.samples.failed_orders import BUYER, PEOPLE, SELLER, FailedOrders
from tests.samples.pushes import BUSY, OK, PushScenario, in_virtual_time

REASON = "the receiver answered 503; tried 9 times"


@pytest.fixture
async def scenario() -> AsyncIterator[FailedOrders]:
    async with FailedOrders() as scenario:
        yield scenario


@pytest.mark.req("D7")
async def test_both_parties_see_a_dead_letter_and_nobody_else(scenario: FailedOrders) -> None:
    number = await scenario.fail_order()
    for who in ("buyer", "viewer", "seller", "operator"):
        assert await scenario.listed(who) == [number], who
    assert await scenario.listed("stranger") == []
    assert (
        await scenario.refusal(letters.inspect(scenario.network, scenario.who("stranger"), number))
    ).code == "not-found"
    assert [letter.id for letter in await scenario.dead_letters(BUYER)] == [number]


@pytest.mark.req("D7")
async def test_a_dead_letter_is_inspected_with_its_events_and_parts(scenario: FailedOrders) -> None:
    number = await scenario.fail_order(topic="orders", handle="h1")
    seen = await letters.inspect(scenario.network, scenario.who("buyer"), number)
    letter = seen.letter
    assert (letter.service, letter.sender, letter.topic, letter.handle) == (
        "Acme/Supply", "MyBiz/Purchasing", "orders", "h1",
    )  # fmt: skip
    assert (letter.cause, letter.reason, letter.attempts, letter.size) == (Cause.SERVER_ERROR, REASON, 1, 5)
    assert [event.what for event in seen.events] == ["handed out", "failed"]
    assert [part.id for part in seen.parts] == ["1"]
    assert (await letters.inspect(scenario.network, scenario.who("operator"), number)).parts == ()


@pytest.mark.req("D7", "D5")
@pytest.mark.parametrize("who", ["buyer", "seller", "operator"])
async def test_a_resent_letter_is_delivered_once_more_under_the_same_session(scenario: FailedOrders, who: str) -> None:
    session = await scenario.post_order()
    first = await scenario.receive(SELLER)
    number = await scenario.fail(first)
    dealt = await letters.resend(scenario.network, scenario.who(who), number, "mended")
    again = await scenario.receive(SELLER)
    assert (again.session, again.parts, again.attempt) == (session, first.parts, 1)
    assert again.token != first.token
    assert scenario.number(again) == dealt.delivery
    await scenario.acknowledge(again)
    assert await scenario.states(session) == ["failed", "delivered"]
    assert await scenario.listed(who) == []
    assert await scenario.poll(SELLER) == []


@pytest.mark.req("D7")
async def test_a_letter_is_dealt_with_once_whoever_asks_at_the_same_time(scenario: FailedOrders) -> None:
    number = await scenario.fail_order()
    people = [scenario.who(who) for who in ("buyer", "seller", "operator")]
    outcomes = await asyncio.gather(
        *(letters.resend(scenario.network, who, number, "") for who in people),
        *(letters.drop(scenario.network, who, number, "old") for who in people),
        return_exceptions=True,
    )
    refusals = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
    assert [refusal.code for refusal in refusals] == ["dead-letter.dealt"] * 5
    assert len(await scenario.poll(SELLER)) <= 1
    with pytest.raises(Refused, match="already"):
        await letters.resend(scenario.network, people[0], number, "")


@pytest.mark.req("D7")
async def test_a_dropped_letter_stays_failed_with_its_reason_on_record(scenario: FailedOrders) -> None:
    session = await scenario.post_order()
    delivered = await scenario.receive(SELLER)
    number = await scenario.fail(delivered)
    await letters.drop(scenario.network, scenario.who("seller"), number, "a test order")
    assert await scenario.listed("operator") == []
    assert await scenario.poll(SELLER) == []
    history = await scenario.history(session, "acme")
    event = history.messages[0].copies[0].stops[0].events[-1]
    assert (event.what, event.by, event.detail) == ("dropped", "owner@acme.example", "a test order")
    told = await scenario.history(session, "mybiz")
    event = told.messages[0].copies[0].stops[0].events[-1]
    assert (event.what, event.by, event.detail) == ("dropped", "another party", ""), "people are not named to others"


async def test_viewers_and_services_only_look(scenario: FailedOrders) -> None:
    number = await scenario.fail_order()
    for caller in (scenario.who("viewer"), scenario.caller(BUYER)):
        for dealing in (letters.resend, letters.drop):
            with pytest.raises(Refused) as refused:
                await dealing(scenario.network, caller, number, "x")
            assert refused.value.code == "permission.denied"
        with pytest.raises(Refused):
            await letters.resend_many(scenario.network, caller, DeadLetterSearch(), "x")
    assert await scenario.listed("viewer") == [number]


@pytest.mark.req("D7")
async def test_letters_are_found_by_what_is_known_of_them(scenario: FailedOrders) -> None:
    one = await scenario.fail_order(topic="orders")
    await scenario.advance(seconds=100)
    two = await scenario.fail_order(topic="bills", why=make_reason("delivery.not-acknowledged", count=20))
    [first, second] = await scenario.dead_letters(PEOPLE["buyer"])
    between_us = (first.failed_at_us + second.failed_at_us) // 2
    expected: list[tuple[dict[str, Any], list[int]]] = [
        ({"topic": "orders"}, [one]),
        ({"cause": "not-acknowledged"}, [two]),
        ({"cause": "tls"}, []),
        ({"session": second.session}, [two]),
        ({"since_us": between_us}, [two]),
        ({"until_us": between_us}, [one]),
        ({"service": "acme/supply"}, [one, two]),
        ({"service": "MyBiz/Purchasing"}, []),
        ({"sender": "MyBiz/Purchasing"}, [one, two]),
        ({"service": "Nobody/Nothing"}, []),
        ({"sender": "MyBiz/Purchasing", "service": "Acme/Supply", "topic": "bills"}, [two]),
        ({"after": one}, [two]),
        ({"upto": one}, [one]),
    ]
    for wish, numbers in expected:
        for who in ("buyer", "seller", "operator"):
            assert await scenario.listed(who, **wish) == numbers, (who, wish)
    groups, complete = await letters.list_letter_groups(scenario.network, scenario.who("seller"), DeadLetterSearch())
    assert complete
    assert [(group.service, group.cause, group.count, group.example) for group in groups] == [
        ("Acme/Supply", Cause.NOT_ACKNOWLEDGED, 1, two), ("Acme/Supply", Cause.SERVER_ERROR, 1, one),
    ]  # fmt: skip


@pytest.mark.req("D7")
async def test_many_are_resent_page_by_page_in_their_order_and_none_twice(scenario: FailedOrders) -> None:
    numbers = [await scenario.fail_order(handle=f"h{place}") for place in range(7)]
    developer = scenario.who("buyer")
    counted = await letters.count(scenario.network, developer, DeadLetterSearch())
    assert (counted.matches, len(counted.sample), counted.complete) == (7, 5, True)
    wish, resent, upto = DeadLetterSearch(limit=3), [], 0
    while True:
        page = await letters.resend_many(scenario.network, developer, wish, "mended")
        resent += [dealt.letter.number for dealt in page.dealt]
        for again in await scenario.poll(SELLER):  # and they fail again, while the run goes on
            await scenario.fail(again)
        upto = upto or page.upto
        assert page.upto == upto
        if page.next_after is None:
            break
        wish = DeadLetterSearch(limit=3, after=page.next_after, upto=page.upto)
    assert resent == numbers
    assert len(await scenario.listed("buyer")) == 7
    failed_again = await scenario.dead_letters(developer)
    assert [letter.handle for letter in failed_again] == [f"h{place}" for place in range(7)]
    assert all(letter.resent for letter in failed_again)


async def test_many_are_dropped_with_one_reason(scenario: FailedOrders) -> None:
    await asyncio.gather(*(scenario.post_order(topic="old" if place % 2 else "new") for place in range(6)))
    for delivered in await scenario.poll(SELLER):
        await scenario.fail(delivered)
    page = await letters.drop_many(scenario.network, scenario.who("seller"), DeadLetterSearch(topic="old"), "too old")
    assert (len(page.dealt), page.next_after) == (3, None)
    assert len(await scenario.listed("buyer")) == 3
    assert await scenario.listed("buyer", topic="old") == []


@pytest.mark.req("D7", "M8")
async def test_a_resent_request_is_answered_and_its_sender_gets_one_more_response(scenario: FailedOrders) -> None:
    session = await scenario.post_order(type=MessageType.REQUEST)
    first = await scenario.receive(SELLER)
    number = await scenario.fail(first)
    error = await scenario.receive(BUYER)
    assert error.status is not None
    assert error.status.code == "route.failed"
    await scenario.acknowledge(error)
    await letters.resend(scenario.network, scenario.who("seller"), number, "mended")
    again = await scenario.receive(SELLER)
    await scenario.respond(again)
    response = await scenario.receive(BUYER)
    assert (response.status, response.reference and response.reference.session) == (None, session)
    await scenario.acknowledge(response)
    history = await scenario.history(session, "mybiz")
    assert history.messages[0].copies[0].state == "delivered"


async def test_a_round_that_fails_again_is_told_again_and_is_a_letter_again(scenario: FailedOrders) -> None:
    number = await scenario.fail_order(type=MessageType.REQUEST)
    await letters.resend(scenario.network, scenario.who("buyer"), number, "")
    again = await scenario.receive(SELLER)
    await scenario.fail(again)
    errors = await scenario.poll(BUYER)
    assert [error.status and error.status.code for error in errors] == ["route.failed"] * 2
    [letter] = await scenario.dead_letters(PEOPLE["buyer"])
    assert (letter.resent, letter.number > number) == (True, True)


async def test_a_round_expires_in_its_own_time(scenario: FailedOrders) -> None:
    expires_at_us = scenario.clock.now_us() + 3600 * 1_000_000
    number = await scenario.fail_order(type=MessageType.REQUEST, expires_at_us=expires_at_us)
    await scenario.advance(hours=2)
    developer = scenario.who("buyer")
    dealt = await letters.resend(scenario.network, developer, number, "")
    await scenario.advance(seconds=3500)
    found = await scenario.network.desk.find(dealt.delivery)
    assert found is not None
    assert found.state is DeliveryState.QUEUED
    await scenario.advance(seconds=200)
    found = await scenario.network.desk.find(dealt.delivery)
    assert found is not None
    assert found.state is DeliveryState.EXPIRED
    assert [error.status and error.status.code for error in await scenario.poll(BUYER)][-1] == "route.expired"


async def test_the_time_of_a_round_can_be_given(scenario: FailedOrders) -> None:
    number = await scenario.fail_order()
    dealt = await letters.resend(scenario.network, scenario.who("buyer"), number, "", expires_in_s=60)
    found = await scenario.network.desk.find(dealt.delivery)
    assert found is not None
    assert abs(found.queued.expires_at_us - scenario.clock.now_us() - 60_000_000) < 5_000_000


@pytest.mark.req("D7", "R11")
async def test_the_sender_withdraws_a_resent_delivery_that_waits(scenario: FailedOrders) -> None:
    session = await scenario.post_order(type=MessageType.REQUEST)
    first = await scenario.receive(SELLER)
    number = await scenario.fail(first)
    await letters.resend(scenario.network, scenario.who("buyer"), number, "")
    result = await scenario.post(BUYER, type=MessageType.CANCEL, reference=session)
    assert [recipient.code for recipient in result.recipients] == [""]
    assert await scenario.poll(SELLER) == []
    assert await scenario.states(session) == ["failed", "cancelled"]


async def test_nothing_is_resent_to_who_is_gone_suspended_or_accepts_it_no_more(scenario: FailedOrders) -> None:
    number = await scenario.fail_order()
    service, developer = scenario.profile(SELLER), scenario.who("buyer")
    cases: list[tuple[DirectoryChange, str]] = [
        (build_save(replace(service, suspended="unpaid")), "recipient.suspended"),
        (build_save(replace(service, accepts=Accepts.LISTED)), "recipient.not-allowed"),
        (DirectoryChange(kind="service", key=service.gcid, value=None), "recipient.unknown"),
    ]
    for changed, code in cases:
        await scenario.network.configuration.change("test", [changed])
        with pytest.raises(Refused) as refused:
            await letters.resend(scenario.network, developer, number, "")
        assert refused.value.code == code
        page = await letters.resend_many(scenario.network, developer, DeadLetterSearch(), "")
        assert [dealt.refusal and dealt.refusal.code for dealt in page.dealt] == [code]
    assert await scenario.listed("buyer") == [number]
    await letters.drop(scenario.network, developer, number, "gone")


async def test_a_message_whose_body_was_dropped_is_not_resent(scenario: FailedOrders) -> None:
    number = await scenario.fail_order()
    await scenario.network.journal.drop_bodies((await scenario.network.journal.head()).seq + 1)
    assert (
        await scenario.refusal(letters.resend(scenario.network, scenario.who("buyer"), number, ""))
    ).code == "body.dropped"


@pytest.mark.req("D7", "D3")
def test_a_resent_push_comes_with_the_id_of_the_first_round() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service("Acme/Supply", push={"tries": 1}, accepts=Accepts.ANYONE)
        url, clerk = push_url("Acme/Supply"), await at.person("ops@network.example", operator=True)
        at.receivers.answer(url, BUSY, BUSY, OK)
        await at.send("Acme/Supply")
        for _ in range(2):
            await asyncio.sleep(60)
            [found] = (await letters.browse(at.network, clerk, DeadLetterSearch())).found
            assert found.letter.cause is Cause.SERVER_ERROR
            await letters.resend(at.network, clerk, found.letter.id, "mended")
        await asyncio.sleep(120)
        ids = [seen.request.headers["webhook-id"] for seen in at.receivers.at(url)]
        assert len(ids) == 3
        assert len(set(ids)) == 1
        assert (await letters.browse(at.network, clerk, DeadLetterSearch())).found == []

    in_virtual_time(work)


# --- parties that are kept from each other ---------------------------------------------------------------------------


END, GUARD, FAR = "Acme/End", "Acme/Guard", "Far/Sender"
BROKEN = Status("broken", "Guard says no")


async def add_guard(scenario: Scenario, guard: str = GUARD, **options: Any) -> None:
    """Add a service that Acme/End includes in front of itself, and developers of the organizations."""
    for address in (END, guard, FAR):
        await scenario.service(address)
    await scenario.rule(END, {"addService": guard, **options})
    for name in ("Acme", "Far", "Provider"):
        await scenario.person(f"dev@{name.lower()}.example", name, Role.DEVELOPER)


@pytest.mark.req("D7", "R12", "Z5", "N7")
async def test_a_sender_learns_nothing_of_an_isolated_service_at_which_its_message_failed() -> None:
    async with Scenario() as scenario:
        await add_guard(scenario, isolate=True)
        near, far = "dev@acme.example", "dev@far.example"
        posted = await scenario.post(FAR, END, type=MessageType.REQUEST)
        await scenario.respond(await scenario.receive(GUARD), status=BROKEN)
        [own] = await scenario.dead_letters(near)
        [told] = await scenario.dead_letters(far)
        assert (own.service, own.cause) == (GUARD, Cause.IN_TRANSIT)
        assert (told.session, told.cause, told.gcid, told.attempts) == (posted.session, Cause.KEPT_BACK, "", 0)
        assert "Guard" not in repr(replace(told, number=0))
        assert told.id != own.id == own.number
        for search in ({"service": GUARD}, {"service": scenario.gcid(GUARD)}, {"cause": "failed-in-transit"}):
            assert await scenario.dead_letters(far, **search) == []
        for shown in (own.id, told.id + 1):
            refusal = await scenario.refusal(letters.inspect(scenario.network, scenario.caller(far), shown))
            assert refusal.code == "not-found"
        seen = await letters.inspect(scenario.network, scenario.caller(far), told.id)
        assert (seen.events, seen.parts) == ([], ())
        await scenario.remove(GUARD)
        refusal = await scenario.refusal(letters.resend(scenario.network, scenario.caller(far), told.id, ""))
        assert (refusal.code, "Guard" in refusal.detail) == ("recipient.unknown", False)


@pytest.mark.req("D7", "N11")
async def test_nothing_is_resent_on_a_way_that_leads_through_who_is_suspended() -> None:
    async with Scenario() as scenario:
        await add_guard(scenario)
        await scenario.post(FAR, END, type=MessageType.REQUEST)
        await scenario.respond(await scenario.receive(GUARD), status=BROKEN)
        developer = scenario.caller("dev@acme.example")
        [letter] = await scenario.dead_letters(developer)
        await scenario.change(END, suspended="unpaid")
        with pytest.raises(Refused, match=r"recipient\.suspended: A service on its route"):
            await letters.resend(scenario.network, developer, letter.id, "")
        await scenario.change(END, suspended="")
        assert (await letters.resend(scenario.network, developer, letter.id, "")).delivery


@pytest.mark.req("D7", "N7", "Z5")
async def test_an_isolated_service_learns_nothing_of_the_sender_whose_message_failed_at_it() -> None:
    async with Scenario() as scenario:
        depot = "Provider/Depot"
        await add_guard(scenario, depot, isolate=True)
        far, provider = scenario.caller("dev@far.example"), scenario.caller("dev@provider.example")
        posted = await scenario.post(FAR, END, type=MessageType.REQUEST, handle="secret-handle")
        delivered = await scenario.receive(depot)
        await scenario.respond(delivered, status=Status("broken", "no"))
        [told] = await scenario.dead_letters(provider)
        assert (told.sender, told.handle, told.service) == (END, "", depot)
        assert told.session == delivered.session != posted.session
        assert told.id != told.number
        assert told.failed_at_us % 1_000_000 == told.posted_at_us % 1_000_000 == 0
        assert await scenario.dead_letters(provider, sender=FAR) == []
        assert await scenario.dead_letters(provider, session=posted.session) == []
        seen = await letters.inspect(scenario.network, provider, told.id)
        assert [event.what for event in seen.events] == ["handed out", "failed"]
        [own] = await scenario.dead_letters(far)
        dealt = await letters.resend(scenario.network, far, own.id, "Far wants it")
        again = await scenario.receive(depot)
        assert (again.session, again.sender) == (delivered.session, END)
        seen = await letters.inspect(scenario.network, provider, told.id)
        assert "Far" not in repr([(event.by, event.detail) for event in seen.events])
        assert scenario.number(again) == scenario.network.tokens.pseudonyms.real_number(dealt.delivery)
