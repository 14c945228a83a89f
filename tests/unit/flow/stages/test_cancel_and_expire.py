"""Withdrawing and expiring: each recipient's copy for itself, and never both an end and a delivery."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from postroad.adapters.memory.journal import MemoryJournal
from postroad.core.model.batch_policy import BatchPolicy
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Visibility
from postroad.core.model.journal import DeliveriesEnded, MessagePosted, decode
from postroad.core.model.message import Message, MessageType, Part, PostResult, Recipient
from postroad.core.model.polling import Outcome, PollRequest, Settlement
from postroad.errors import Refused
from postroad.flow.registries.batches import BatchStore
from postroad.ports import Appended, NewRecord
from postroad.testing.network import MemoryNetwork, memory_network
from tests.samples.batching_bench import bench, order
from tests.unit.flow.push.pushing_bench import Bench, in_virtual_time

SECOND_US = 1_000_000


class TurnedClock:
    def __init__(self) -> None:
        self.seconds = 1_000.0

    def now_us(self) -> int:
        return int(self.seconds * SECOND_US)

    def monotonic(self) -> float:
        return self.seconds


class Houses:
    def __init__(self, running: MemoryNetwork, clock: TurnedClock, buyer: Caller, one: Caller, other: Caller) -> None:
        self.network, self.clock = running.network, clock
        self.buyer, self.one, self.other = buyer, one, other

    async def post(self, type_: MessageType, *to: str, **fields: object) -> PostResult:
        recipients = tuple(Recipient(name) for name in to)
        return await self.network.post(self.buyer, Message(to=recipients, type=type_, **fields))  # type: ignore[arg-type]

    async def poll(self, caller: Caller) -> list[str]:
        return [one.token for one in await self.network.poll(caller, PollRequest())]

    async def cancel(self, session: str, caller: Caller | None = None) -> list[str]:
        cancelled = await self.network.post(caller or self.buyer, Message(type=MessageType.CANCEL, reference=session))
        return [one.code for one in cancelled.recipients]

    async def entries(self) -> list[object]:
        return [decode(record.facts) for record in (await self.network.journal.read(0, 1 << 30)).records]


@pytest.fixture
async def houses() -> AsyncIterator[Houses]:
    clock = TurnedClock()
    async with memory_network(clock) as running:
        public = {"visibility": Visibility.PUBLIC}
        yield Houses(
            running,
            clock,
            await running.register("MyBiz/Purchasing"),
            await running.register("Acme/One", **public),
            await running.register("Acme/Other", **public),
        )


@pytest.mark.req("M9")
async def test_what_its_receiver_has_given_back_or_let_lapse_is_withdrawn(houses: Houses) -> None:
    posted = [await houses.post(MessageType.NOTIFICATION, "Acme/One") for _ in range(3)]
    returned, again, _ = await houses.poll(houses.one)
    later = Settlement(tokens=(returned, again), outcome=Outcome.NACK, delay_s=90)
    await houses.network.settle(houses.one, later)
    assert await houses.cancel(posted[0].session) == [""], "it waits until it is tried again"
    assert await houses.cancel(posted[2].session) == ["cancel.too-late"]
    houses.clock.seconds += 91
    assert len(await houses.poll(houses.one)) == 2
    assert await houses.cancel(posted[1].session) == ["cancel.too-late"], "it is in hand once more"
    houses.clock.seconds += 61
    assert await houses.cancel(posted[2].session) == [""], "the lease is over"


@pytest.mark.req("M9")
async def test_what_was_not_fetched_is_withdrawn_and_what_was_is_not(houses: Houses) -> None:
    posted = await houses.post(MessageType.NOTIFICATION, "Acme/One", "Acme/Other")
    await houses.poll(houses.other)
    assert await houses.cancel(posted.session) == ["", "cancel.too-late"]
    assert await houses.poll(houses.one) == []
    assert await houses.cancel(posted.session) == ["cancel.too-late", "cancel.too-late"], "once is enough"


@pytest.mark.req("M9", "B2")
async def test_what_has_left_its_batch_is_told_as_withdrawn_though_another_copy_went_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with bench(BatchPolicy(count=4)) as port:
        document = Part(id="1", content_type="application/edi-x12", data=order(1))
        message = Message(to=(Recipient("Acme/orders"), Recipient("Acme/edi")), parts=(document,))
        posted = await port.network.post(port.caller("MyBiz/Sales"), message)
        await port.work()
        leave = BatchStore.leave

        async def left_while_the_other_is_taken(book: BatchStore, *told: Any) -> bool | None:
            has_left = await leave(book, *told)
            [taken] = await port.poll()
            await port.network.settle(port.caller("Acme/edi"), Settlement(tokens=(taken.token,)))
            return has_left

        monkeypatch.setattr(BatchStore, "leave", left_while_the_other_is_taken)
        cancel = Message(type=MessageType.CANCEL, reference=posted.session)
        result = await port.network.post(port.caller("MyBiz/Sales"), cancel)
        assert [one.code for one in result.recipients] == ["", "cancel.too-late"]
        assert result.recipients[1].detail == "Not cancelled: it is delivered"


@pytest.mark.req("M9", "M5")
async def test_only_its_sender_withdraws_a_message(houses: Houses) -> None:
    posted = await houses.post(MessageType.REQUEST, "Acme/One")
    for reference, caller in ((posted.session, houses.one), ("0" * 32, houses.buyer)):
        with pytest.raises(Refused) as refused:
            await houses.cancel(reference, caller)
        assert refused.value.code == "reference.invalid"
    assert len(await houses.poll(houses.one)) == 1


@pytest.mark.req("M9")
async def test_a_withdrawn_request_gets_no_error_response(houses: Houses) -> None:
    posted = await houses.post(MessageType.REQUEST, "Acme/One")
    assert await houses.cancel(posted.session) == [""]
    houses.clock.seconds += 200_000
    await houses.network.expiry.expire_due()
    assert await houses.poll(houses.buyer) == []


@pytest.mark.req("M10")
async def test_a_request_that_is_fetched_and_never_answered_ends_with_one_error_response(houses: Houses) -> None:
    posted = await houses.post(MessageType.REQUEST, "Acme/One", handle="PO-1", expires_at_us=1_060 * SECOND_US)
    [token] = await houses.poll(houses.one)
    houses.clock.seconds = 1_061
    await houses.network.expiry.expire_due()
    await houses.network.expiry.expire_due()
    [error] = await houses.network.poll(houses.buyer, PollRequest())
    assert error.status is not None
    assert (error.status.code, error.sender, error.type) == ("route.expired", "Acme/One", MessageType.RESPONSE)
    assert error.reference is not None
    assert (error.reference.session, error.reference.handle) == (posted.session, "PO-1")
    with pytest.raises(Refused):
        await houses.network.post(houses.one, Message(type=MessageType.RESPONSE, reference=token))
    [settled] = (await houses.network.settle(houses.one, Settlement(tokens=(token,), outcome=Outcome.ACK))).settled
    assert settled.code == "delivery.over"


@pytest.mark.parametrize("at_once", [2, 5, 100])
async def test_of_many_that_expire_together_each_has_one_end(
    houses: Houses, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr("postroad.flow.stages.expire.AT_ONCE", at_once)
    for type_ in [MessageType.REQUEST] * 7 + [MessageType.NOTIFICATION] * 3:
        await houses.post(type_, "Acme/One", expires_at_us=1_060 * SECOND_US)
    houses.clock.seconds = 1_061
    await houses.network.expiry.expire_due()
    ended = [number for entry in await houses.entries() for number in ended_by(entry)]
    assert len(ended) == 10
    assert len(set(ended)) == 10


@pytest.mark.parametrize("type_", [MessageType.REQUEST, MessageType.NOTIFICATION])
async def test_what_expires_together_is_ended_in_few_writes(
    houses: Houses, monkeypatch: pytest.MonkeyPatch, type_: MessageType
) -> None:
    for _ in range(300):
        await houses.post(type_, "Acme/One", expires_at_us=1_060 * SECOND_US)
    append, writes = MemoryJournal.append, []

    async def counted(journal: MemoryJournal, records: Sequence[NewRecord], *, reserve: bool = False) -> Appended:
        writes.append(len(records))
        return await append(journal, records, reserve=reserve)

    monkeypatch.setattr(MemoryJournal, "append", counted)
    houses.clock.seconds = 1_061
    await houses.network.expiry.expire_due()
    assert len([number for entry in await houses.entries() for number in ended_by(entry)]) == 300
    assert len(writes) <= 10


def ended_by(entry: object) -> tuple[int, ...]:
    if isinstance(entry, DeliveriesEnded):
        return entry.deliveries
    return (entry.ends.delivery,) if isinstance(entry, MessagePosted) and entry.ends is not None else ()


@pytest.mark.req("M10")
async def test_a_notification_expires_in_silence_and_on_record(houses: Houses) -> None:
    await houses.post(MessageType.NOTIFICATION, "Acme/One", expires_at_us=1_060 * SECOND_US)
    houses.clock.seconds = 1_061
    assert await houses.network.expiry.expire_due() is None, "nothing else is due"
    assert await houses.poll(houses.buyer) == []
    [ended] = [entry for entry in await houses.entries() if isinstance(entry, DeliveriesEnded)]
    assert (ended.state, ended.by) == ("expired", "network")


@pytest.mark.req("M10")
async def test_a_response_expires_with_its_request(houses: Houses) -> None:
    await houses.post(MessageType.REQUEST, "Acme/One", expires_at_us=1_060 * SECOND_US)
    [token] = await houses.poll(houses.one)
    await houses.network.post(houses.one, Message(type=MessageType.RESPONSE, reference=token))
    posts = [entry for entry in await houses.entries() if isinstance(entry, MessagePosted)]
    assert {post.expires_at_us for post in posts} == {1_060 * SECOND_US}
    houses.clock.seconds = 1_061
    await houses.network.expiry.expire_due()
    [error] = await houses.network.poll(houses.buyer, PollRequest())
    assert error.status is not None


def test_a_look_that_takes_long_is_not_taken_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a great many members of an interchange that is under way, which every look passes over."""

    async def work(at: Bench) -> None:
        network, looks = at.running.network, 0
        query = network.index.query

        async def slow_query(name: str, *parameters: Any) -> list[tuple[Any, ...]]:
            nonlocal looks
            if name == "next_due":
                looks += 1
                await asyncio.sleep(0.02)
            return await query(name, *parameters)

        monkeypatch.setattr(network.index, "query", slow_query)
        until = network.clock.monotonic() + 0.5
        while network.clock.monotonic() < until:
            network.expires(network.clock.now_us() + 1)
            await asyncio.sleep(0.005)
        assert 1 <= looks <= 3

    in_virtual_time(work)


