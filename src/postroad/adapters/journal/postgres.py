"""The journal in PostgreSQL, shared by many nodes: groups become visible in the order in which they were committed.

Rule: a PostgreSQL commit is durable and final, and nothing is visible before it. Every append on every node takes its
number under the lock of the table ``journal_head``; ``docs/explanation/acceptance.md`` explains the consequences.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence

from postroad.adapters.journal.postgres_connections import ConnectionPool
from postroad.adapters.journal.postgres_group import group_from_row, group_records, pack
from postroad.adapters.journal.postgres_schema import load_named_statements, migrate
from postroad.adapters.journal.segments.frame import RecordGroup
from postroad.errors import Unavailable
from postroad.ports import Appended, BodyAt, JournalBatch, JournalHead, NewRecord

PACKAGE = "postroad.adapters.journal"
SQL = load_named_statements(PACKAGE, "journal.sql")


class PostgresJournal:
    """Implements ``postroad.ports.Journal``; any number of nodes may open it on one database."""

    def __init__(self, connections: ConnectionPool, *, owns_connections: bool = False) -> None:
        self.connections = connections
        self._owns_connections = owns_connections

    @classmethod
    async def open(cls, dsn: str) -> PostgresJournal:
        """Connect, and create or update the tables."""
        connections = await ConnectionPool.open(dsn)
        try:
            async with connections.use() as connection:
                await migrate(connection, "journal", PACKAGE)
        except BaseException:
            await connections.close()
            raise
        return cls(connections, owns_connections=True)

    async def append(self, records: Sequence[NewRecord], *, reserve: bool = False) -> Appended:
        """Append the records as one group; ``reserve`` has no effect, since PostgreSQL has no reserved space."""
        if not records:
            raise ValueError("a group has at least one record")
        packed = pack(records)
        [row] = await self.connections.fetch(SQL["append"], packed.entries, packed.facts, packed.bodies)
        first_seq, chain = row
        bodies = [place.body(first_seq) for place in packed.places]
        return Appended(first_seq, bodies, JournalHead(first_seq + len(records) - 1, chain))

    async def read(self, after_seq: int, limit_bytes: int = 4 << 20) -> JournalBatch:
        groups = await self._groups(after_seq, limit_bytes)
        if not groups:
            return JournalBatch([], await self.head())
        found = [record for group in groups for record in group_records(group, after_seq)]
        return JournalBatch(found, groups[-1].head)

    async def body(self, at: BodyAt) -> bytes | None:
        return (await self.bodies([at]))[0]

    async def bodies(self, places: Sequence[BodyAt]) -> list[bytes | None]:
        """Return many bodies with one query, in the order of ``places``."""
        if not places:
            return []
        segments, offsets, lengths, _ = zip(*places, strict=True)
        rows = await self.connections.fetch(SQL["bodies"], segments, offsets, lengths)
        return [_checked(data, at) for (data,), at in zip(rows, places, strict=True)]

    async def head(self) -> JournalHead:
        [row] = await self.connections.fetch(SQL["head"])
        return JournalHead(row[0], row[1])

    async def drop_bodies(self, before_seq: int) -> int:
        """Drop the bodies of groups entirely below ``before_seq``; returns their number. Facts and chain stay."""
        dropped, after = 0, 0
        while rows := await self.connections.fetch(SQL["drop_bodies"], before_seq, after):
            dropped += len(rows)
            after = max(row[0] for row in rows)
        return dropped

    async def facts(self, after_seq: int = 0) -> AsyncIterator[RecordGroup]:
        """Yield the groups after an entry in order, as stored and unchecked, without the bytes of their bodies."""
        seq = after_seq
        while groups := await self._groups(seq, 1 << 20):
            for group in groups:
                yield group
            seq = groups[-1].head.seq

    async def groups(self, after_seq: int = 0) -> AsyncIterator[tuple[RecordGroup, bytes | None]]:
        """Yield the groups after an entry with their bodies, None where they were dropped."""
        async for group in self.facts(after_seq):
            yield group, await self._bodies(group)

    async def first_with_bodies(self) -> int:
        """Return the first entry of the oldest group whose bodies were not dropped; after the last entry if there is none."""
        rows = await self.connections.fetch(SQL["first_with_bodies"])
        return int(rows[0][0]) if rows else (await self.head()).seq + 1

    async def close(self) -> None:
        if self._owns_connections:
            await self.connections.close()

    async def _groups(self, after_seq: int, limit_bytes: int) -> list[RecordGroup]:
        return [group_from_row(row) for row in await self.connections.fetch(SQL["read"], after_seq, limit_bytes)]

    async def _bodies(self, group: RecordGroup) -> bytes | None:
        if group.bodies_at is None:
            return None
        rows = await self.connections.fetch("SELECT bodies FROM journal_group WHERE first_seq = $1", group.first_seq)
        bodies: bytes | None = rows[0][0] if rows else None
        return bodies


def _checked(data: bytes | None, at: BodyAt) -> bytes | None:
    """Return the body if it matches its digest; None if retention has dropped it (an empty body cannot be dropped)."""
    if data is None:
        return None if at.length else b""
    if hashlib.sha256(data).digest() != at.digest:
        what = f"A body in group {at.segment} is not the one that was written"
        raise Unavailable("storage.damaged", f"{what}; run `postroad verify`, then restore a copy", retry_after_s=60)
    return data
