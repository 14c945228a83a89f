"""An index that was filled by an older postroad becomes, once migrated and caught up, what a new one is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import asyncpg

from postroad.adapters.index import postgres
from postroad.adapters.index.migrations import VERSION_TABLE, migrations
from postroad.adapters.index.postgres import PostgresIndex
from postroad.adapters.index.sqlite import SqliteIndex
from postroad.adapters.index.sqlite_file import open_writer
from postroad.adapters.memory.index import MemoryIndex
from postroad.adapters.memory.journal import MemoryJournal
from postroad.core.model.journal import decode
from postroad.core.projection.tables import TABLES
from postroad.flow.indexing import catch_up
from postroad.ports import Index, NewRecord
from tests.unit.adapters.index.schema_dumps import FROZEN, frozen_sqlite, with_checksums
from tests.unit.core.projection.old_entries import OLD_ENTRIES

Filled = dict[str, tuple[list[str], list[list[Any]]]]


def rows_of(version: int) -> Filled:
    """Every row of every table as that version's writer left them after ``OLD_ENTRIES``."""
    stored = json.loads((FROZEN / f"{version:04d}.rows.json").read_text())
    return {
        table: (content["columns"], [[_value(value) for value in row] for row in content["rows"]])
        for table, content in stored.items()
    }


def _value(stored: Any) -> Any:
    return bytes.fromhex(stored["hex"]) if isinstance(stored, dict) else stored


async def old_journal() -> MemoryJournal:
    journal = MemoryJournal()
    sessions = [getattr(decode(facts), "session", None) for facts in OLD_ENTRIES]
    kinds = [type(decode(facts)).__name__ in ("MessagePosted", "InvocationReturned") for facts in OLD_ENTRIES]
    bodies = [
        session.encode() if has_body and session else None for session, has_body in zip(sessions, kinds, strict=True)
    ]
    await journal.append([NewRecord(*record) for record in zip(OLD_ENTRIES, bodies, strict=True)])
    return journal


async def assert_becomes_a_new_one(index: Index) -> None:
    journal, fresh = await old_journal(), MemoryIndex()
    assert (await index.position()).seq == 0, "the old tables are taken for the present ones"
    assert {table: await index.rows(table) for table in TABLES} == {table: [] for table in TABLES}
    await catch_up(journal, index)
    await catch_up(journal, fresh)
    for table in TABLES:
        assert await index.rows(table) == await fresh.rows(table), table
    assert len(await index.query("mailboxes")) == 2


async def test_the_stored_rows_are_those_of_this_journal() -> None:
    [(_, seq, chain)] = rows_of(1)["position"][1]
    assert await (await old_journal()).head() == (seq, chain)


async def test_a_filled_sqlite_index_of_the_first_version(tmp_path: Path) -> None:
    connection = with_checksums(tmp_path / "index.sqlite")
    connection.execute(frozen_sqlite(1))
    connection.execute("INSERT INTO schema_version VALUES (1, 'first')")
    for table, (columns, rows) in rows_of(1).items():
        connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", rows)
    connection.close()
    index = SqliteIndex(tmp_path / "index.sqlite")
    await assert_becomes_a_new_one(index)
    await index.close()


async def test_a_filled_postgres_index_of_the_first_version(postgres_database: str) -> None:
    connection = await asyncpg.connect(postgres_database)
    await connection.execute(VERSION_TABLE)
    await postgres.apply_migration(connection, migrations()[0])
    await connection.execute("DELETE FROM position")
    for table, (columns, rows) in rows_of(1).items():
        await connection.copy_records_to_table(table, records=rows, columns=columns)
    await connection.close()
    index = await PostgresIndex.open(postgres_database)
    await assert_becomes_a_new_one(index)
    await index.close()


# ---- what was read from the text of a reason before migration 9

DELIVERIES = [
    (1, 1, 0, "push failed: the receiver answered 503", 0),
    (2, 1, 0, "busy", 0),
    (3, 1, 3, "push failed: ended all the same", 9),
]
WAITING_FOR_PUSH = [(1, 1), (2, 0), (3, 0)]
INSERT = (
    "INSERT INTO delivery (number, recipient, expires_at_us, state, reason, settle_seq) VALUES ({}, {}, 0, {}, {}, {})"
)
LETTER = "INSERT INTO dead_letter (number, recipient, sender, at_us, reason, seq) VALUES (3, 1, 1, 1, 'busy', 9)"


async def test_a_sqlite_index_of_the_eighth_version_knows_what_waits_for_its_push(tmp_path: Path) -> None:
    connection = with_checksums(tmp_path / "index.sqlite")
    connection.execute(frozen_sqlite(8))
    connection.executemany("INSERT INTO schema_version VALUES (?, 'frozen')", [(number,) for number in range(1, 9)])
    connection.executemany(INSERT.format(*"?????"), DELIVERIES)
    connection.execute(LETTER)
    connection.close()
    migrated = open_writer(tmp_path / "index.sqlite")
    assert migrated.execute("SELECT number, waits_for_push FROM delivery ORDER BY 1").fetchall() == WAITING_FOR_PUSH
    assert migrated.execute("SELECT reason_code FROM dead_letter").fetchall() == [("",)]
    migrated.close()


async def test_a_postgres_index_of_the_eighth_version_knows_what_waits_for_its_push(postgres_database: str) -> None:
    connection = await asyncpg.connect(postgres_database)
    await connection.execute(VERSION_TABLE)
    for migration in migrations()[:8]:
        await postgres.apply_migration(connection, migration)
    await connection.executemany(INSERT.format("$1", "$2", "$3", "$4", "$5"), DELIVERIES)
    await connection.execute(LETTER)
    await (await PostgresIndex.open(postgres_database)).close()
    rows = await connection.fetch("SELECT number, waits_for_push FROM delivery ORDER BY 1")
    assert [tuple(row) for row in rows] == WAITING_FOR_PUSH
    assert await connection.fetchval("SELECT reason_code FROM dead_letter") == ""
    await connection.close()
