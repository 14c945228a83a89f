"""The index in PostgreSQL, shared by every node of a network.

Rules: one batch is one transaction that locks the row of ``position``, so followers take turns; a follower that lags
behind changes nothing, because every change is guarded by the number of its entry. Its commits do not wait for the
disk, so a crash of the database may undo the last ones: a follower that continues afterwards gets an error, and
starts again from the position. Many changes are one round trip, with the result of the named statement row by row: new
rows are copied directly into their table; rows that may exist, and updates, go through arrays (``unnest``) around the
named statement's own text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Self

import asyncpg

from postroad.adapters.index.batch_folding import first_hand_outs, fold
from postroad.adapters.index.gap_check import require_no_gap
from postroad.adapters.index.header_columns import complete_answer, complete_table
from postroad.adapters.index.layout import (
    DATABASE_STATEMENTS,
    DATABASE_TABLES,
    KEYS,
    NOTHING_APPLIED,
    STORED_CHANGED_DELIVERY,
    STORED_DELIVERY,
    STORED_MESSAGE,
    ServiceNumbers,
    list_activity,
    to_stored_rows,
)
from postroad.adapters.index.migrations import VERSION_TABLE, Migration, is_newer_and_usable, list_pending
from postroad.adapters.index.named_sql import load_statements, whole_table
from postroad.adapters.journal.postgres_connections import LONG_WORK_S, ConnectionPool
from postroad.core.model.ids import delivery_origin
from postroad.core.projection.tables import FIRST_JOURNEY, ONWARD_DELIVERY, RESENT_DELIVERY, TABLES, Changes
from postroad.ports import JournalHead

_PARAMETER = re.compile(r"\$(\d+)")
_FROM_TABLE = re.compile(r"FROM \w+\nWHERE")
_VALUES = re.compile(r"VALUES \((.*)\) ON CONFLICT", re.DOTALL)


def bulk_form(statement: str, types: list[str]) -> str:
    """Return the statement over arrays: each ``$n`` becomes a column of the rows in the arrays."""
    arrays = ", ".join(f"${place}::{kind}[]" for place, kind in enumerate(types, 1))
    names = ", ".join(f"p{place}" for place in range(1, len(types) + 1))
    rows = f"FROM unnest({arrays}) AS change ({names})"
    if statement.startswith("UPDATE"):
        change, condition = _over_rows(statement).rsplit("WHERE", 1)
        return f"{change}{rows} WHERE{condition}"
    if found := _FROM_TABLE.search(statement):
        before, condition = statement[: found.start()], statement[found.end() :]
        table = found[0].removesuffix("\nWHERE")
        return f"{_over_rows(before)}{table}, {rows.removeprefix('FROM ')} WHERE{_over_rows(condition)}"
    values = _VALUES.search(statement)
    if values is None:
        raise ValueError(f"no bulk form for: {statement}")
    return f"{statement[: values.start()]}SELECT {_over_rows(values[1])} {rows} ON CONFLICT{statement[values.end() :]}"


def _over_rows(sql: str) -> str:
    return _PARAMETER.sub(r"change.p\1", sql)


class BulkStatements:
    """Runs inserts and updates for many rows. PostgreSQL reports the types of the parameters once."""

    def __init__(self) -> None:
        self._forms: dict[str, str] = {}

    async def run(self, connection: Any, statement: str, rows: list[Row]) -> None:
        if statement not in self._forms:
            parameters = (await connection.prepare(statement)).get_parameters()
            self._forms[statement] = bulk_form(statement, [parameter.name for parameter in parameters])
        await connection.execute(self._forms[statement], *map(list, zip(*rows, strict=True)))


def split_into_rounds(rows: Iterable[Row]) -> list[list[Row]]:
    """Split the changes into rounds so that no delivery (the last value of a row) is changed twice in one.

    An UPDATE over arrays changes a row only once, however many changes it contains for it.
    """
    found: list[list[Row]] = []
    times: dict[Any, int] = {}
    for row in rows:
        turn = times[row[-1]] = times.get(row[-1], -1) + 1
        if turn == len(found):
            found.append([])
        found[turn].append(row)
    return found


def replace_nul(rows: list[Row]) -> list[Row]:
    """The rows with U+FFFD for each NUL, the one character that PostgreSQL's text cannot hold; the header keeps the original."""
    return [tuple(value.replace("\0", "\ufffd") if isinstance(value, str) else value for value in row) for row in rows]


POOL_SIZE = 4
MIGRATION_LOCK = 0x706F737469647820  # "postidx ": held while migrating; other locks of the network have other numbers

Row = tuple[Any, ...]

# Tables and columns whose rows are new if the batch is new, unlike rows of keys and objects.
_COPIED = {
    "insert_message": ("message", STORED_MESSAGE),
    "insert_delivery": ("delivery", STORED_DELIVERY),
    "insert_changed_delivery": ("delivery", STORED_CHANGED_DELIVERY),
    "insert_onward_delivery": ("delivery", ONWARD_DELIVERY),
    "insert_resent_delivery": ("delivery", RESENT_DELIVERY),
    "insert_round": ("round", TABLES["round"]),
    "insert_content": ("content", TABLES["content"]),
    "insert_journey": ("journey", FIRST_JOURNEY),
    "insert_refused": ("refused", TABLES["refused"]),
}
_ROW_BY_ROW = {"save_object", "save_reference", "save_batch"}  # the same one may be saved twice in a batch


