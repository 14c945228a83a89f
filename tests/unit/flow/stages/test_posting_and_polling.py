"""The flow on a network in memory: post, poll, acknowledge, answer, and every refusal on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from postroad.adapters.desk.seen_keys import SeenKeys
from postroad.core.model.directory import Visibility
from postroad.core.model.journal import MessagePosted, MessageRefused
from postroad.core.model.message import Argument, MessageType, Part, Property, Recipient, Status
from postroad.core.model.polling import Selector, Settlement
from postroad.errors import Unavailable
from postroad.flow.stages.posting import Answer, Posting
from postroad.ports import BodyAt, Journal
from postroad.testing import Scenario
from postroad.testing.compose import compose
from tests.unit.flow.stages.polls import until_a_poll_waits

ORDER = Part(id="order", content_type="application/xml", data=b"<order number='1'/>")


BUYER, SUPPLY, XSLT = "MyBiz/Purchasing", "Acme/Supply", "Transmatics/xslt"


@pytest.fixture
async def scenario() -> AsyncIterator[Scenario]:
    """MyBiz buys from Acme, Transmatics works on the way."""
    async with Scenario() as scenario:
        await scenario.service(BUYER, visibility=Visibility.PRIVATE)
        await scenario.service(SUPPLY)
        await scenario.service(XSLT)
        yield scenario


async def order(scenario: Scenario, **fields: Any) -> str:
    given = {"to": SUPPLY, "type": MessageType.REQUEST, "parts": (ORDER,)} | fields
    return (await scenario.post(BUYER, **given)).session


def forget_keys(scenario: Scenario) -> None:
    """Leave the keys of earlier posts to the index, as after a million others."""
    hot = scenario.network.desk._hot  # type: ignore[attr-defined]
    hot.keys, hot.flagged = SeenKeys(), SeenKeys()
    hot.keys._complete = hot.flagged._complete = False


@pytest.mark.req("M2", "M3", "M7")
async def test_a_message_is_delivered_byte_for_byte_with_the_fields_that_the_network_adds(scenario: Scenario) -> None:
    parts = (
        ORDER,
        Part(id="note", content_type="text/plain", data="grüße\r\n".encode()),
        Part(id="scan", content_type="image/png", data=bytes(range(256)), attachment=True, expires_at_us=99),
        Part(id="nothing", content_type="application/octet-stream", data=b""),
    )
    session = await order(
        scenario,
        to=(Recipient("Acme/Supply", (Argument("operation", "Process"),)),),
        parts=parts,
        topic="orders",
        handle="PO-1",
        properties=(Property("amount", "12.50"),),
    )
    delivered = await scenario.receive(SUPPLY)
    assert delivered.parts == parts
    assert (delivered.session, delivered.transaction) == (session, session)
    assert (delivered.sender, delivered.recipient, delivered.invoker) == (
        "MyBiz/Purchasing",
        "Acme/Supply",
        "MyBiz/Purchasing",
    )
    assert (delivered.topic, delivered.handle, delivered.attempt) == ("orders", "PO-1", 1)
    assert delivered.arguments == (Argument("operation", "Process"),)
    assert delivered.properties == (Property("amount", "12.50"),)
    assert not delivered.in_transit


@pytest.mark.req("M1", "M11")
async def test_a_response_comes_back_correlated(scenario: Scenario) -> None:
    session = await order(scenario, handle="PO-1", topic="orders")
    request = await scenario.receive(SUPPLY)
    answer = Part(id="1", content_type="text/plain", data=b"confirmed")
    await scenario.respond(request, parts=(answer,))
    response = await scenario.receive(BUYER)
    assert response.reference is not None
    assert (response.reference.session, response.reference.handle) == (session, "PO-1")
    assert (response.transaction, response.type, response.topic) == (session, MessageType.RESPONSE, "orders")
    assert response.parts == (answer,)
    assert await scenario.poll(SUPPLY) == [], "answering a request acknowledges it"


@pytest.mark.req("M5")
async def test_answers_that_do_not_fit_are_refused(scenario: Scenario) -> None:
    await order(scenario)
    request = await scenario.receive(SUPPLY)
    assert (await scenario.refusal(scenario.respond(request, by=XSLT))).code == "reference.invalid"
    forged = request.token[:-1] + ("0" if request.token[-1] != "0" else "1")
    for reference in ("1.ff", forged):
        refusal = await scenario.refusal(scenario.respond(request, reference=reference))
        assert refusal.code == "reference.invalid"
    await scenario.respond(request)
    assert (await scenario.refusal(scenario.respond(request))).code == "reference.answered"


@pytest.mark.req("M5")
async def test_a_notification_takes_no_response(scenario: Scenario) -> None:
    await order(scenario, type=MessageType.NOTIFICATION)
    delivered = await scenario.receive(SUPPLY)
    refusal = await scenario.refusal(scenario.respond(delivered))
    assert refusal.code == "reference.notification"


@pytest.mark.req("M1")
async def test_an_acknowledgement_can_be_posted_as_a_message(scenario: Scenario) -> None:
    await order(scenario, type=MessageType.NOTIFICATION)
    delivered = await scenario.receive(SUPPLY, lease_s=60)
    await scenario.post(SUPPLY, type=MessageType.ACKNOWLEDGEMENT, reference=delivered.token)
    await scenario.advance(hours=1)
    assert await scenario.poll(SUPPLY) == []


@pytest.mark.req("M6")
async def test_a_flagged_duplicate_names_the_first_session(scenario: Scenario) -> None:
    first = await order(scenario, handle="PO-1")
    again = await order(scenario, handle="PO-1")
    assert again != first, "without the flag a handle may come again"
    refusal = await scenario.refusal(scenario.post(BUYER, to=SUPPLY, handle="PO-1", possible_duplicate=True))
    assert (refusal.code, refusal.session) == ("message.duplicate", first)
    await scenario.post(SUPPLY, to="Transmatics/xslt", handle="PO-1", possible_duplicate=True)
    assert len(await scenario.poll(SUPPLY)) == 2


@pytest.mark.req("M6")
@pytest.mark.parametrize("forgetful", [False, True])
async def test_a_handle_that_was_accepted_with_the_flag_is_used_up(scenario: Scenario, forgetful: bool) -> None:
    first = await order(scenario, handle="PO-1", possible_duplicate=True)
    if forgetful:
        forget_keys(scenario)
    for flagged in (False, True):
        refusal = await scenario.refusal(scenario.post(BUYER, to=SUPPLY, handle="PO-1", possible_duplicate=flagged))
        assert (refusal.code, refusal.session) == ("message.duplicate", first)
    await order(scenario, handle="PO-2")
    assert len(await scenario.poll(SUPPLY)) == 2


async def test_a_repeated_post_may_be_tried_again_when_its_first_cannot_be_read(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    await order(scenario, handle="PO-1", possible_duplicate=True)

    async def away(journal: Journal, seq: int) -> None:
        raise Unavailable("network.unavailable", "the database is away")

    monkeypatch.setattr("postroad.flow.stages.accept.load_post", away)
    with pytest.raises(Unavailable, match="the database is away"):
        await order(scenario, handle="PO-1", possible_duplicate=True)


@pytest.mark.req("M6")
@pytest.mark.parametrize("forgetful", [False, True])
async def test_a_bulk_that_comes_again_with_its_key_is_stored_once(scenario: Scenario, forgetful: bool) -> None:
    message = compose(SUPPLY, parts=(ORDER,), handle="PO-1", possible_duplicate=True)
    others = [compose(SUPPLY, parts=(ORDER,)) for _ in range(4)]
    postings = [
        Posting(one, 10, "bulk", f"k/{place}", "mark", bulk="k") for place, one in enumerate([message, *others])
    ]

    async def post(some: list[Posting]) -> list[str]:
        answers: dict[int, asyncio.Future[Answer]] = {
            place: asyncio.get_running_loop().create_future() for place in range(len(some))
        }
        scenario.network.submit_many(
            scenario.caller(BUYER), some, lambda place, answer: answers[place].set_result(answer)
        )
        return [answer.session for answer in await asyncio.gather(*answers.values())]  # type: ignore[union-attr]

    first = await post(postings[:3])
    if forgetful:
        forget_keys(scenario)
    again = await post(postings)
    assert again[:3] == first
    assert len(set(again)) == 5
    assert len(await scenario.poll(SUPPLY)) == 5


@pytest.mark.req("M6")
async def test_an_idempotency_key_gives_the_first_answer_again(scenario: Scenario) -> None:
    message: dict[str, Any] = {"to": [SUPPLY, "No/Body"], "parts": (ORDER,)}
    first = await scenario.post(BUYER, **message, idempotency="k1")
    again = await scenario.post(BUYER, **message, idempotency="k1")
    assert (again.session, again.recipients) == (first.session, first.recipients)
    assert (await scenario.post(BUYER, **message, idempotency="k2")).session != first.session
    assert len(await scenario.poll(SUPPLY)) == 2


@pytest.mark.req("A1", "M5")
async def test_rejected_posts_are_in_the_journal_too(scenario: Scenario) -> None:
    refusal = await scenario.refusal(scenario.post(BUYER, to="No/Body", handle="PO-9"))
    refused = await scenario.entries(MessageRefused)
    assert [(entry.code, entry.handle, entry.named) for entry in refused] == [
        ("recipient.unknown", "PO-9", ("No/Body",))
    ]
    assert refusal.session == refused[0].session, "support can find the refusal by the session it was given"


@pytest.mark.req("D2")
@pytest.mark.parametrize(
    ("select", "expected"),
    [
        (Selector(topic="b"), [b"2"]),
        (Selector(sender="MyBiz/Purchasing", type=MessageType.NOTIFICATION), [b"1", b"2"]),
        (Selector(type=MessageType.REQUEST), [b"3"]),
        (Selector(properties=(("size", "large"),)), [b"2"]),
        (Selector(sender="Nobody/Nowhere"), []),
        (Selector(), [b"1", b"2", b"3"]),
    ],
)
async def test_a_poll_selects(scenario: Scenario, select: Selector, expected: list[bytes]) -> None:
    def part(data: bytes) -> tuple[Part, ...]:
        return (Part(id="1", content_type="text/plain", data=data),)

    await order(scenario, parts=part(b"1"), type=MessageType.NOTIFICATION, topic="a")
    await order(
        scenario, parts=part(b"2"), type=MessageType.NOTIFICATION, topic="b", properties=(Property("size", "large"),)
    )
    await order(scenario, parts=part(b"3"), topic="c")
    assert [message.parts[0].data for message in await scenario.poll(SUPPLY, select=select)] == expected


@pytest.mark.req("D2")
async def test_a_poll_selects_by_session_and_by_transaction(scenario: Scenario) -> None:
    first, second = await order(scenario), await order(scenario)
    [delivered] = await scenario.poll(SUPPLY, select=Selector(session=second))
    assert delivered.session == second
    [delivered] = await scenario.poll(SUPPLY, select=Selector(transaction=first))
    assert delivered.session == first


@pytest.mark.req("D2")
async def test_a_long_poll_ends_with_the_first_message(scenario: Scenario) -> None:
    waiting = asyncio.create_task(scenario.poll(SUPPLY, wait_s=60))
    await until_a_poll_waits(scenario.network, scenario.caller(SUPPLY))
    session = await order(scenario)
    async with asyncio.timeout(30):
        assert [message.session for message in await waiting] == [session]


@pytest.mark.req("D2")
async def test_leases_lapse_and_deliveries_given_back_come_again(scenario: Scenario) -> None:
    await order(scenario)
    first = await scenario.receive(SUPPLY, lease_s=60)
    assert await scenario.poll(SUPPLY) == []
    await scenario.advance(seconds=61)
    second = await scenario.receive(SUPPLY, lease_s=60)
    assert (second.token, second.attempt) == (first.token, 2)
    await scenario.return_to_queue(second, reason="busy")
    third = await scenario.receive(SUPPLY)
    assert third.attempt == 3
    result = await scenario.network.settle(scenario.caller(SUPPLY), Settlement(tokens=(third.token, "zz", first.token)))
    assert [settled.code for settled in result.settled] == ["", "token.unknown", ""]
    await scenario.advance(hours=1)
    assert await scenario.poll(SUPPLY) == []


async def test_another_service_cannot_settle_a_delivery(scenario: Scenario) -> None:
    await order(scenario)
    result = await scenario.acknowledge(await scenario.receive(SUPPLY, lease_s=60), by=XSLT)
    assert result.settled[0].code == "token.unknown"
    await scenario.advance(seconds=61)
    assert len(await scenario.poll(SUPPLY)) == 1


@pytest.mark.req("D2")
async def test_two_acknowledgements_of_one_hand_out_at_once_are_both_taken(scenario: Scenario) -> None:
    """As of a receiver that asks again because the answer is late, or of two after a lease has lapsed."""
    for _ in range(3):
        await order(scenario)
    delivered = await scenario.poll(SUPPLY)
    results = await asyncio.gather(*(scenario.acknowledge(*delivered) for _ in range(2)))
    assert [settled.code for result in results for settled in result.settled] == [""] * 6


async def test_an_explicit_route_passes_its_services_and_carries_their_changes(scenario: Scenario) -> None:
    session = await order(scenario, route=["Transmatics/xslt"])
    assert await scenario.poll(SUPPLY) == []
    delivered = await scenario.receive(XSLT)
    assert delivered.in_transit
    changed = Part(id="order", content_type="application/xml", data=b"<changed/>")
    await scenario.respond(delivered, parts=(changed,))
    arrived = await scenario.receive(SUPPLY)
    assert (arrived.session, arrived.parts, arrived.sender) == (session, (changed,), "MyBiz/Purchasing")
    assert not arrived.in_transit


async def test_an_in_transit_service_that_changes_nothing_may_answer_without_parts(scenario: Scenario) -> None:
    await order(scenario, route=["Transmatics/xslt"], type=MessageType.NOTIFICATION)
    delivered = await scenario.receive(XSLT)
    await scenario.respond(delivered)
    arrived = await scenario.receive(SUPPLY)
    assert arrived.parts == (ORDER,)


async def test_an_in_transit_services_error_ends_the_route(scenario: Scenario) -> None:
    session = await order(scenario, route=["Transmatics/xslt"])
    delivered = await scenario.receive(XSLT)
    error = Status("stylesheet.failed", "no such template")
    await scenario.respond(delivered, status=error)
    assert await scenario.poll(SUPPLY) == []
    assert await scenario.states(session) == ["failed"]


async def test_an_expired_delivery_is_ended_and_never_handed_out(scenario: Scenario) -> None:
    session = await order(scenario, expires_at_us=scenario.clock.now_us() + 1_000_000)
    await scenario.advance(seconds=2)
    assert await scenario.poll(SUPPLY) == []
    assert await scenario.states(session) == ["expired"]


@pytest.mark.req("A2", "M11", "Z5")
async def test_the_history_is_told_whole_to_the_sender_and_cut_for_others(scenario: Scenario) -> None:
    session = await order(scenario, to=("Acme/Supply", "Transmatics/xslt"))
    request = await scenario.receive(SUPPLY)
    await scenario.respond(request)
    whole = await scenario.history(session, "MyBiz")
    assert [message.type for message in whole.messages] == ["request", "response"]
    assert [event.what for event in whole.messages[0].copies[0].stops[0].events] == ["handed out", "answered"]
    assert len(whole.messages[0].copies) == 2
    cut = await scenario.history(session, "Transmatics")
    assert [[copy.recipient for copy in message.copies] for message in cut.messages] == [["Transmatics/xslt"]]
    assert await scenario.network.trace(session, "Strangers") is None
    assert await scenario.network.trace("0" * 32, "MyBiz") is None


async def test_the_directory_version_is_recorded_with_every_message(scenario: Scenario) -> None:
    before = scenario.network.directory.version
    await order(scenario)
    await scenario.service("Late/Comer")
    await order(scenario, to="Late/Comer")
    posted = await scenario.entries(MessagePosted)
    assert [entry.directory for entry in posted] == [before, before + 2]


@pytest.mark.req("M6")
async def test_a_reply_with_an_idempotency_key_may_be_repeated(scenario: Scenario) -> None:
    await order(scenario)
    request = await scenario.receive(SUPPLY)
    first = await scenario.respond(request, parts=(ORDER,), idempotency="r1")
    again = await scenario.respond(request, parts=(ORDER,), idempotency="r1")
    assert again.session == first.session
    refusal = await scenario.refusal(scenario.respond(request, parts=(ORDER,), idempotency="r2"))
    assert refusal.code == "reference.answered"
    assert len(await scenario.poll(BUYER)) == 1


async def test_a_failure_of_the_code_refuses_the_response_as_internal(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever answers a delivery does not wait indefinitely when the code that takes the answer breaks."""
    await order(scenario)
    request = await scenario.receive(SUPPLY)

    async def broken(*_: object) -> None:
        raise RuntimeError("a mistake")

    monkeypatch.setattr("postroad.flow.stages.respond.RespondStage.respond", broken)
    refusal = await scenario.refusal(scenario.respond(request))
    assert refusal.code == "internal"


