"""Withdrawing and expiring: each recipient's copy for itself, and never both an end and a delivery."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from postroad.adapters.memory.journal import MemoryJournal
from postroad.core.model.batch_policy import BatchPolicy
from postroad.core.model.directory import Visibility
from postroad.core.model.journal import DeliveriesEnded, MessagePosted
from postroad.core.model.message import Message, MessageType, Part, PostResult, Recipient
from postroad.core.model.polling import Settlement
from postroad.errors import Refused
from postroad.flow.registries.batches import BatchStore
from postroad.ports import Appended, NewRecord
from postroad.testing import Scenario
from postroad.testing.clocks import ManualClock
from postroad.testing.network import memory_network
from postroad.testing.scenario import session_of
from tests.samples.pushes import PushScenario, in_virtual_time
from tests.samples.send_port import order, send_port

SECOND_US = 1_000_000


BUYER, ONE, OTHER = "MyBiz/Purchasing", "Acme/One", "Acme/Other"


@pytest.fixture
async def scenario() -> AsyncIterator[Scenario]:
    async with Scenario(clock=ManualClock()) as scenario:
        await scenario.service(BUYER, visibility=Visibility.PRIVATE)
        await scenario.service(ONE)
        await scenario.service(OTHER)
        yield scenario


async def cancel(scenario: Scenario, posted: PostResult | str, sender: str = BUYER) -> list[str]:
    cancelled = await scenario.post(sender, type=MessageType.CANCEL, reference=session_of(posted))
    return [recipient.code for recipient in cancelled.recipients]


def in_a_minute(scenario: Scenario) -> int:
    return scenario.clock.now_us() + 60 * SECOND_US


@pytest.mark.req("M9")
async def test_a_returned_or_lapsed_delivery_can_be_withdrawn(scenario: Scenario) -> None:
    posted = [await scenario.post(BUYER, ONE, type=MessageType.NOTIFICATION) for _ in range(3)]
    returned, again, _ = await scenario.poll(ONE)
    await scenario.return_to_queue(returned, again, delay_s=90)
    assert await cancel(scenario, posted[0]) == [""], "it waits until it is tried again"
    assert await cancel(scenario, posted[2]) == ["cancel.too-late"]
    await scenario.advance(seconds=91)
    assert len(await scenario.poll(ONE)) == 2
    assert await cancel(scenario, posted[1]) == ["cancel.too-late"], "it is in hand once more"
    await scenario.advance(seconds=61)
    assert await cancel(scenario, posted[2]) == [""], "the lease is over"


@pytest.mark.req("M9")
async def test_only_copies_that_were_not_fetched_are_withdrawn(scenario: Scenario) -> None:
    posted = await scenario.post(BUYER, [ONE, OTHER], type=MessageType.NOTIFICATION)
    await scenario.poll(OTHER)
    assert await cancel(scenario, posted) == ["", "cancel.too-late"]
    assert await scenario.poll(ONE) == []
    assert await cancel(scenario, posted) == ["cancel.too-late", "cancel.too-late"], "once is enough"


@pytest.mark.req("M9", "B2")
async def test_a_copy_that_left_its_batch_is_withdrawn_even_if_another_copy_was_delivered_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with send_port(BatchPolicy(count=4)) as port:
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
async def test_only_its_sender_withdraws_a_message(scenario: Scenario) -> None:
    posted = await scenario.post(BUYER, ONE, type=MessageType.REQUEST)
    for reference, caller in ((posted.session, ONE), ("0" * 32, BUYER)):
        with pytest.raises(Refused) as refused:
            await cancel(scenario, reference, caller)
        assert refused.value.code == "reference.invalid"
    assert len(await scenario.poll(ONE)) == 1


@pytest.mark.req("M9")
async def test_a_withdrawn_request_gets_no_error_response(scenario: Scenario) -> None:
    posted = await scenario.post(BUYER, ONE, type=MessageType.REQUEST)
    assert await cancel(scenario, posted) == [""]
    await scenario.advance(seconds=200_000)
    assert await scenario.poll(BUYER) == []


@pytest.mark.req("M10")
async def test_a_request_that_is_fetched_and_never_answered_ends_with_one_error_response(scenario: Scenario) -> None:
    posted = await scenario.post(
        BUYER, ONE, type=MessageType.REQUEST, handle="PO-1", expires_at_us=in_a_minute(scenario)
    )
    delivered = await scenario.receive(ONE)
    await scenario.advance(seconds=61)
    await scenario.network.expiry.expire_due()
    error = await scenario.receive(BUYER)
    assert error.status is not None
    assert (error.status.code, error.sender, error.type) == ("route.expired", "Acme/One", MessageType.RESPONSE)
    assert error.reference is not None
    assert (error.reference.session, error.reference.handle) == (posted.session, "PO-1")
    with pytest.raises(Refused):
        await scenario.respond(delivered)
    [settled] = (await scenario.acknowledge(delivered)).settled
    assert settled.code == "delivery.over"


@pytest.mark.parametrize("at_once", [2, 5, 100])
async def test_each_of_many_deliveries_that_expire_together_ends_once(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr("postroad.flow.stages.expire.AT_ONCE", at_once)
    for type_ in [MessageType.REQUEST] * 7 + [MessageType.NOTIFICATION] * 3:
        await scenario.post(BUYER, ONE, type=type_, expires_at_us=in_a_minute(scenario))
    await scenario.advance(seconds=61)
    ended = [number for entry in await scenario.journal() for number in ended_by(entry)]
    assert len(ended) == 10
    assert len(set(ended)) == 10


@pytest.mark.parametrize("type_", [MessageType.REQUEST, MessageType.NOTIFICATION])
async def test_deliveries_that_expire_together_end_in_few_writes(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch, type_: MessageType
) -> None:
    for _ in range(300):
        await scenario.post(BUYER, ONE, type=type_, expires_at_us=in_a_minute(scenario))
    append, writes = MemoryJournal.append, []

    async def counted(journal: MemoryJournal, records: Sequence[NewRecord], *, reserve: bool = False) -> Appended:
        writes.append(len(records))
        return await append(journal, records, reserve=reserve)

    monkeypatch.setattr(MemoryJournal, "append", counted)
    await scenario.advance(seconds=61)
    assert len([number for entry in await scenario.journal() for number in ended_by(entry)]) == 300
    assert len(writes) <= 10


def ended_by(entry: object) -> tuple[int, ...]:
    if isinstance(entry, DeliveriesEnded):
        return entry.deliveries
    return (entry.ends.delivery,) if isinstance(entry, MessagePosted) and entry.ends is not None else ()


@pytest.mark.req("M10")
async def test_an_expired_notification_is_recorded_without_a_response(scenario: Scenario) -> None:
    await scenario.post(BUYER, ONE, type=MessageType.NOTIFICATION, expires_at_us=in_a_minute(scenario))
    await scenario.advance(seconds=61)
    assert await scenario.network.expiry.expire_due() is None, "nothing else is due"
    assert await scenario.poll(BUYER) == []
    [ended] = await scenario.entries(DeliveriesEnded)
    assert (ended.state, ended.by) == ("expired", "network")


@pytest.mark.req("M10")
async def test_a_response_expires_with_its_request(scenario: Scenario) -> None:
    expires_at_us = in_a_minute(scenario)
    await scenario.post(BUYER, ONE, type=MessageType.REQUEST, expires_at_us=expires_at_us)
    await scenario.respond(await scenario.receive(ONE))
    posts = await scenario.entries(MessagePosted)
    assert {post.expires_at_us for post in posts} == {expires_at_us}
    await scenario.advance(seconds=61)
    error = await scenario.receive(BUYER)
    assert error.status is not None


def test_a_slow_query_for_expired_deliveries_is_not_repeated_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a great many members of an interchange that is under way, which every look passes over."""

    async def work(at: PushScenario) -> None:
        network, looks = at.network, 0
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
            network.note_expiry(network.clock.now_us() + 1)
            await asyncio.sleep(0.005)
        assert 1 <= looks <= 3

    in_virtual_time(work)


@pytest.mark.req("M10")
async def test_the_expiry_loop_continues_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
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
async def test_the_expiry_loop_wakes_for_a_delivery_that_is_due_sooner() -> None:
    async with Scenario() as scenario:
        await scenario.service(BUYER)
        await scenario.service(ONE)
        loop = asyncio.create_task(scenario.network.expiry.run())
        for lifetime_s in (3_600, 0.05):
            expires_at_us = scenario.clock.now_us() + int(lifetime_s * SECOND_US)
            await scenario.post(BUYER, ONE, type=MessageType.REQUEST, expires_at_us=expires_at_us)
        error = await scenario.receive(BUYER, wait_s=30)
        assert error.status is not None
        loop.cancel()