class PostgresIndex:
    """An ``Index`` over a pool of connections; while the database is unavailable, every query raises Unavailable."""

    def __init__(self, connections: ConnectionPool) -> None:
        self._connections = connections
        self._statements = load_statements("statements.sql", "postgres")
        self._queries = load_statements("queries.sql", "postgres")
        self._numbers = ServiceNumbers()
        self._bulk = BulkStatements()

    @classmethod
    async def open(cls, dsn: str, size: int = POOL_SIZE) -> Self:
        """Connect and bring the schema up to date."""
        connections = await ConnectionPool.open(dsn, most=size, durable=False)
        try:
            async with connections.use() as connection:
                await migrate(connection)
        except BaseException:
            await connections.close()
            raise
        return cls(connections)

    async def position(self) -> JournalHead:
        [(seq, chain)] = await self.query("position")
        return JournalHead(seq, chain)

    async def apply(self, changes: Changes, head: JournalHead, after: int = 0) -> None:
        try:
            await self._apply(changes, head, after)
        except (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError):
            await self._apply({name: replace_nul(rows) for name, rows in changes.items()}, head, after)

    async def query(self, name: str, *parameters: Any) -> list[Row]:
        [clean] = replace_nul([parameters])
        return complete_answer(name, [tuple(row) for row in await self._connections.fetch(self._queries[name], *clean)])

    async def rows(self, table: str) -> list[Row]:
        found = await self._connections.fetch(whole_table(table, KEYS[table]))
        return complete_table(table, [tuple(row) for row in found])

    async def clear(self) -> None:
        async with self._connections.use() as connection, connection.transaction():
            await connection.execute(f"TRUNCATE {', '.join(DATABASE_TABLES)}")
            await connection.execute(self._statements["reset_position"], *NOTHING_APPLIED)

    async def close(self) -> None:
        await self._connections.close()

    async def _apply(self, changes: Changes, head: JournalHead, after: int) -> None:
        async with self._connections.use() as connection, connection.transaction():
            position: int = await connection.fetchval("SELECT seq FROM position FOR UPDATE")
            require_no_gap(position, after)
            await self._know_services(connection)
            changes = fold(changes, position)
            for name in DATABASE_STATEMENTS:
                if rows := changes.get(name):
                    await self._run(connection, name, to_stored_rows(name, rows, self._numbers), position)
            if active := list_activity(changes, self._numbers):
                await self._bulk.run(connection, self._statements["insert_activity"], active)
            if new := self._numbers.take_new():
                await connection.executemany(self._statements["insert_service"], new)
            await connection.execute(self._statements["move_position"], *head)

    async def _run(self, connection: Any, name: str, rows: list[Row], position: int) -> None:
        statement = self._statements[name]
        if name in _ROW_BY_ROW:
            await connection.executemany(statement, rows)
        elif statement.startswith("UPDATE"):
            if name == "hand_out":
                await self._bulk.run(connection, self._statements["keep_replaced"], first_hand_outs(rows))
            for turn in split_into_rounds(rows):
                await self._bulk.run(connection, statement, turn)
        elif name in _COPIED and min(_entry(name, row) for row in rows) > position:
            table, columns = _COPIED[name]
            await connection.copy_records_to_table(table, records=rows, columns=columns)
        else:
            await self._bulk.run(connection, statement, rows)

    async def _know_services(self, connection: Any) -> None:
        """Read the services' numbers again unless those in memory are the stored ones (a batch failed, another node wrote)."""
        if await connection.fetchval(self._queries["services_known"]) != self._numbers.stored:
            self._numbers = ServiceNumbers(tuple(row) for row in await connection.fetch(self._queries["services"]))


def _entry(name: str, row: Row) -> int:
    """The number of the entry that causes this row."""
    if name.endswith(("_delivery", "_journey")):
        return delivery_origin(row[0])[0]
    seq: int = row[0]
    return seq


async def migrate(connection: Any) -> None:
    """Bring the schema up to date; nodes that start together take turns."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", MIGRATION_LOCK, timeout=LONG_WORK_S)
        await connection.execute(VERSION_TABLE)
        applied = [tuple(row) for row in await connection.fetch("SELECT version, name FROM schema_version")]
        if is_newer_and_usable(applied):
            return
        current = max((version for version, _ in applied), default=0)
        for migration in list_pending(current, "in PostgreSQL"):
            await apply_migration(connection, migration)


async def apply_migration(connection: Any, migration: Migration) -> None:
    await connection.execute(migration.script("postgres"), timeout=LONG_WORK_S)
    insert = "INSERT INTO schema_version (version, name) VALUES ($1, $2)"
    await connection.execute(insert, migration.version, migration.name)