@pytest.mark.req("M5")
async def test_a_second_response_is_refused_even_if_memory_has_forgotten_the_first(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scenario.network.desk._hot, "keys", SeenKeys(generation_most=2))  # type: ignore[attr-defined]
    await order(scenario)
    request = await scenario.receive(SUPPLY)
    await scenario.acknowledge(request)
    first = await scenario.respond(request, idempotency="once")
    for number in range(6):
        await order(scenario, handle=f"PO-{number}")
    await scenario.network.wait_until_indexed()
    again = await scenario.respond(request, idempotency="once")
    assert again.session == first.session
    refusal = await scenario.refusal(scenario.respond(request))
    assert (refusal.code, refusal.session) == ("reference.answered", first.session)
    assert len(await scenario.poll(BUYER)) == 1


@pytest.mark.req("D1")
async def test_unreadable_bodies_neither_block_others_nor_are_handed_out_empty(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroad.adapters.desk.hot_state.WARM_BYTES", 0)
    whole, _, _ = [
        await order(scenario, parts=(Part(id="1", content_type="text/plain", data=data),))
        for data in (b"whole", b"damaged", b"dropped")
    ]
    body = scenario.network.journal.body

    async def partly(at: BodyAt) -> bytes | None:
        found = await body(at)
        if found == b"damaged":
            raise Unavailable("storage.damaged", "not the one that was written")
        return None if found == b"dropped" else found

    monkeypatch.setattr(scenario.network.journal, "body", partly)
    assert [(one.session, one.parts[0].data) for one in await scenario.poll(SUPPLY)] == [(whole, b"whole")]
    told = await scenario.receive(BUYER)
    assert told.status is not None
    assert told.status.text.startswith("body.dropped")
    await order(scenario, parts=(Part(id="1", content_type="text/plain", data=b"damaged"),))
    with pytest.raises(Unavailable, match="storage"):
        await scenario.poll(SUPPLY)


async def test_an_answer_that_leaves_documents_as_they_were_needs_them(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retention may have forgotten them meanwhile; the next service is not handed empty documents."""
    await order(scenario, route=["Transmatics/xslt"])
    delivered = await scenario.receive(XSLT)

    async def dropped(*_: object) -> None:
        return None

    with monkeypatch.context() as forgetting:
        forgetting.setattr(scenario.network.desk, "body", dropped)
        assert (await scenario.refusal(scenario.respond(delivered))).code == "body.dropped"
    await scenario.respond(delivered)
    assert [message.parts for message in await scenario.poll(SUPPLY)] == [(ORDER,)]


async def test_the_rules_that_were_tried_are_counted(scenario: Scenario) -> None:
    tried = partial(scenario.network.metrics.value, "rules_tried_total")
    await scenario.post(BUYER, SUPPLY)
    assert tried() == 0
    for _ in range(2):
        await scenario.rule(SUPPLY, {"addService": XSLT}, role="recipient")
    await scenario.post(BUYER, SUPPLY)
    assert tried() == 2
    await scenario.rule(SUPPLY, {"addService": "Acme/Missing"}, role="recipient")
    await scenario.refusal(scenario.post(BUYER, SUPPLY))
    assert tried() == 5
