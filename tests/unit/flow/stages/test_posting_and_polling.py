"""The flow on a network in memory: post, poll, acknowledge, answer, and every refusal on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from postroad.adapters.desk.seen_keys import SeenKeys
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Visibility
from postroad.core.model.journal import Entry, MessagePosted, MessageRefused, decode
from postroad.core.model.message import Argument, Delivered, Message, MessageType, Part, Property, Recipient, Status
from postroad.core.model.polling import Outcome, PollRequest, Selector, Settlement
from postroad.errors import Refused, Unavailable
from postroad.flow.stages.posting import Answer, Posting
from postroad.ports import BodyAt, Journal
from postroad.testing.network import MemoryNetwork, memory_network
from tests.unit.flow.stages.polls import until_a_poll_waits
from tests.waiting import eventually_async

PUBLIC = {"visibility": Visibility.PUBLIC}
ORDER = Part(id="order", content_type="application/xml", data=b"<order number='1'/>")


class House:
    """A small network: MyBiz buys from Acme, Transmatics works on the way."""

    def __init__(self, running: MemoryNetwork, buyer: Caller, supply: Caller, xslt: Caller) -> None:
        self.running = running
        self.network = running.network
        self.buyer, self.supply, self.xslt = buyer, supply, xslt

    async def post(self, caller: Caller, **fields: object) -> str:
        result = await self.network.post(caller, Message(**fields))  # type: ignore[arg-type]
        return result.session

    async def order(self, **fields: object) -> str:
        return await self.post(
            self.buyer, **{"to": (Recipient("Acme/Supply"),), "type": MessageType.REQUEST, "parts": (ORDER,)} | fields
        )

    async def poll(self, caller: Caller, **fields: object) -> list[Delivered]:
        return await self.network.poll(caller, PollRequest(**fields))  # type: ignore[arg-type]

    async def refusal(self, caller: Caller, **fields: object) -> Refused:
        with pytest.raises(Refused) as refused:
            await self.network.post(caller, Message(**fields))  # type: ignore[arg-type]
        return refused.value

    def forget_keys(self) -> None:
        """Leave the keys of earlier posts to the index, as after a million others."""
        hot = self.network.desk._hot  # type: ignore[attr-defined]
        hot.keys, hot.flagged = SeenKeys(), SeenKeys()
        hot.keys._complete = hot.flagged._complete = False

    async def entries(self) -> list[Entry]:
        return [decode(record.facts) for record in (await self.network.journal.read(0, 1 << 30)).records]


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with memory_network() as running:
        yield House(
            running,
            await running.register("MyBiz/Purchasing"),
            await running.register("Acme/Supply", **PUBLIC),
            await running.register("Transmatics/xslt", **PUBLIC),
        )


@pytest.mark.req("M2", "M3", "M7")
async def test_what_is_posted_is_delivered_byte_for_byte_with_what_the_network_adds(house: House) -> None:
    parts = (
        ORDER,
        Part(id="note", content_type="text/plain", data="grüße\r\n".encode()),
        Part(id="scan", content_type="image/png", data=bytes(range(256)), attachment=True, expires_at_us=99),
        Part(id="nothing", content_type="application/octet-stream", data=b""),
    )
    session = await house.order(
        to=(Recipient("Acme/Supply", (Argument("operation", "Process"),)),),
        parts=parts,
        topic="orders",
        handle="PO-1",
        properties=(Property("amount", "12.50"),),
    )
    [delivered] = await house.poll(house.supply)
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
async def test_a_response_comes_back_correlated(house: House) -> None:
    session = await house.order(handle="PO-1", topic="orders")
    [request] = await house.poll(house.supply)
    answer = Part(id="1", content_type="text/plain", data=b"confirmed")
    await house.post(house.supply, type=MessageType.RESPONSE, reference=request.token, parts=(answer,))
    [response] = await house.poll(house.buyer)
    assert response.reference is not None
    assert (response.reference.session, response.reference.handle) == (session, "PO-1")
    assert (response.transaction, response.type, response.topic) == (session, MessageType.RESPONSE, "orders")
    assert response.parts == (answer,)
    assert await house.poll(house.supply) == [], "answering a request acknowledges it"


@pytest.mark.req("M5")
async def test_answers_that_do_not_fit_are_refused(house: House) -> None:
    await house.order()
    [request] = await house.poll(house.supply)
    answer = {"type": MessageType.RESPONSE, "reference": request.token}
    assert (await house.refusal(house.xslt, **answer)).code == "reference.invalid"
    assert (await house.refusal(house.supply, type=MessageType.RESPONSE, reference="1.ff")).code == "reference.invalid"
    forged = request.token[:-1] + ("0" if request.token[-1] != "0" else "1")
    assert (await house.refusal(house.supply, type=MessageType.RESPONSE, reference=forged)).code == "reference.invalid"
    await house.post(house.supply, **answer)
    assert (await house.refusal(house.supply, **answer)).code == "reference.answered"


@pytest.mark.req("M5")
async def test_a_notification_takes_no_response(house: House) -> None:
    await house.order(type=MessageType.NOTIFICATION)
    [delivered] = await house.poll(house.supply)
    refusal = await house.refusal(house.supply, type=MessageType.RESPONSE, reference=delivered.token)
    assert refusal.code == "reference.notification"


@pytest.mark.req("M1")
async def test_an_acknowledgement_can_be_posted_as_a_message(house: House) -> None:
    await house.order(type=MessageType.NOTIFICATION)
    [delivered] = await house.poll(house.supply, lease_s=0.01)
    await house.post(house.supply, type=MessageType.ACKNOWLEDGEMENT, reference=delivered.token)
    assert await house.poll(house.supply, wait_s=0.05) == []


@pytest.mark.req("M6")
async def test_a_flagged_duplicate_names_the_first_session(house: House) -> None:
    first = await house.order(handle="PO-1")
    again = await house.order(handle="PO-1")
    assert again != first, "without the flag a handle may come again"
    refusal = await house.refusal(house.buyer, to=(Recipient("Acme/Supply"),), handle="PO-1", possible_duplicate=True)
    assert (refusal.code, refusal.session) == ("message.duplicate", first)
    await house.post(house.supply, to=(Recipient("Transmatics/xslt"),), handle="PO-1", possible_duplicate=True)
    assert len(await house.poll(house.supply)) == 2


@pytest.mark.req("M6")
@pytest.mark.parametrize("forgetful", [False, True])
async def test_a_handle_that_was_accepted_with_the_flag_is_used_up(house: House, forgetful: bool) -> None:
    first = await house.order(handle="PO-1", possible_duplicate=True)
    if forgetful:
        house.forget_keys()
    for flagged in (False, True):
        refusal = await house.refusal(
            house.buyer, to=(Recipient("Acme/Supply"),), handle="PO-1", possible_duplicate=flagged
        )
        assert (refusal.code, refusal.session) == ("message.duplicate", first)
    await house.order(handle="PO-2")
    assert len(await house.poll(house.supply)) == 2


async def test_a_repeated_post_may_be_tried_again_when_its_first_cannot_be_read(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await house.order(handle="PO-1", possible_duplicate=True)

    async def away(journal: Journal, seq: int) -> None:
        raise Unavailable("network.unavailable", "the database is away")

    monkeypatch.setattr("postroad.flow.stages.accept.load_post", away)
    with pytest.raises(Unavailable, match="the database is away"):
        await house.order(handle="PO-1", possible_duplicate=True)


@pytest.mark.req("M6")
@pytest.mark.parametrize("forgetful", [False, True])
async def test_a_bulk_that_comes_again_with_its_key_is_stored_once(house: House, forgetful: bool) -> None:
    message = Message(to=(Recipient("Acme/Supply"),), parts=(ORDER,), handle="PO-1", possible_duplicate=True)
    others = [Message(to=(Recipient("Acme/Supply"),), parts=(ORDER,)) for _ in range(4)]
    postings = [
        Posting(one, 10, "bulk", f"k/{place}", "mark", bulk="k") for place, one in enumerate([message, *others])
    ]

    async def post(some: list[Posting]) -> list[str]:
        answers: dict[int, asyncio.Future[Answer]] = {
            place: asyncio.get_running_loop().create_future() for place in range(len(some))
        }
        house.network.submit_many(house.buyer, some, lambda place, answer: answers[place].set_result(answer))
        return [answer.session for answer in await asyncio.gather(*answers.values())]  # type: ignore[union-attr]

    first = await post(postings[:3])
    if forgetful:
        house.forget_keys()
    again = await post(postings)
    assert again[:3] == first
    assert len(set(again)) == 5
    assert len(await house.poll(house.supply)) == 5


@pytest.mark.req("M6")
async def test_an_idempotency_key_gives_the_first_answer_again(house: House) -> None:
    message = Message(to=(Recipient("Acme/Supply"), Recipient("No/Body")), parts=(ORDER,))
    first = await house.network.post(house.buyer, message, idempotency="k1")
    again = await house.network.post(house.buyer, message, idempotency="k1")
    assert (again.session, again.recipients) == (first.session, first.recipients)
    assert (await house.network.post(house.buyer, message, idempotency="k2")).session != first.session
    assert len(await house.poll(house.supply)) == 2


@pytest.mark.req("A1", "M5")
async def test_rejected_posts_are_in_the_journal_too(house: House) -> None:
    refusal = await house.refusal(house.buyer, to=(Recipient("No/Body"),), handle="PO-9")
    refused = [entry for entry in await house.entries() if isinstance(entry, MessageRefused)]
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
async def test_a_poll_selects(house: House, select: Selector, expected: list[bytes]) -> None:
    def part(data: bytes) -> tuple[Part, ...]:
        return (Part(id="1", content_type="text/plain", data=data),)

    await house.order(parts=part(b"1"), type=MessageType.NOTIFICATION, topic="a")
    await house.order(
        parts=part(b"2"), type=MessageType.NOTIFICATION, topic="b", properties=(Property("size", "large"),)
    )
    await house.order(parts=part(b"3"), topic="c")
    assert [message.parts[0].data for message in await house.poll(house.supply, select=select)] == expected


@pytest.mark.req("D2")
async def test_by_session_and_by_transaction(house: House) -> None:
    first, second = await house.order(), await house.order()
    [delivered] = await house.poll(house.supply, select=Selector(session=second))
    assert delivered.session == second
    [delivered] = await house.poll(house.supply, select=Selector(transaction=first))
    assert delivered.session == first


@pytest.mark.req("D2")
async def test_a_long_poll_ends_with_the_first_message(house: House) -> None:
    waiting = asyncio.create_task(house.poll(house.supply, wait_s=60))
    await until_a_poll_waits(house.network, house.supply)
    session = await house.order()
    async with asyncio.timeout(30):
        assert [message.session for message in await waiting] == [session]


@pytest.mark.req("D2")
async def test_leases_lapse_and_deliveries_given_back_come_again(house: House) -> None:
    await house.order()
    [first] = await house.poll(house.supply, lease_s=0.5)
    assert await house.poll(house.supply) == []
    [second] = await house.poll(house.supply, wait_s=30, lease_s=60)
    assert (second.token, second.attempt) == (first.token, 2)
    await house.network.settle(house.supply, Settlement(tokens=(second.token,), outcome=Outcome.NACK, reason="busy"))
    [third] = await house.poll(house.supply)
    assert third.attempt == 3
    result = await house.network.settle(house.supply, Settlement(tokens=(third.token, "zz", first.token)))
    assert [settled.code for settled in result.settled] == ["", "token.unknown", ""]
    assert await house.poll(house.supply, wait_s=0.05) == []


async def test_another_service_cannot_settle_a_delivery(house: House) -> None:
    await house.order()
    [delivered] = await house.poll(house.supply, lease_s=0.01)
    result = await house.network.settle(house.xslt, Settlement(tokens=(delivered.token,)))
    assert result.settled[0].code == "token.unknown"
    assert len(await house.poll(house.supply, wait_s=30)) == 1


@pytest.mark.req("D2")
async def test_two_acknowledgements_of_one_hand_out_at_once_are_both_taken(house: House) -> None:
    """As of a receiver that asks again because the answer is late, or of two after a lease has lapsed."""
    for _ in range(3):
        await house.order()
    settlement = Settlement(tokens=tuple(delivered.token for delivered in await house.poll(house.supply)))
    results = await asyncio.gather(*(house.network.settle(house.supply, settlement) for _ in range(2)))
    assert [settled.code for result in results for settled in result.settled] == [""] * 6


async def test_an_explicit_route_passes_its_services_and_carries_their_changes(house: House) -> None:
    session = await house.order(route=(Recipient("Transmatics/xslt"),))
    assert await house.poll(house.supply) == []
    [delivered] = await house.poll(house.xslt)
    assert delivered.in_transit
    changed = Part(id="order", content_type="application/xml", data=b"<changed/>")
    await house.post(house.xslt, type=MessageType.RESPONSE, reference=delivered.token, parts=(changed,))
    [arrived] = await house.poll(house.supply)
    assert (arrived.session, arrived.parts, arrived.sender) == (session, (changed,), "MyBiz/Purchasing")
    assert not arrived.in_transit


async def test_an_in_transit_service_that_changes_nothing_may_answer_without_parts(house: House) -> None:
    await house.order(route=(Recipient("Transmatics/xslt"),), type=MessageType.NOTIFICATION)
    [delivered] = await house.poll(house.xslt)
    await house.post(house.xslt, type=MessageType.RESPONSE, reference=delivered.token)
    [arrived] = await house.poll(house.supply)
    assert arrived.parts == (ORDER,)


async def test_an_in_transit_services_error_ends_the_route(house: House) -> None:
    session = await house.order(route=(Recipient("Transmatics/xslt"),))
    [delivered] = await house.poll(house.xslt)
    error = Status("stylesheet.failed", "no such template")
    await house.post(house.xslt, type=MessageType.RESPONSE, reference=delivered.token, status=error)
    assert await house.poll(house.supply, wait_s=0.02) == []
    history = await house.network.trace(session, None)
    assert history is not None
    assert history.messages[0].copies[0].stops[0].state == "failed"


async def test_an_expired_delivery_is_ended_and_never_handed_out(house: House) -> None:
    expires_at_us = house.network.clock.now_us() + 1_000_000
    session = await house.order(expires_at_us=expires_at_us)
    await eventually_async(lambda: house.network.clock.now_us() > expires_at_us)
    assert await house.poll(house.supply) == []
    history = await house.network.trace(session, None)
    assert history is not None
    assert history.messages[0].copies[0].stops[0].state == "expired"


@pytest.mark.req("A2", "M11", "Z5")
async def test_the_history_is_told_whole_to_the_sender_and_cut_for_others(house: House) -> None:
    session = await house.order(to=(Recipient("Acme/Supply"), Recipient("Transmatics/xslt")))
    [request] = await house.poll(house.supply)
    await house.post(house.supply, type=MessageType.RESPONSE, reference=request.token)
    whole = await house.network.trace(session, "MyBiz")
    assert whole is not None
    assert [message.type for message in whole.messages] == ["request", "response"]
    assert [event.what for event in whole.messages[0].copies[0].stops[0].events] == ["handed out", "answered"]
    assert len(whole.messages[0].copies) == 2
    cut = await house.network.trace(session, "Transmatics")
    assert cut is not None
    assert [[copy.recipient for copy in message.copies] for message in cut.messages] == [["Transmatics/xslt"]]
    assert await house.network.trace(session, "Strangers") is None
    assert await house.network.trace("0" * 32, "MyBiz") is None


async def test_the_directory_version_is_recorded_with_every_message(house: House) -> None:
    before = house.network.directory.version
    await house.order()
    await house.running.register("Late/Comer", **PUBLIC)
    await house.order(to=(Recipient("Late/Comer"),))
    posted = [entry for entry in await house.entries() if isinstance(entry, MessagePosted)]
    assert [entry.directory for entry in posted] == [before, before + 2]


@pytest.mark.req("M6")
async def test_a_reply_with_an_idempotency_key_may_be_repeated(house: House) -> None:
    await house.order()
    [request] = await house.poll(house.supply)
    reply = Message(type=MessageType.RESPONSE, reference=request.token, parts=(ORDER,))
    first = await house.network.post(house.supply, reply, idempotency="r1")
    again = await house.network.post(house.supply, reply, idempotency="r1")
    assert again.session == first.session
    with pytest.raises(Refused, match=r"reference\.answered"):
        await house.network.post(house.supply, reply, idempotency="r2")
    assert len(await house.poll(house.buyer)) == 1


async def test_a_mistake_of_ours_is_answered(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever answers a delivery does not wait indefinitely when the code that takes the answer breaks."""
    await house.order()
    [request] = await house.poll(house.supply)

    async def broken(*_: object) -> None:
        raise RuntimeError("a mistake")

    monkeypatch.setattr("postroad.flow.stages.respond.RespondStage.answer", broken)
    refusal = await house.refusal(house.supply, type=MessageType.RESPONSE, reference=request.token)
    assert refusal.code == "internal"


