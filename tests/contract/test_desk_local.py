"""The local desk keeps every promise of a desk, in memory and over files, with short and with long queues."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from postroad.adapters.desk import hot_state, local_queues
from postroad.adapters.desk.local import LocalDesk
from postroad.adapters.index.sqlite import SqliteIndex
from postroad.adapters.journal.segments.journal import SegmentJournal
from postroad.adapters.memory.index import MemoryIndex
from postroad.adapters.memory.journal import MemoryJournal
from postroad.core.model.delivery import DeliveryState, Queued
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import DeliveriesAcknowledged, DeliveriesEnded, DeliveriesLeased, decode
from postroad.core.model.reason import Reason
from postroad.core.model.selector import EVERYTHING, Selector
from postroad.errors import Unavailable
from postroad.ports import (
    Appended,
    BodyAt,
    Clock,
    Committed,
    Desk,
    Index,
    Journal,
    JournalBatch,
    JournalHead,
    JournalStep,
    NewRecord,
)
from postroad.testing.contracts.desk.contract import DeskContract
from postroad.testing.contracts.desk.desk_under_test import (
    LEASE_S,
    SELLER,
    DeskHarness,
    catch_up_index,
    delivery_numbers,
    lag_index_behind,
)
from tests.waiting import eventually_async


class StallingJournal:
    """A journal whose appends can be held up."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._go = asyncio.Event()
        self._go.set()
        self.is_broken = False
        self.is_full = False

    @asynccontextmanager
    async def stalled(self) -> AsyncIterator[None]:
        self._go.clear()
        try:
            yield
        finally:
            self._go.set()

    async def append(self, records: Sequence[NewRecord], *, reserve: bool = False) -> Appended:
        await self._go.wait()
        if self.is_broken:
            raise Unavailable("storage.failed", "the disk takes nothing")
        if self.is_full and not reserve:
            raise Unavailable("storage.full", "the disk takes acknowledgements alone")
        return await self.journal.append(records, reserve=reserve)

    async def read(self, after_seq: int, limit_bytes: int = 4 << 20) -> JournalBatch:
        return await self.journal.read(after_seq, limit_bytes)

    async def body(self, at: BodyAt) -> bytes | None:
        return await self.journal.body(at)

    async def head(self) -> JournalHead:
        return await self.journal.head()

    async def drop_bodies(self, before_seq: int) -> object:
        return await self.journal.drop_bodies(before_seq)

    async def close(self) -> None:
        await self.journal.close()


async def leases_in(journal: Journal) -> list[tuple[int, ...]]:
    """The deliveries of each hand-out that the journal holds."""
    entries = [decode(record.facts) for record in (await journal.read(0)).records]
    return [entry.deliveries for entry in entries if isinstance(entry, DeliveriesLeased)]


def is_leased(network: DeskHarness, number: int, attempt: int = 1) -> bool:
    assert isinstance(network.desk, LocalDesk)
    found = network.desk._hot.find(number)
    return found is not None and found.queued.leased and found.queued.attempt == attempt


async def until(condition: Callable[[], bool]) -> None:
    await eventually_async(condition, every_s=0)


class LocalDeskContract(DeskContract):
    head_most = 20_000
    journal: StallingJournal
    index: Index

    async def open(self, clock: Clock, attempts_most: int) -> Desk:
        self.clock, self.attempts_most = clock, attempts_most
        self.journal, self.index = StallingJournal(self.open_journal()), self.open_index()
        return await self._desk()

    def open_journal(self) -> Journal:
        return MemoryJournal()

    def open_index(self) -> Index:
        return MemoryIndex()

    async def restart(self, desk: Desk) -> Desk:
        await desk.close()
        await catch_up_index(self.journal, self.index)
        return await self._desk()

    def stalled(self, desk: Desk) -> AbstractAsyncContextManager[None]:
        return self.journal.stalled()

    async def shut(self, desk: Desk) -> None:
        await desk.close()
        await self.index.close()
        await self.journal.close()

    async def _desk(self) -> LocalDesk:
        desk = LocalDesk(
            self.journal,
            self.index,
            self.clock,
            wait_for_entry=self._wait_for_entry,
            attempts_most=self.attempts_most,
            head_most=self.head_most,
        )
        await desk.open()
        return desk

    async def _wait_for_entry(self, seq: int) -> None:
        await lag_index_behind(self.journal, self.index, seq)


