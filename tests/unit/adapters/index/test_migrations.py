"""The schema's history: every version that was ever published still leads to the present one, and a newer one is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from postroad.adapters.index import migrations as module
from postroad.adapters.index import postgres, sqlite_file
from postroad.adapters.index.header_columns import IN_HEADER
from postroad.adapters.index.migrations import VERSION_TABLE, Migration, migrations, select_section
from postroad.adapters.index.postgres import PostgresIndex
from postroad.adapters.index.sqlite import SqliteReader, SqliteWriter
from postroad.adapters.index.sqlite_file import apply_migration, open_writer, schema_version
from postroad.adapters.journal import postgres_schema
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.core.projection.tables import TABLES
from postroad.errors import Misconfigured
from tests.unit.adapters.index.schema_dumps import (
    frozen_postgres,
    frozen_sqlite,
    postgres_dump,
    sqlite_dump,
    versions,
    with_checksums,
)

STORED_ELSEWHERE = {"seen": ("session",), "message": IN_HEADER}


@pytest.fixture
async def connection(postgres_database: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(postgres_database)
    yield connection
    await connection.close()


def next_migration(text: str) -> tuple[Migration, ...]:
    return (*migrations(), Migration(migrations()[-1].version + 1, "next", text))


def test_versions_are_numbered_without_gaps() -> None:
    assert versions() == list(range(1, len(versions()) + 1))


def test_sections_belong_to_their_database() -> None:
    text = "all;\n-- sqlite:\nlite;\n-- postgres:\nelephant;\n-- both:\nall again;\n"
    assert select_section(text, "sqlite") == "all;\nlite;\nall again;\n"
    assert select_section(text, "postgres") == "all;\nelephant;\nall again;\n"


# ---- published versions stay what they were (frozen copies), and lead to the present schema


@pytest.mark.parametrize("version", versions())
def test_sqlite_up_to_a_version_gives_what_was_frozen(version: int) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute(VERSION_TABLE)
    for migration in migrations()[:version]:
        apply_migration(connection, migration)
    assert sqlite_dump(connection) == frozen_sqlite(version)
    connection.close()


@pytest.mark.parametrize("version", versions())
def test_a_sqlite_file_of_any_version_becomes_the_present_one(version: int, tmp_path: Path) -> None:
    old = with_checksums(tmp_path / "old.sqlite")
    old.execute(frozen_sqlite(version))
    old.executemany("INSERT INTO schema_version VALUES (?, 'frozen')", [(number,) for number in range(1, version + 1)])
    old.close()
    migrated, fresh = open_writer(tmp_path / "old.sqlite"), open_writer(tmp_path / "fresh.sqlite")
    assert sqlite_dump(migrated) == sqlite_dump(fresh)
    assert schema_version(migrated) == versions()[-1]
    migrated.close()
    fresh.close()


@pytest.mark.parametrize("version", versions())
async def test_postgres_up_to_a_version_gives_what_was_frozen(version: int, connection: Any) -> None:
    await connection.execute(VERSION_TABLE)
    for migration in migrations()[:version]:
        await postgres.apply_migration(connection, migration)
    assert await postgres_dump(connection) == frozen_postgres(version)


def test_the_tables_have_the_projected_columns(tmp_path: Path) -> None:
    connection = open_writer(tmp_path / "index.sqlite")
    for table, columns in TABLES.items():
        stored = [row[1] for row in connection.pragma("table_info", table)]
        assert set(stored) - {"span"} == set(columns) - set(STORED_ELSEWHERE.get(table, ()))
    connection.close()


# ---- opening


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    open_writer(tmp_path / "index.sqlite").close()
    before = (tmp_path / "index.sqlite").read_bytes()
    open_writer(tmp_path / "index.sqlite").close()
    assert (tmp_path / "index.sqlite").read_bytes() == before


def test_a_sqlite_schema_from_the_future_is_refused(tmp_path: Path) -> None:
    connection = open_writer(tmp_path / "index.sqlite")
    connection.execute("INSERT INTO schema_version VALUES (99, 'future')")
    connection.close()
    with pytest.raises(Misconfigured, match=r"version 99, this postroad knows up to \d+; use the newer"):
        SqliteWriter(tmp_path / "index.sqlite")


async def test_a_postgres_schema_from_the_future_is_refused(postgres_database: str, connection: Any) -> None:
    await (await PostgresIndex.open(postgres_database)).close()
    await connection.execute("INSERT INTO schema_version VALUES (99, 'future')")
    with pytest.raises(Misconfigured, match=r"version 99, this postroad knows up to \d+; use the newer"):
        await PostgresIndex.open(postgres_database)


@pytest.mark.req("O7")
async def test_a_postgres_schema_to_which_a_later_version_has_only_added_is_used(
    postgres_database: str, connection: Any
) -> None:
    await (await PostgresIndex.open(postgres_database)).close()
    await connection.execute("INSERT INTO schema_version VALUES (99, 'added_a_table')")
    index = await PostgresIndex.open(postgres_database)
    assert (await index.position()).seq == 0
    await index.close()
    await connection.execute("INSERT INTO schema_version VALUES (100, 'dropped_a_table')")
    with pytest.raises(Misconfigured, match="version 100"):
        await PostgresIndex.open(postgres_database)


@pytest.mark.req("O7")
async def test_tables_to_which_a_later_version_has_only_added_are_used(
    postgres_database: str, connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the parts of the database with migrations of their own: journal, desk, nodes …"""
    known = [(1, "CREATE TABLE thing (a int)")]
    added = (2, "-- additive\nALTER TABLE thing ADD COLUMN b int")

    async def migrate_to(*steps: tuple[int, str]) -> int:
        monkeypatch.setattr(postgres_schema, "migrations", lambda package: list(steps))
        await postgres_schema.migrate(connection, "things", "")
        version: int = await connection.fetchval("SELECT version FROM postroad_schema WHERE part = 'things'")
        return version

    assert await migrate_to(*known) == 1
    assert await migrate_to(*known, added) == 2
    assert await migrate_to(*known) == 2, "the version before starts again, and changes nothing"
    assert await migrate_to(*known, added, (3, "ALTER TABLE thing DROP COLUMN a")) == 3
    with pytest.raises(Misconfigured, match="its things tables are at version 3, this program knows up to 1"):
        await migrate_to(*known)


