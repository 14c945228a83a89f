"""The schema's history: numbered SQL files, applied in order, forwards only.

Rules: a published migration is never edited; the next number changes its result. A file's text applies to both
databases, except below a line ``-- sqlite:`` or ``-- postgres:`` until the next such line (``-- both:`` ends it). A
database whose schema is newer than this code is refused, except in PostgreSQL if the newer migrations only added something
that this version can ignore: their names begin with ``added_``. Then nodes of two versions can share it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import NamedTuple

from postroad.adapters.index.named_sql import Dialect, sql_text
from postroad.errors import Misconfigured

_FILE = re.compile(r"(\d{4})_(\w+)\.sql\Z")
_SECTION = re.compile(r"^-- (sqlite|postgres|both):\n", re.MULTILINE)

ADDITIVE = "added_"
VERSION_TABLE = "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, name TEXT NOT NULL)"


class Migration(NamedTuple):
    """One step of the schema: its number, its name and its text with the sections of both databases."""

    version: int
    name: str
    text: str

    def script(self, dialect: Dialect) -> str:
        return select_section(self.text, dialect)


@cache
def migrations() -> tuple[Migration, ...]:
    """Return all migrations in order."""
    names = sorted(entry.name for entry in (resources.files("postroad.adapters.index") / "sql").iterdir())
    found = [(match, name) for name in names if (match := _FILE.match(name))]
    return tuple(Migration(int(match[1]), match[2], sql_text(name)) for match, name in found)


def select_section(text: str, dialect: Dialect) -> str:
    """The part of a migration's text that applies to this database."""
    first, *pieces = _SECTION.split(text)
    chosen = [piece for label, piece in zip(pieces[::2], pieces[1::2], strict=True) if label in (dialect, "both")]
    return "".join((first, *chosen))


def is_newer_and_usable(applied: Iterable[tuple[int, str]]) -> bool:
    """Whether a later version has made this schema (its migrations, by number and name), and this one can use it."""
    newest = migrations()[-1].version
    later = [name for version, name in applied if version > newest]
    return bool(later) and all(name.startswith(ADDITIVE) for name in later)


def list_pending(current: int, where: str) -> tuple[Migration, ...]:
    """The migrations that a database at version ``current`` still needs; Misconfigured when it is ahead of this code."""
    newest = migrations()[-1].version
    if current > newest:
        raise Misconfigured(
            [
                f"index {where}: its schema is version {current}, this postroad knows up to {newest}; use the newer "
                "postroad, or remove this index to rebuild it from the journal"
            ]
        )
    return tuple(migration for migration in migrations() if migration.version > current)
