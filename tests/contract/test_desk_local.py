"""The local desk keeps every promise of a desk, in memory and over files, with short and with long queues."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from postroad.adapters.desk import hot_state
from postroad.adapters.desk.local import LocalDesk
from postroad.adapters.index.sqlite import SqliteIndex
from postroad.adapters.journal.segments.journal import SegmentJournal
from postroad.adapters.memory.index import MemoryIndex
from postroad.adapters.memory.journal import MemoryJournal
from postroad.core.model.ids import delivery_number
from postroad.core.model.selector import Selector
from postroad.ports import Appended, Batch, BodyAt, Clock, Desk, Head, Index, Journal, NewRecord
from postroad.testing.desk_contract import DeskContract
from postroad.testing.desk_network import LEASE_S, Network, catch_up, lag_behind, numbers


class StallingJournal:
    """A journal whose appends can be held up."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._go = asyncio.Event()
        self._go.set()

    @asynccontextmanager
    async def stalled(self) -> AsyncIterator[None]:
        self._go.clear()
        try:
            yield
        finally:
            self._go.set()

    async def append(self, records: Sequence[NewRecord], *, reserve: bool = False) -> Appended:
        await self._go.wait()
        return await self.journal.append(records, reserve=reserve)

    async def read(self, after_seq: int, limit_bytes: int = 4 << 20) -> Batch:
        return await self.journal.read(after_seq, limit_bytes)

    async def body(self, at: BodyAt) -> bytes | None:
        return await self.journal.body(at)

    async def head(self) -> Head:
        return await self.journal.head()

    async def close(self) -> None:
        await self.journal.close()


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
        await catch_up(self.journal, self.index)
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
            indexed=self._indexed,
            attempts_most=self.attempts_most,
            head_most=self.head_most,
        )
        await desk.open()
        return desk

    async def _indexed(self, seq: int) -> None:
        await lag_behind(self.journal, self.index, seq)


class TestInMemory(LocalDeskContract):
    """Over the memory journal and index."""


class TestLongQueues(LocalDeskContract):
    """With most of each queue left to the index, which is as late as it may be."""

    head_most = 2

    @pytest.fixture
    async def queue(self, network: Network, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """Nine deliveries, the sixth of them a bill; of what is settled, next to nothing is remembered."""
        monkeypatch.setattr(hot_state, "RECENT_MOST", 1)
        topics = ["orders"] * 5 + ["bills"] + ["orders"] * 3
        seqs = [await network.post(network.message(topic=topic)) for topic in topics]
        return [delivery_number(seq, 0) for seq in seqs]

    async def test_what_the_index_has_is_handed_out_though_it_is_late(self, network: Network, queue: list[int]) -> None:
        assert numbers(await network.poll(most=4)) == queue[:4]
        known = await self.index.position()
        await network.post(network.message())
        assert numbers(await network.poll(most=4)) == queue[4:8]
        assert await self.index.position() == known
        assert len(await network.poll()) == 2

    async def test_what_was_taken_from_behind_and_settled_does_not_come_again(
        self, network: Network, queue: list[int]
    ) -> None:
        assert numbers(await network.poll(selector=Selector(topic="bills"))) == [queue[5]]
        await network.acknowledge(queue[5])
        await network.acknowledge(*numbers(await network.poll(most=2)))
        assert numbers(await network.poll()) == [*queue[2:5], *queue[6:]]

    async def test_what_is_settled_before_it_was_read_after_a_restart_does_not_come(
        self, network: Network, queue: list[int]
    ) -> None:
        network.desk = await self.restart(network.desk)
        await network.acknowledge(queue[4])
        await network.acknowledge(*numbers(await network.poll(most=1)))
        assert numbers(await network.poll()) == [*queue[1:4], *queue[5:]]

    async def test_what_is_given_back_before_it_was_read_after_a_restart_comes_in_its_time(
        self, network: Network, queue: list[int]
    ) -> None:
        network.desk = await self.restart(network.desk)
        await network.give_back(queue[4], delay_s=LEASE_S + 1)
        assert numbers(await network.poll()) == [*queue[:4], *queue[5:]]
        network.clock.advance(LEASE_S + 1)
        assert numbers(await network.poll()) == queue


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
        await catch_up(self.journal, self.index)
        return await self._desk()
