"""A database's schema as text, to compare one with another and with a frozen copy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import apsw

from postroad.adapters.index.migrations import migrations
from postroad.adapters.index.sqlite_file import CHECKSUM_BYTES, checksum_vfs

FROZEN = Path(__file__).parent / "schemas"


def sqlite_dump(connection: apsw.Connection) -> str:
    """Every CREATE statement, with spaces made equal."""
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC, name").fetchall()
    return "".join(re.sub(r"\s+", " ", str(sql)) + ";\n" for (sql,) in rows)


async def postgres_dump(connection: Any) -> str:
    """Every column and every index of the index's tables, one a line."""
    columns = await connection.fetch(
        """SELECT table_name, column_name, data_type, collation_name, is_nullable FROM information_schema.columns
        WHERE table_schema = 'public' ORDER BY table_name, ordinal_position"""
    )
    indexes = await connection.fetch("SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname")
    lines = [" ".join(str(value) for value in row) for row in columns] + [row["indexdef"] for row in indexes]
    return "\n".join(lines) + "\n"


def with_checksums(path: Path) -> apsw.Connection:
    """A new SQLite file whose pages have checksums, as the index's files have."""
    connection = apsw.Connection(str(path), vfs=checksum_vfs())
    connection.reserve_bytes("main", CHECKSUM_BYTES)
    return connection


def frozen_sqlite(version: int) -> str:
    return (FROZEN / f"{version:04d}.sqlite.sql").read_text()


def frozen_postgres(version: int) -> str:
    return (FROZEN / f"{version:04d}.postgres.txt").read_text()


def versions() -> list[int]:
    return [migration.version for migration in migrations()]