@pytest.mark.req("M5")
async def test_one_answer_is_all_it_takes_also_when_memory_has_forgotten_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house.network.desk._hot, "keys", SeenKeys(generation_most=2))  # type: ignore[attr-defined]
    await house.order()
    [request] = await house.poll(house.supply)
    await house.network.settle(house.supply, Settlement(tokens=(request.token,)))
    answer = Message(type=MessageType.RESPONSE, reference=request.token)
    first = await house.network.post(house.supply, answer, idempotency="once")
    for number in range(6):
        await house.order(handle=f"PO-{number}")
    await house.network.indexed()
    again = await house.network.post(house.supply, answer, idempotency="once")
    assert again.session == first.session
    refusal = await house.refusal(house.supply, type=MessageType.RESPONSE, reference=request.token)
    assert (refusal.code, refusal.session) == ("reference.answered", first.session)
    assert len(await house.poll(house.buyer)) == 1


@pytest.mark.req("D1")
async def test_what_cannot_be_read_back_holds_up_no_other_and_is_not_handed_out_empty(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroad.adapters.desk.hot_state.WARM_BYTES", 0)
    whole, _, _ = [
        await house.order(parts=(Part(id="1", content_type="text/plain", data=data),))
        for data in (b"whole", b"damaged", b"dropped")
    ]
    body = house.network.journal.body

    async def partly(at: BodyAt) -> bytes | None:
        found = await body(at)
        if found == b"damaged":
            raise Unavailable("storage.damaged", "not the one that was written")
        return None if found == b"dropped" else found

    monkeypatch.setattr(house.network.journal, "body", partly)
    assert [(one.session, one.parts[0].data) for one in await house.poll(house.supply)] == [(whole, b"whole")]
    [told] = await house.poll(house.buyer)
    assert told.status is not None
    assert told.status.text.startswith("body.dropped")
    await house.order(parts=(Part(id="1", content_type="text/plain", data=b"damaged"),))
    with pytest.raises(Unavailable, match="storage"):
        await house.poll(house.supply)


async def test_an_answer_that_leaves_documents_as_they_were_needs_them(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retention may have forgotten them meanwhile; the next service is not handed empty documents."""
    await house.order(route=(Recipient("Transmatics/xslt"),))
    [delivered] = await house.poll(house.xslt)
    answer = {"type": MessageType.RESPONSE, "reference": delivered.token}

    async def dropped(*_: object) -> None:
        return None

    with monkeypatch.context() as forgetting:
        forgetting.setattr(house.network.desk, "body", dropped)
        assert (await house.refusal(house.xslt, **answer)).code == "body.dropped"
    await house.post(house.xslt, **answer)
    assert [message.parts for message in await house.poll(house.supply)] == [(ORDER,)]
