"""What must be true of a network's stores after whatever was done to it, seen without its server."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from postroad.adapters.index.postgres import PostgresIndex
from postroad.adapters.index.sqlite import SqliteIndex
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.postgres_verification import verify as verify_postgres
from postroad.adapters.journal.segments import JournalDefect, SegmentReader, verify
from postroad.adapters.memory.index import MemoryIndex
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import DeliveriesLeased, MessagePosted, decode
from postroad.core.projection.tables import TABLES
from postroad.flow.indexing import catch_up
from postroad.ports import IndexReader


async def require_whole(data: Path) -> None:
    """``verify`` finds nothing in the journal, and its index has the very rows that a new one would have."""
    live = SqliteIndex(data / "index.sqlite")
    journal = SegmentReader(data / "journal")
    fresh = SqliteIndex(data / "fresh.sqlite")
    try:
        await catch_up(journal, live)
        await catch_up(journal, fresh)
        assert [
            found for found in verify(data / "journal", await live.position()) if isinstance(found, JournalDefect)
        ] == []
        await require_same_rows(live, fresh)
    finally:
        await live.close()
        await fresh.close()
        journal.close()
        for left in data.glob("fresh.sqlite*"):
            left.unlink()


async def require_whole_in_postgres(dsn: str) -> None:
    """The same for a network whose journal and index are in PostgreSQL."""
    journal, live, fresh = await PostgresJournal.open(dsn), await PostgresIndex.open(dsn), MemoryIndex()
    try:
        await catch_up(journal, live)
        await catch_up(journal, fresh)
        found = [item async for item in verify_postgres(journal, await live.position())]
        assert [item for item in found if isinstance(item, JournalDefect)] == []
        await require_same_rows(live, fresh)
    finally:
        await live.close()
        await journal.close()


async def hand_outs_in(data: Path) -> Counter[str]:
    """How often the journal of a data folder records that each session was handed out."""
    journal = SegmentReader(data / "journal")
    try:
        return await hand_outs_by_session(journal)
    finally:
        journal.close()


async def hand_outs_in_postgres(dsn: str) -> Counter[str]:
    """How often a journal in PostgreSQL records that each session was handed out."""
    journal = await PostgresJournal.open(dsn)
    try:
        return await hand_outs_by_session(journal)
    finally:
        await journal.close()


async def hand_outs_by_session(journal: SegmentReader | PostgresJournal) -> Counter[str]:
    sessions: dict[int, str] = {}
    hand_outs: Counter[str] = Counter()
    seq = 0
    while records := (await journal.read(seq)).records:
        seq = records[-1].seq
        for record in records:
            entry = decode(record.facts)
            if isinstance(entry, MessagePosted):
                sessions[delivery_number(record.seq, 0)] = entry.session
            elif isinstance(entry, DeliveriesLeased):
                hand_outs.update(sessions[number] for number in entry.deliveries)
    return hand_outs


async def require_same_rows(live: IndexReader, fresh: IndexReader) -> None:
    assert await live.position() == await fresh.position()
    for table in TABLES:
        kept, made_anew = await live.rows(table), await fresh.rows(table)
        assert len(kept) == len(made_anew), f"{table} has {len(kept)} rows and would have {len(made_anew)}"
        different = [(old, new) for old, new in zip(kept, made_anew, strict=True) if tuple(old) != tuple(new)]
        assert different == [], f"{len(different)} rows of {table} differ, the first: {different[:1]}"