async def test_a_reader_waits_for_nobody_to_migrate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_writer(tmp_path / "index.sqlite").close()
    monkeypatch.setattr(module, "migrations", lambda: next_migration("SELECT 1;"))
    reader = SqliteReader(tmp_path / "index.sqlite")
    with pytest.raises(Misconfigured, match="lacks migration"):
        await reader.position()
    await reader.close()


# ---- a migration that fails leaves the schema as it was


def test_a_failing_migration_leaves_sqlite_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = open_writer(tmp_path / "index.sqlite")
    before = sqlite_dump(connection)
    monkeypatch.setattr(module, "migrations", lambda: next_migration("CREATE TABLE half (a TEXT); CREATE nonsense;"))
    with pytest.raises(apsw.SQLError):
        sqlite_file.migrate(connection, tmp_path)
    assert sqlite_dump(connection) == before
    assert schema_version(connection) == versions()[-1]
    connection.close()


async def test_a_large_database_is_given_the_time_that_its_migration_takes(
    postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the journal's and the desk's tables; all other statements are given up after a minute."""
    monkeypatch.setattr("postroad.adapters.journal.postgres_connections.COMMAND_TIMEOUT_S", 3.0)
    slow = "SELECT pg_sleep(3.1)"  # sleeps: longer than other statements may take
    monkeypatch.setattr(module, "migrations", lambda: next_migration(f"{slow};"))
    await (await PostgresIndex.open(postgres_database)).close()
    monkeypatch.setattr(postgres_schema, "migrations", lambda package: [(1, slow)])
    await (await PostgresJournal.open(postgres_database)).close()


async def test_a_failing_migration_leaves_postgres_as_it_was(
    postgres_database: str, connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await (await PostgresIndex.open(postgres_database)).close()
    before = await postgres_dump(connection)
    monkeypatch.setattr(module, "migrations", lambda: next_migration("CREATE TABLE half (a TEXT); CREATE nonsense;"))
    with pytest.raises(asyncpg.PostgresSyntaxError):
        await PostgresIndex.open(postgres_database)
    assert await postgres_dump(connection) == before