class TestInMemory(LocalDeskContract):
    """Over the memory journal and index."""

    async def test_what_could_not_be_settled_while_the_queue_was_read_comes_again(self, network: DeskHarness) -> None:
        first, second = [await network.post(network.message()) << 16 for _ in range(2)]
        network.desk = await self.restart(network.desk)
        async with self.stalled(network.desk):
            refused = asyncio.ensure_future(network.acknowledge(first))
            await asyncio.sleep(0)
            polling = asyncio.ensure_future(network.poll(most=1))  # reads past what is being settled
            await until(lambda: is_leased(network, second))
            self.journal.is_broken = True
        assert isinstance(await refused, Unavailable)
        with pytest.raises(Unavailable):
            await polling
        self.journal.is_broken = False
        assert delivery_numbers(await network.poll()) == [first, second]

    async def test_a_hand_out_that_cannot_be_written_leaves_the_mailbox_as_it_was(self, network: DeskHarness) -> None:
        posted = [await network.post(network.message()) << 16 for _ in range(3)]
        await network.poll(most=1)
        network.clock.advance(LEASE_S + 1)
        self.journal.is_broken = True
        for selector in (EVERYTHING, Selector(topic="orders"), EVERYTHING):
            with pytest.raises(Unavailable, match="the disk takes nothing"):
                await network.poll(selector=selector)
        self.journal.is_broken = False
        handed_out = await network.poll()
        assert [(queued.number, queued.attempt) for queued in handed_out] == list(zip(posted, (2, 1, 1), strict=True))
        assert await leases_in(self.journal) == [(posted[0],), tuple(posted)]

    async def test_a_poller_that_leaves_before_its_hand_out_is_written_has_been_handed_it(
        self, network: DeskHarness
    ) -> None:
        number = await network.post(network.message()) << 16
        async with self.stalled(network.desk):
            leaving = asyncio.ensure_future(network.poll())
            await until(lambda: is_leased(network, number))
            leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        assert await network.poll() == []
        network.clock.advance(LEASE_S + 1)
        assert [(queued.number, queued.attempt) for queued in await network.poll()] == [(number, 2)]
        assert await leases_in(self.journal) == [(number,), (number,)]

    async def test_a_hand_out_that_fails_wakes_the_next_poller(self, network: DeskHarness) -> None:
        number = await network.post(network.message()) << 16
        async with self.stalled(network.desk):
            failing = asyncio.ensure_future(network.poll())
            await until(lambda: is_leased(network, number))
            waiting = asyncio.ensure_future(network.desk.arrival(SELLER, 60.0))
            await asyncio.sleep(0)
            self.journal.is_broken = True
        with pytest.raises(Unavailable):
            await failing
        await asyncio.wait_for(waiting, 60)

    async def test_what_is_settled_or_returned_while_its_hand_out_is_written_is_not_handed_out(
        self, network: DeskHarness
    ) -> None:
        posted = [await network.post(network.message()) << 16 for _ in range(3)]
        await network.poll()
        network.clock.advance(LEASE_S + 1)
        async with self.stalled(network.desk):
            polling = asyncio.ensure_future(network.poll())
            await until(lambda: is_leased(network, posted[2], attempt=2))
            settled = asyncio.ensure_future(network.acknowledge(posted[0]))
            await asyncio.sleep(0)
        assert isinstance(await settled, Committed)
        assert delivery_numbers(await polling) == posted[1:]

    async def test_a_claim_that_loses_some_while_its_hand_out_is_written_takes_others_in_their_place(
        self, network: DeskHarness
    ) -> None:
        """A claim returns fewer than it asks for only if no more wait."""
        posted = [await network.post(network.message()) << 16 for _ in range(5)]
        await network.poll(most=3)
        network.clock.advance(LEASE_S + 1)
        async with self.stalled(network.desk):
            polling = asyncio.ensure_future(network.poll(most=3))
            await until(lambda: is_leased(network, posted[2], attempt=2))
            settled = asyncio.ensure_future(network.acknowledge(posted[0]))
            await asyncio.sleep(0)
        assert isinstance(await settled, Committed)
        assert delivery_numbers(await polling) == posted[1:4]
        assert await leases_in(self.journal) == [tuple(posted[:3]), tuple(posted[:3]), (posted[3],)]

    @pytest.mark.parametrize("claim_first", [True, False])
    async def test_what_a_claim_and_another_step_find_expired_has_one_end(
        self, network: DeskHarness, claim_first: bool
    ) -> None:
        first, second = [await network.post(network.message(expires_in_s=1)) << 16 for _ in range(2)]
        network.clock.advance(2)
        expired = JournalStep(network.ended("expired", (first,)), reserve=True, waiting=(first,))
        async with self.stalled(network.desk):
            works = [network.poll(), network.submit(expired)][:: 1 if claim_first else -1]
            running = [asyncio.ensure_future(work) for work in works]
            await until(lambda: network.desk._group._waiting_bytes > 0)  # type: ignore[attr-defined]
        await asyncio.gather(*running)
        assert await network.poll() == []
        entries = [decode(record.facts) for record in (await self.journal.read(0)).records]
        ended = [number for entry in entries if isinstance(entry, DeliveriesEnded) for number in entry.deliveries]
        assert sorted(ended) == [first, second]

    async def test_what_could_not_be_ended_is_ended_by_the_next_claim(self, network: DeskHarness) -> None:
        number = await network.post(network.message(expires_in_s=1)) << 16
        given_up: list[int] = []

        async def mistaken(*_: object) -> None:
            raise ValueError("a mistake")

        async def give_up(queued: Queued, state: str, reason: Reason) -> None:
            given_up.append(queued.number)

        network.desk.on_given_up(mistaken)
        network.clock.advance(2)
        with pytest.raises(ValueError, match="a mistake"):
            await network.poll()
        network.desk.on_given_up(give_up)
        assert await network.poll() == []
        assert given_up == [number]

    async def test_a_queue_is_not_read_to_its_end_from_an_index_that_has_lost_some_of_it(
        self, network: DeskHarness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        posted = [await network.post(network.message()) << 16 for _ in range(3)]
        network.desk = await self.restart(network.desk)
        with monkeypatch.context() as unaware:  # whoever keeps the index has not noticed yet
            unaware.setattr(network.desk, "_wait_for_entry", lambda seq: asyncio.sleep(0))
            await self.index.clear()
            with pytest.raises(Unavailable, match="crash of its database"):
                await network.poll()
        assert delivery_numbers(await network.poll()) == posted

    async def test_an_answer_that_found_no_room_does_not_stand_against_an_acknowledgement(
        self, network: DeskHarness
    ) -> None:
        number = await network.post(network.message()) << 16
        await network.poll()
        self.journal.is_full = True
        answer = network.submit(JournalStep(network.message(answers=number), b"", (7,)))
        acknowledgement = DeliveriesAcknowledged(network.clock.now_us(), SELLER, (number,))
        # By its key it stays behind the answer.
        step = JournalStep(acknowledgement, keys=(8,), reserve=True, waiting=(number,))
        told = await asyncio.gather(answer, network.submit(step))
        assert [isinstance(outcome, Unavailable) for outcome in told] == [True, True]
        assert isinstance(await network.submit(step), Committed)
        assert await network.state(number) is DeliveryState.DELIVERED


class TestLongQueues(LocalDeskContract):
    """With most of each queue left to the index, which is as late as it may be."""

    head_most = 2

    @pytest.fixture
    async def queue(self, network: DeskHarness, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """Nine deliveries, the sixth of them a bill; of what is settled, next to nothing is remembered."""
        monkeypatch.setattr(hot_state, "MAX_RECENT", 1)
        topics = ["orders"] * 5 + ["bills"] + ["orders"] * 3
        seqs = [await network.post(network.message(topic=topic)) for topic in topics]
        return [delivery_number(seq, 0) for seq in seqs]

    async def test_what_the_index_has_is_handed_out_though_it_is_late(
        self, network: DeskHarness, queue: list[int]
    ) -> None:
        assert delivery_numbers(await network.poll(most=4)) == queue[:4]
        known = await self.index.position()
        await network.post(network.message())
        assert delivery_numbers(await network.poll(most=4)) == queue[4:8]
        assert await self.index.position() == known
        assert len(await network.poll()) == 2

    async def test_what_was_taken_from_behind_and_settled_does_not_come_again(
        self, network: DeskHarness, queue: list[int]
    ) -> None:
        assert delivery_numbers(await network.poll(selector=Selector(topic="bills"))) == [queue[5]]
        await network.acknowledge(queue[5])
        await network.acknowledge(*delivery_numbers(await network.poll(most=2)))
        assert delivery_numbers(await network.poll()) == [*queue[2:5], *queue[6:]]

    @pytest.fixture
    def impatient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each claim searches one page of two rows."""
        monkeypatch.setattr(local_queues, "SEARCH_S", 0.0)
        monkeypatch.setattr(local_queues, "PAGE_ROWS", 2)

    @pytest.mark.usefixtures("impatient")
    async def test_a_search_goes_on_where_the_last_claim_stopped(self, network: DeskHarness, queue: list[int]) -> None:
        bills = Selector(topic="bills")
        assert await network.poll(selector=bills) == []
        assert network.desk.is_searching(SELLER, bills)
        assert not network.desk.is_searching(SELLER, Selector(topic="orders"))
        assert delivery_numbers(await self.searched(network, bills)) == [queue[5]]
        assert await self.searched(network, bills) == []
        assert not network.desk.is_searching(SELLER, bills)
        later = await network.post(network.message(topic="bills")) << 16
        assert delivery_numbers(await network.poll(selector=bills)) == [later], "what came later is found at once"
        network.clock.advance(LEASE_S + 1)
        assert delivery_numbers(await network.poll(selector=bills)) == [queue[5], later], (
            "what was found before is in memory"
        )

    @pytest.mark.usefixtures("impatient")
    async def test_a_search_finds_what_is_delayed_in_its_time(self, network: DeskHarness, queue: list[int]) -> None:
        bills = Selector(topic="bills")
        network.desk = await self.restart(network.desk)
        await network.give_back(queue[5], delay_s=20)
        assert await self.searched(network, bills) == []
        network.clock.advance(21)
        assert delivery_numbers(await network.poll(selector=bills)) == [queue[5]]

    @pytest.mark.usefixtures("impatient")
    async def test_a_search_by_session_needs_no_more_than_one_claim(
        self, network: DeskHarness, queue: list[int]
    ) -> None:
        message = network.message()
        number = await network.post(message) << 16
        for selector in (Selector(session=message.session), Selector(transaction=message.transaction)):
            assert delivery_numbers(await network.poll(selector=selector)) == [number]
            network.clock.advance(LEASE_S + 1)
        assert await network.poll(selector=Selector(session="none")) == []

    async def searched(self, network: DeskHarness, selector: Selector) -> list[Queued]:
        while not (found := await network.poll(selector=selector)) and network.desk.is_searching(SELLER, selector):
            pass
        return found

    async def test_what_is_settled_before_it_was_read_after_a_restart_does_not_come(
        self, network: DeskHarness, queue: list[int]
    ) -> None:
        network.desk = await self.restart(network.desk)
        await network.acknowledge(queue[4])
        await network.acknowledge(*delivery_numbers(await network.poll(most=1)))
        assert delivery_numbers(await network.poll()) == [*queue[1:4], *queue[5:]]

    async def test_what_is_given_back_before_it_was_read_after_a_restart_comes_in_its_time(
        self, network: DeskHarness, queue: list[int]
    ) -> None:
        network.desk = await self.restart(network.desk)
        await network.give_back(queue[4], delay_s=LEASE_S + 1)
        assert delivery_numbers(await network.poll()) == [*queue[:4], *queue[5:]]
        network.clock.advance(LEASE_S + 1)
        assert delivery_numbers(await network.poll()) == queue


class TestOverFiles(LocalDeskContract):
    """Over segment files and SQLite, and after a restart from them."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def open_journal(self) -> Journal:
        return SegmentJournal.open(self.folder / "journal")

    def open_index(self) -> Index:
        return SqliteIndex(self.folder / "index.db")

    async def restart(self, desk: Desk) -> Desk:
        await self.shut(desk)
        self.journal, self.index = StallingJournal(self.open_journal()), self.open_index()
        await catch_up_index(self.journal, self.index)
        return await self._desk()
