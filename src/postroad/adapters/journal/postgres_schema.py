"""Numbered, forward-only migrations of the PostgreSQL tables of a component, and its named statements.

Rules: one node migrates a database at a time, completely or not at all. A database that is newer than this program is not
changed, and is used only if all newer migrations were additive: then nodes of two versions can share it. A migration is a file
``0001_what.sql``; a line ``-- additive`` states that the version before it can use the tables. Statements follow lines
``-- name: x``.
"""

from __future__ import annotations

import re
from importlib.resources import files

from postroad.adapters.journal.postgres_connections import LONG_WORK_S, Connection
from postroad.errors import Misconfigured

MIGRATION = re.compile(r"(\d{4})_\w+\.sql\Z")
LOCK = 0x706F7374726F6164  # "postroad", one lock for all parts
ADDITIVE = re.compile(r"^-- additive$", re.MULTILINE)
VERSIONS = """
CREATE TABLE IF NOT EXISTS postroad_schema (part text PRIMARY KEY, version integer NOT NULL);
ALTER TABLE postroad_schema ADD COLUMN IF NOT EXISTS usable_from integer;
"""
SAVE_VERSION = """
INSERT INTO postroad_schema (part, version, usable_from) VALUES ($1, $2, $3)
ON CONFLICT (part) DO UPDATE SET version = $2, usable_from = $3
"""


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
        found = await connection.fetchrow("SELECT version, usable_from FROM postroad_schema WHERE part = $1", part)
        version, usable_from = found or (0, None)
        if version > newest:
            if usable_from is not None and usable_from <= newest:
                return  # a later version has only added to the tables
            raise Misconfigured(
                [
                    f"database: its {part} tables are at version {version}, this program knows up to {newest}; "
                    "start a newer postroad, or restore a copy from before the update"
                ]
            )
        for number, sql in steps:
            if number > version:
                await connection.execute(sql, timeout=LONG_WORK_S)
        await connection.execute(SAVE_VERSION, part, newest, find_usable_from(steps))


def find_usable_from(steps: list[tuple[int, str]]) -> int:
    """Return the oldest version of the tables whose programs can use the newest one."""
    return max((number for number, sql in steps if not ADDITIVE.search(sql)), default=0)