@pytest.mark.req("M10")
async def test_the_loop_outlives_whatever_goes_wrong_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroad.flow.stages.expire.LOOK_AGAIN_S", 0.01)
    async with memory_network() as running:
        network, mistakes = running.network, [ValueError("a mistake")]
        query, looked_again = network.index.query, asyncio.Event()

        async def sometimes(name: str, *parameters: Any) -> list[tuple[Any, ...]]:
            if name == "next_due" and mistakes:
                raise mistakes.pop()
            if name == "next_due":
                looked_again.set()
            return await query(name, *parameters)

        monkeypatch.setattr(network.index, "query", sometimes)
        loop = asyncio.create_task(network.expiry.run())
        await asyncio.wait_for(looked_again.wait(), 30)
        loop.cancel()


@pytest.mark.req("M10")
async def test_the_loop_sleeps_until_something_is_due_and_wakes_for_what_is_due_sooner() -> None:
    async with memory_network() as running:
        buyer = await running.register("MyBiz/Purchasing")
        await running.register("Acme/One", visibility=Visibility.PUBLIC)
        loop = asyncio.create_task(running.network.expiry.run())
        clock = running.network.clock
        for lifetime_s in (3_600, 0.05):
            expires_at_us = clock.now_us() + int(lifetime_s * SECOND_US)
            message = Message(to=(Recipient("Acme/One"),), type=MessageType.REQUEST, expires_at_us=expires_at_us)
            await running.network.post(buyer, message)
        [error] = await running.network.poll(buyer, PollRequest(wait_s=30))
        assert error.status is not None
        loop.cancel()
