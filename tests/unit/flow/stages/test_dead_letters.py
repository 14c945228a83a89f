"""Dead letters: who sees them, what becomes of those that are resent or dropped, and that each is dealt with once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from postroad.core.delivery.dead_letters import Cause
from postroad.core.delivery.reasons import make_reason
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.directory import Accepts, Person, Role, Visibility
from postroad.core.model.message import Delivered, Message, MessageType, Part, Recipient, Status
from postroad.core.model.polling import PollRequest, Settlement
from postroad.core.model.reason import Reason
from postroad.core.model.rule import ActionKind, Rule, RuleAction, RuleRole
from postroad.errors import Refused
from postroad.flow.administration import dead_letters as letters
from postroad.flow.administration import dead_letters as resending
from postroad.flow.administration.dead_letters import DeadLetterSearch
from postroad.flow.network import Network
from postroad.flow.registries.configuration import DirectoryChange, build_save
from postroad.testing.network import MemoryNetwork, memory_network
from tests.samples.town import ALWAYS, Hourglass, Town, add, open_town
from tests.unit.flow.push.pushing_bench import BUSY, OK, Bench, in_virtual_time, url_of

WHY = make_reason("push.server-error", status=503, tries=9)
REASON = "the receiver answered 503; tried 9 times"


@dataclass(slots=True, kw_only=True)
class House:
    """A buyer and a seller, and the people of both."""

    running: MemoryNetwork
    clock: Hourglass
    buyer: Caller
    seller: Caller
    people: dict[str, Caller]

    @property
    def network(self) -> Network:
        return self.running.network

    async def post(self, kind: MessageType = MessageType.NOTIFICATION, **more: Any) -> str:
        part = Part(id="1", content_type="text/plain", data=b"hello")
        message = Message(to=(Recipient("Acme/Supply"),), type=kind, parts=(part,), **more)
        return (await self.network.post(self.buyer, message)).session

    async def polled(self, caller: Caller | None = None) -> list[Delivered]:
        return await self.network.poll(caller or self.seller, PollRequest(max=100))

    async def fail(self, delivered: Delivered, why: Reason = WHY) -> int:
        """Give a delivery up, as a push would after its last try."""
        number = self.network.tokens.number(delivered.token)
        assert number is not None
        await self.network.ending.fail(number, why)
        return number

    async def failed(self, kind: MessageType = MessageType.NOTIFICATION, why: Reason = WHY, **more: Any) -> int:
        """The number of a new dead letter at the seller."""
        await self.post(kind, **more)
        [delivered] = await self.polled()
        return await self.fail(delivered, why)

    async def listed(self, who: str, **wish: Any) -> list[int]:
        page = await letters.browse(self.network, self.people[who], DeadLetterSearch(**wish))
        return [found.letter.id for found in page.found]

    async def states(self, session: str) -> list[str]:
        history = await self.network.trace(session, None)
        assert history is not None
        return [stop.state for copy in history.messages[0].copies for stop in copy.stops]


@pytest.fixture
async def house() -> AsyncIterator[House]:
    clock = Hourglass()
    async with memory_network(clock) as running:
        buyer = await running.register("MyBiz/Purchasing", visibility=Visibility.PUBLIC)
        seller = await running.register("Acme/Supply", visibility=Visibility.PUBLIC, accepts=Accepts.ANYONE)
        people = {
            "buyer": await running.enroll("dev@mybiz.example", organization="MyBiz", role=Role.DEVELOPER),
            "viewer": await running.enroll("viewer@mybiz.example", organization="MyBiz", role=Role.VIEWER),
            "seller": await running.enroll("owner@acme.example", organization="Acme"),
            "stranger": await running.enroll("owner@other.example", organization="Other"),
            "operator": await running.enroll("ops@network.example", operator=True),
        }
        yield House(running=running, clock=clock, buyer=buyer, seller=seller, people=people)


@pytest.mark.req("D7")
async def test_both_parties_see_a_dead_letter_and_nobody_else(house: House) -> None:
    number = await house.failed()
    for who in ("buyer", "viewer", "seller", "operator"):
        assert await house.listed(who) == [number], who
    assert await house.listed("stranger") == []
    with pytest.raises(Refused) as refused:
        await letters.inspect(house.network, house.people["stranger"], number)
    assert refused.value.code == "not-found"
    assert [one.letter.id for one in (await letters.browse(house.network, house.buyer, DeadLetterSearch())).found] == [
        number
    ]


@pytest.mark.req("D7")
async def test_it_is_inspected_with_what_happened_and_what_it_has(house: House) -> None:
    number = await house.failed(topic="orders", handle="h1")
    seen = await letters.inspect(house.network, house.people["buyer"], number)
    letter = seen.letter
    assert (letter.service, letter.sender, letter.topic, letter.handle) == (
        "Acme/Supply", "MyBiz/Purchasing", "orders", "h1",
    )  # fmt: skip
    assert (letter.cause, letter.reason, letter.attempts, letter.size) == (Cause.SERVER_ERROR, REASON, 1, 5)
    assert [event.what for event in seen.events] == ["handed out", "failed"]
    assert [part.id for part in seen.parts] == ["1"]
    assert (await letters.inspect(house.network, house.people["operator"], number)).parts == ()


@pytest.mark.req("D7", "D5")
@pytest.mark.parametrize("who", ["buyer", "seller", "operator"])
async def test_a_resent_letter_is_delivered_once_more_under_the_same_session(house: House, who: str) -> None:
    session = await house.post()
    [first] = await house.polled()
    number = await house.fail(first)
    dealt = await resending.resend(house.network, house.people[who], number, "mended")
    [again] = await house.polled()
    assert (again.session, again.parts, again.attempt) == (session, first.parts, 1)
    assert again.token != first.token
    assert house.network.tokens.number(again.token) == dealt.delivery
    await house.network.settle(house.seller, Settlement(tokens=(again.token,)))
    assert await house.states(session) == ["failed", "delivered"]
    assert await house.listed(who) == []
    assert await house.polled() == []


@pytest.mark.req("D7")
async def test_a_letter_is_dealt_with_once_whoever_asks_at_the_same_time(house: House) -> None:
    number = await house.failed()
    people = [house.people[who] for who in ("buyer", "seller", "operator")]
    outcomes = await asyncio.gather(
        *(resending.resend(house.network, who, number, "") for who in people),
        *(resending.drop(house.network, who, number, "old") for who in people),
        return_exceptions=True,
    )
    refusals = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
    assert [refusal.code for refusal in refusals] == ["dead-letter.dealt"] * 5
    assert len(await house.polled()) <= 1
    with pytest.raises(Refused, match="already"):
        await resending.resend(house.network, people[0], number, "")


@pytest.mark.req("D7")
async def test_a_dropped_letter_stays_failed_with_its_reason_on_record(house: House) -> None:
    session = await house.post()
    [delivered] = await house.polled()
    number = await house.fail(delivered)
    await resending.drop(house.network, house.people["seller"], number, "a test order")
    assert await house.listed("operator") == []
    assert await house.polled() == []
    history = await house.network.trace(session, "acme")
    assert history is not None
    event = history.messages[0].copies[0].stops[0].events[-1]
    assert (event.what, event.by, event.detail) == ("dropped", "owner@acme.example", "a test order")
    told = await house.network.trace(session, "mybiz")
    assert told is not None
    event = told.messages[0].copies[0].stops[0].events[-1]
    assert (event.what, event.by, event.detail) == ("dropped", "another party", ""), "people are not named to others"


async def test_viewers_and_services_only_look(house: House) -> None:
    number = await house.failed()
    for caller in (house.people["viewer"], house.buyer):
        for dealing in (resending.resend, resending.drop):
            with pytest.raises(Refused) as refused:
                await dealing(house.network, caller, number, "x")
            assert refused.value.code == "permission.denied"
        with pytest.raises(Refused):
            await resending.resend_many(house.network, caller, DeadLetterSearch(), "x")
    assert await house.listed("viewer") == [number]


@pytest.mark.req("D7")
async def test_letters_are_found_by_what_is_known_of_them(house: House) -> None:
    one = await house.failed(topic="orders")
    house.clock.ahead_s += 100
    two = await house.failed(topic="bills", why=make_reason("delivery.not-acknowledged", count=20))
    [first, second] = [
        found.letter for found in (await letters.browse(house.network, house.people["buyer"], DeadLetterSearch())).found
    ]
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
            assert await house.listed(who, **wish) == numbers, (who, wish)
    groups, complete = await letters.list_letter_groups(house.network, house.people["seller"], DeadLetterSearch())
    assert complete
    assert [(group.service, group.cause, group.count, group.example) for group in groups] == [
        ("Acme/Supply", Cause.NOT_ACKNOWLEDGED, 1, two), ("Acme/Supply", Cause.SERVER_ERROR, 1, one),
    ]  # fmt: skip


@pytest.mark.req("D7")
async def test_many_are_resent_page_by_page_in_their_order_and_none_twice(house: House) -> None:
    numbers = [await house.failed(handle=f"h{place}") for place in range(7)]
    developer = house.people["buyer"]
    counted = await letters.count(house.network, developer, DeadLetterSearch())
    assert (counted.matches, len(counted.sample), counted.complete) == (7, 5, True)
    wish, resent, upto = DeadLetterSearch(limit=3), [], 0
    while True:
        page = await resending.resend_many(house.network, developer, wish, "mended")
        resent += [dealt.letter.number for dealt in page.dealt]
        for again in await house.polled():  # and they fail again, while the run goes on
            await house.fail(again)
        upto = upto or page.upto
        assert page.upto == upto
        if page.next_after is None:
            break
        wish = DeadLetterSearch(limit=3, after=page.next_after, upto=page.upto)
    assert resent == numbers
    assert len(await house.listed("buyer")) == 7
    handles = [
        found.letter.handle for found in (await letters.browse(house.network, developer, DeadLetterSearch())).found
    ]
    assert handles == [f"h{place}" for place in range(7)]
    assert all(
        found.letter.resent for found in (await letters.browse(house.network, developer, DeadLetterSearch())).found
    )


async def test_many_are_dropped_with_one_reason(house: House) -> None:
    await asyncio.gather(*(house.post(topic="old" if place % 2 else "new") for place in range(6)))
    for delivered in await house.polled():
        await house.fail(delivered)
    page = await resending.drop_many(house.network, house.people["seller"], DeadLetterSearch(topic="old"), "too old")
    assert (len(page.dealt), page.next_after) == (3, None)
    assert len(await house.listed("buyer")) == 3
    assert await house.listed("buyer", topic="old") == []


@pytest.mark.req("D7", "M8")
async def test_a_resent_request_is_answered_and_its_sender_gets_one_more_response(house: House) -> None:
    session = await house.post(MessageType.REQUEST)
    [first] = await house.polled()
    number = await house.fail(first)
    [error] = await house.polled(house.buyer)
    assert error.status is not None
    assert error.status.code == "route.failed"
    await house.network.settle(house.buyer, Settlement(tokens=(error.token,)))
    await resending.resend(house.network, house.people["seller"], number, "mended")
    [again] = await house.polled()
    await house.network.post(house.seller, Message(type=MessageType.RESPONSE, reference=again.token))
    [response] = await house.polled(house.buyer)
    assert (response.status, response.reference and response.reference.session) == (None, session)
    await house.network.settle(house.buyer, Settlement(tokens=(response.token,)))
    history = await house.network.trace(session, "mybiz")
    assert history is not None
    assert history.messages[0].copies[0].state == "delivered"


async def test_a_round_that_fails_again_is_told_again_and_is_a_letter_again(house: House) -> None:
    number = await house.failed(MessageType.REQUEST)
    await resending.resend(house.network, house.people["buyer"], number, "")
    [again] = await house.polled()
    await house.fail(again)
    errors = await house.polled(house.buyer)
    assert [error.status and error.status.code for error in errors] == ["route.failed"] * 2
    [letter] = [
        found.letter for found in (await letters.browse(house.network, house.people["buyer"], DeadLetterSearch())).found
    ]
    assert (letter.resent, letter.number > number) == (True, True)


async def test_a_round_expires_in_its_own_time(house: House) -> None:
    expires_at_us = house.clock.now_us() + 3600 * 1_000_000
    number = await house.failed(MessageType.REQUEST, expires_at_us=expires_at_us)
    house.clock.ahead_s += 7200
    developer = house.people["buyer"]
    dealt = await resending.resend(house.network, developer, number, "")
    house.clock.ahead_s += 3500
    await house.network.expiry.expire_due()
    found = await house.network.desk.find(dealt.delivery)
    assert found is not None
    assert found.state is DeliveryState.QUEUED
    house.clock.ahead_s += 200
    await house.network.expiry.expire_due()
    found = await house.network.desk.find(dealt.delivery)
    assert found is not None
    assert found.state is DeliveryState.EXPIRED
    assert [error.status and error.status.code for error in await house.polled(house.buyer)][-1] == "route.expired"


async def test_the_time_of_a_round_can_be_given(house: House) -> None:
    number = await house.failed()
    dealt = await resending.resend(house.network, house.people["buyer"], number, "", expires_in_s=60)
    found = await house.network.desk.find(dealt.delivery)
    assert found is not None
    assert abs(found.queued.expires_at_us - house.clock.now_us() - 60_000_000) < 5_000_000


@pytest.mark.req("D7", "R11")
async def test_its_sender_withdraws_a_round_that_waits(house: House) -> None:
    session = await house.post(MessageType.REQUEST)
    [first] = await house.polled()
    number = await house.fail(first)
    await resending.resend(house.network, house.people["buyer"], number, "")
    cancel = Message(type=MessageType.CANCEL, reference=session)
    result = await house.network.post(house.buyer, cancel)
    assert [recipient.code for recipient in result.recipients] == [""]
    assert await house.polled() == []
    assert await house.states(session) == ["failed", "cancelled"]


async def test_nothing_is_resent_to_who_is_gone_suspended_or_accepts_it_no_more(house: House) -> None:
    number = await house.failed()
    service = house.seller.service
    assert service is not None
    developer, change = house.people["buyer"], house.network.configuration.change
    cases: list[tuple[DirectoryChange, str]] = [
        (build_save(replace(service, suspended="unpaid")), "recipient.suspended"),
        (build_save(replace(service, accepts=Accepts.LISTED)), "recipient.not-allowed"),
        (DirectoryChange(kind="service", key=service.gcid, value=None), "recipient.unknown"),
    ]
    for changed, code in cases:
        await change("test", [changed])
        with pytest.raises(Refused) as refused:
            await resending.resend(house.network, developer, number, "")
        assert refused.value.code == code
        page = await resending.resend_many(house.network, developer, DeadLetterSearch(), "")
        assert [dealt.refusal and dealt.refusal.code for dealt in page.dealt] == [code]
    assert await house.listed("buyer") == [number]
    await resending.drop(house.network, developer, number, "gone")


async def test_what_retention_has_dropped_is_not_resent(house: House) -> None:
    number = await house.failed()
    await house.network.journal.drop_bodies((await house.network.journal.head()).seq + 1)
    with pytest.raises(Refused) as refused:
        await resending.resend(house.network, house.people["buyer"], number, "")
    assert refused.value.code == "body.dropped"


@pytest.mark.req("D7", "D3")
def test_a_resent_push_comes_with_the_id_of_the_first_round() -> None:
    async def work(at: Bench) -> None:
        await at.pushed_to("Acme/Supply", push={"tries": 1}, accepts=Accepts.ANYONE)
        url, clerk = url_of("Acme/Supply"), await at.running.enroll("ops@network.example", operator=True)
        at.receivers.answer(url, BUSY, BUSY, OK)
        await at.post("Acme/Supply")
        for _ in range(2):
            await asyncio.sleep(60)
            [found] = (await letters.browse(at.running.network, clerk, DeadLetterSearch())).found
            assert found.letter.cause is Cause.SERVER_ERROR
            await resending.resend(at.running.network, clerk, found.letter.id, "mended")
        await asyncio.sleep(120)
        ids = [seen.request.headers["webhook-id"] for seen in at.receivers.at(url)]
        assert len(ids) == 3
        assert len(set(ids)) == 1
        assert (await letters.browse(at.running.network, clerk, DeadLetterSearch())).found == []

    in_virtual_time(work)


# --- parties that are kept from each other ---------------------------------------------------------------------------


@pytest.mark.req("D7", "R12", "Z5", "N7")
async def test_a_sender_learns_nothing_of_an_isolated_service_at_which_its_message_failed() -> None:
    async with open_town() as town:
        await town.rule("End", add("Guard", isolates=True))
        sender = await town.stranger("Far/Sender")
        far = Caller(person=Person(email="dev@far.example", organization="Far", role=Role.DEVELOPER))
        near = Caller(person=Person(email="dev@town.example", organization="Town", role=Role.DEVELOPER))
        posted = await town.network.post(sender, Message(to=(Recipient("Town/End"),), type=MessageType.REQUEST))
        await town.answer(await town.next("Guard"), status=Status("broken", "Guard says no"))
        [own] = [found.letter for found in (await letters.browse(town.network, near, DeadLetterSearch())).found]
        [told] = [found.letter for found in (await letters.browse(town.network, far, DeadLetterSearch())).found]
        assert (own.service, own.cause) == ("Town/Guard", Cause.IN_TRANSIT)
        assert (told.session, told.cause, told.gcid, told.attempts) == (posted.session, Cause.KEPT_BACK, "", 0)
        assert "Guard" not in repr(replace(told, number=0))
        assert told.id != own.id == own.number
        guard = town.network.directory.service("Town/Guard")
        assert guard is not None
        for wish in (
            DeadLetterSearch(service="Town/Guard"),
            DeadLetterSearch(service=guard.gcid),
            DeadLetterSearch(cause="failed-in-transit"),
        ):
            assert (await letters.browse(town.network, far, wish)).found == []
        for shown in (own.id, told.id + 1):
            with pytest.raises(Refused) as refused:
                await letters.inspect(town.network, far, shown)
            assert refused.value.code == "not-found"
        seen = await letters.inspect(town.network, far, told.id)
        assert (seen.events, seen.parts) == ([], ())
        await town.remove("Guard")
        with pytest.raises(Refused) as refused:
            await resending.resend(town.network, far, told.id, "")
        assert (refused.value.code, "Guard" in refused.value.detail) == ("recipient.unknown", False)


@pytest.mark.req("D7", "N11")
async def test_nothing_is_resent_on_a_way_that_leads_through_who_is_suspended() -> None:
    async with open_town() as town:
        await town.rule("End", add("Guard"))
        clerk = Caller(person=Person(email="dev@town.example", organization="Town", role=Role.DEVELOPER))
        await town.post("End")
        await town.answer(await town.next("Guard"), status=Status("broken", "Guard says no"))
        [found] = (await letters.browse(town.network, clerk, DeadLetterSearch())).found
        end = town.network.directory.service("Town/End")
        assert end is not None
        await town.network.configuration.change("test", [build_save(replace(end, suspended="unpaid"))])
        with pytest.raises(Refused, match=r"recipient\.suspended: A service on its way"):
            await resending.resend(town.network, clerk, found.letter.id, "")
        await town.network.configuration.change("test", [build_save(end)])
        assert (await resending.resend(town.network, clerk, found.letter.id, "")).delivery


def rule_at(town: Town, owner: str, *then: RuleAction) -> Rule:
    service = town.network.directory.service(f"Town/{owner}")
    assert service is not None
    return Rule(service=service.gcid, name="includes", place=1, role=RuleRole.ANY, when=ALWAYS, then=then)


@pytest.mark.req("D7", "N7", "Z5")
async def test_an_isolated_service_learns_nothing_of_the_sender_whose_message_failed_at_it() -> None:
    async with open_town() as town:
        hidden = await town.stranger("Provider/Depot", visibility=Visibility.PUBLIC, accepts=Accepts.ANYONE)
        include = RuleAction(kind=ActionKind.ADD_SERVICE, service="Provider/Depot", isolates=True)
        await town.service("End")
        await town.network.configuration.change("test", [build_save(rule_at(town, "End", include))])
        sender = await town.stranger("Far/Sender")
        provider = Caller(person=Person(email="dev@provider.example", organization="Provider", role=Role.DEVELOPER))
        message = Message(to=(Recipient("Town/End"),), type=MessageType.REQUEST, handle="secret-handle")
        posted = await town.network.post(sender, message)
        [delivered] = await town.waiting_for(hidden)
        refusal = Message(type=MessageType.RESPONSE, reference=delivered.token, status=Status("broken", "no"))
        await town.network.post(hidden, refusal)
        [found] = (await letters.browse(town.network, provider, DeadLetterSearch())).found
        told = found.letter
        assert (told.sender, told.handle, told.service) == ("Town/End", "", "Provider/Depot")
        assert told.session == delivered.session != posted.session
        assert told.id != told.number
        assert told.failed_at_us % 1_000_000 == told.posted_at_us % 1_000_000 == 0
        assert (await letters.browse(town.network, provider, DeadLetterSearch(sender="Far/Sender"))).found == []
        assert (await letters.browse(town.network, provider, DeadLetterSearch(session=posted.session))).found == []
        seen = await letters.inspect(town.network, provider, told.id)
        assert [event.what for event in seen.events] == ["handed out", "failed"]
        far = Caller(person=Person(email="dev@far.example", organization="Far", role=Role.DEVELOPER))
        [own] = [one.letter for one in (await letters.browse(town.network, far, DeadLetterSearch())).found]
        dealt = await resending.resend(town.network, far, own.id, "Far wants it")
        [again] = await town.waiting_for(hidden)
        assert (again.session, again.sender) == (delivered.session, "Town/End")
        seen = await letters.inspect(town.network, provider, told.id)
        assert "Far" not in repr([(event.by, event.detail) for event in seen.events])
        assert town.network.tokens.number(again.token) == town.network.tokens.pseudonyms.real_number(dealt.delivery)
