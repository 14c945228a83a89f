"""Numbered, forward-only migrations of the PostgreSQL tables of a component, and its named statements.

Rule: one node migrates a database at a time, completely or not at all; a database that is newer than this program is
not changed. A migration is a file ``0001_what.sql``; statements follow ``-- name: x`` lines.
"""

from __future__ import annotations

import re
from importlib.resources import files

from postroad.adapters.journal.postgres_connections import LONG_WORK_S, Connection
from postroad.errors import Misconfigured

MIGRATION = re.compile(r"(\d{4})_\w+\.sql\Z")
LOCK = 0x706F7374726F6164  # "postroad", one lock for all parts
VERSIONS = "CREATE TABLE IF NOT EXISTS postroad_schema (part text PRIMARY KEY, version integer NOT NULL)"
SAVE_VERSION = "INSERT INTO postroad_schema VALUES ($1, $2) ON CONFLICT (part) DO UPDATE SET version = $2"


def load_named_statements(package: str, name: str) -> dict[str, str]:
    """Return the statements of an SQL file, by name."""
    text = files(package).joinpath("sql", name).read_text("utf-8")
    pieces = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)[1:]
    return {title: sql.strip() for title, sql in zip(pieces[::2], pieces[1::2], strict=True)}


def migrations(package: str) -> list[tuple[int, str]]:
    """Return the version and text of each migration in the package's folder ``sql``, in order."""
    found = [(MIGRATION.match(file.name), file) for file in files(package).joinpath("sql").iterdir()]
    return sorted((int(match[1]), file.read_text("utf-8")) for match, file in found if match)


async def migrate(connection: Connection, part: str, package: str) -> None:
    """Bring the tables of ``part`` to the newest version that this program knows."""
    steps = migrations(package)
    newest = steps[-1][0]
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK, timeout=LONG_WORK_S)
        await connection.execute(VERSIONS)
        version = await connection.fetchval("SELECT version FROM postroad_schema WHERE part = $1", part) or 0
        if version > newest:
            raise Misconfigured(
                [
                    f"database: its {part} tables are at version {version}, this program knows up to {newest}; "
                    "start a newer postroad, or restore a copy from before the update"
                ]
            )
        for number, sql in steps:
            if number > version:
                await connection.execute(sql, timeout=LONG_WORK_S)
        await connection.execute(SAVE_VERSION, part, newest)
