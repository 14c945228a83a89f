"""A simulated journal and index that take time, fail at times, and can be cut off from their process.

Rule: they guarantee only what their ports guarantee. An interrupted append is stored completely or not at all, a failed
append changes nothing, and results of an index may be outdated when they arrive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

from postroad.core.projection.tables import Changes
from postroad.errors import Unavailable
from postroad.ports import Appended, BodyAt, Index, Journal, JournalBatch, JournalHead, NewRecord

SLOW_ONCE_IN = 200  # appends
FAILS_ONCE_IN = 400


class Disk:
    """The connection of a process to its storage; a crash cuts it, and no later write succeeds."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self.cut = False
        self.writing = asyncio.Event()  # set whenever an append begins, for tests that crash at this moment

    async def take_time(self, least_s: float, most_s: float) -> None:
        slow = self._chance.randrange(SLOW_ONCE_IN) == 0
        await asyncio.sleep(self._chance.uniform(least_s, most_s) * (50 if slow else 1))

    def fails(self) -> bool:
        return self._chance.randrange(FAILS_ONCE_IN) == 0

    def check(self) -> None:
        if self.cut:
            raise Unavailable("network.unavailable", "This process has ended; ask the one that took its place")


class SlowJournal:
    """A ``Journal`` with the latency of a disk; ``kept`` outlives the process."""

    def __init__(self, kept: Journal, disk: Disk) -> None:
        self._kept = kept
        self._disk = disk

    async def append(self, records: Sequence[NewRecord], *, reserve: bool = False) -> Appended:
        self._disk.writing.set()
        await self._disk.take_time(0.0002, 0.004)
        self._disk.check()
        if self._disk.fails() and not reserve:
            raise Unavailable("storage.full", "The disk is full for a moment; try again")
        appended = await self._kept.append(records, reserve=reserve)
        await self._disk.take_time(0.0002, 0.004)
        self._disk.check()
        return appended

    async def read(self, after_seq: int, limit_bytes: int = 4 << 20) -> JournalBatch:
        return await self._kept.read(after_seq, limit_bytes)

    async def body(self, at: BodyAt) -> bytes | None:
        await self._disk.take_time(0.0001, 0.001)
        return await self._kept.body(at)

    async def head(self) -> JournalHead:
        return await self._kept.head()

    async def drop_bodies(self, before_seq: int) -> object:
        return await self._kept.drop_bodies(before_seq)

    async def close(self) -> None:
        """Do nothing; the owner closes the kept journal."""


class SlowIndex:
    """An ``Index`` that lags behind, with results that are slightly outdated when they arrive."""

    def __init__(self, kept: Index, disk: Disk) -> None:
        self._kept = kept
        self._disk = disk

    async def position(self) -> JournalHead:
        return await self._kept.position()

    async def query(self, name: str, *parameters: Any) -> list[tuple[Any, ...]]:
        await self._disk.take_time(0.0001, 0.001)
        rows = await self._kept.query(name, *parameters)
        await self._disk.take_time(0.0001, 0.001)
        return rows

    async def rows(self, table: str) -> list[tuple[Any, ...]]:
        return await self._kept.rows(table)

    async def apply(self, changes: Changes, head: JournalHead, after: int = 0) -> None:
        await self._disk.take_time(0.001, 0.02)
        self._disk.check()
        await self._kept.apply(changes, head, after)

    async def clear(self) -> None:
        await self._kept.clear()

    async def close(self) -> None:
        """Do nothing; the owner closes the kept index."""
