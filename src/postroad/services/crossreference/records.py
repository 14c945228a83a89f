"""The records of cross-reference maps, stored in the journal and read from the index.

A record belongs to a service and has one key, a name and a value; records are related key by key. Rule: relating
never changes a record's values, so missing records at both ends are created, and existing ones stay unchanged.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol
from weakref import WeakValueDictionary

import msgspec

from postroad.core.model.cross_reference import CrossReferenceRecord, Key
from postroad.core.model.journal import CrossReferenceChanged
from postroad.flow.concurrency.commit import commit_step
from postroad.flow.network import Network
from postroad.ports import JournalStep

Related = list[list[CrossReferenceRecord]]
_pairs = msgspec.msgpack.Decoder(tuple[tuple[str, str], ...]).decode


class MapChangeCause(msgspec.Struct, frozen=True):
    """The service that requested a change, and the message."""

    by: str  # GCID
    session: str


class RecordStore(Protocol):
    """The records of the cross-reference service; a map is identified by owner and name."""

    async def save(
        self, owner: str, name: str, records: Sequence[CrossReferenceRecord], cause: MapChangeCause
    ) -> None: ...

    async def relate(self, owner: str, name: str, pairs: Sequence[tuple[Key, Key]], cause: MapChangeCause) -> None: ...

    async def find_related(self, owner: str, name: str, keys: Sequence[Key]) -> Related:
        """Return for each key all records related to it, directly or indirectly, its own first."""
        ...


class JournalRecordStore:
    """Cross-reference records in the journal."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def save(self, owner: str, name: str, records: Sequence[CrossReferenceRecord], cause: MapChangeCause) -> None:
        async with self._alone(owner, name):
            await self._write(owner, name, cause, tuple(records))

    async def relate(self, owner: str, name: str, pairs: Sequence[tuple[Key, Key]], cause: MapChangeCause) -> None:
        ends = list(dict.fromkeys(key for pair in pairs for key in pair))
        async with self._alone(owner, name):
            related = await self.find_related(owner, name, ends)
            known = {record.key for records in related for record in records}
            missing = tuple(CrossReferenceRecord(key) for key in ends if key not in known)
            await self._write(owner, name, cause, missing, tuple(pairs))

    async def find_related(self, owner: str, name: str, keys: Sequence[Key]) -> Related:
        await self._network.wait_until_indexed()
        return [await self._related(owner, name, key) for key in keys]

    async def _related(self, owner: str, name: str, key: Key) -> list[CrossReferenceRecord]:
        place = (owner, name.casefold(), key.service, key.name, key.value)
        rows = await self._network.index.query("related", *place)
        return [CrossReferenceRecord(Key(*row[:3]), _pairs(row[3])) for row in rows]

    async def _write(
        self,
        owner: str,
        name: str,
        cause: MapChangeCause,
        records: tuple[CrossReferenceRecord, ...],
        relations: tuple[tuple[Key, Key], ...] = (),
    ) -> None:
        now_us = self._network.clock.now_us()
        entry = CrossReferenceChanged(
            at_us=now_us,
            by=cause.by,
            owner=owner,
            map=name,
            records=records,
            relations=relations,
            session=cause.session,
        )
        await commit_step(self._network.desk, JournalStep(entry))

    @asynccontextmanager
    async def _alone(self, owner: str, name: str) -> AsyncIterator[None]:
        """Lock the map, because relating reads before it writes."""
        place = (owner, name.casefold())
        lock = self._locks.get(place)
        if lock is None:
            lock = self._locks[place] = asyncio.Lock()
        async with lock:
            yield
