"""Compares a SQLite index with the journal: builds a second index and checks that both have the same rows.

Rule: nothing is changed, and a running server is hardly affected: the index is read in one snapshot, which is held
only while rows are compared.
"""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from postroad.adapters.index.layout import KEYS
from postroad.adapters.index.named_sql import load_statements, whole_table
from postroad.adapters.index.sqlite import SqliteIndex
from postroad.adapters.index.sqlite_file import check_file, damaged_index, open_reader, report_damage
from postroad.core.projection.project import project
from postroad.core.projection.tables import TABLES
from postroad.flow.indexing import BATCH_BYTES, JournalSource, Progress, other_journal_error
from postroad.ports import JournalHead

_ACTIVITY = """SELECT service.gcid, activity.part, activity.span FROM activity JOIN service ON service.number = activity.service
ORDER BY 1, 2, 3"""

_MESSAGE = "SELECT 1 FROM message WHERE seq = ?1"
BODY_OFFSET = "body_offset"
CHECKED_ENTRIES = 5_000  # that a quick check looks for


async def compare_with_journal(
    journal: JournalSource, path: Path, scratch: Path, on_progress: Progress | None = None
) -> list[str]:
    """Compares the index with one built from the journal; one line per differing table. May raise UnusableIndex."""
    check_file(path)
    reader = open_reader(path)
    fresh = SqliteIndex(scratch)
    try:
        head = await _extend(journal, fresh, JournalHead(0, bytes(32)), _position(path, reader), on_progress)
        head = await _extend(
            journal, fresh, head, _position(path, reader), None
        )  # what a running server added meanwhile
        with report_damage(path):
            reader.execute("BEGIN")
            head = await _extend(journal, fresh, head, _position(path, reader), None)
            return _differing_tables(reader, scratch)
    finally:
        reader.close()
        await fresh.close()


async def check_quickly(journal: JournalSource, path: Path) -> None:
    """Check every page of the index, its place in the journal and the last messages; raises UnusableIndex or Misconfigured."""
    check_file(path)
    reader = open_reader(path)
    try:
        position = _position(path, reader)
        if position.seq and (await journal.read(position.seq - 1, 1)).head != position:
            raise other_journal_error(position.seq)
        batch = await journal.read(max(0, position.seq - CHECKED_ENTRIES), BATCH_BYTES)
        rows = project([record for record in batch.records if record.seq <= position.seq]).get("insert_message", ())
        with report_damage(path):
            missing = [row[0] for row in rows if not reader.execute(_MESSAGE, (row[0],)).fetchall()]
        if missing:
            raise damaged_index(path, f"{len(missing)} messages are missing in it, the first is entry {missing[0]}")
    finally:
        reader.close()


async def _extend(
    journal: JournalSource, fresh: SqliteIndex, head: JournalHead, end: JournalHead, on_progress: Progress | None
) -> JournalHead:
    """Apply the journal's entries up to ``end``, which is the end of a group."""
    while head.seq < end.seq and (batch := await journal.read(head.seq, BATCH_BYTES)).records:
        records = [record for record in batch.records if record.seq <= end.seq]
        reached = min(batch.head, end)
        await fresh.apply(project(records), reached, head.seq)
        head = reached
        if on_progress:
            on_progress(head)
    return head


def _position(path: Path, reader: apsw.Connection) -> JournalHead:
    with report_damage(path):
        seq, chain = reader.execute(load_statements("queries.sql", "sqlite")["position"]).get
    return JournalHead(seq, chain)


def _differing_tables(reader: apsw.Connection, scratch: Path) -> list[str]:
    expected = open_reader(scratch)
    try:
        return _compare_tables(reader, expected)
    finally:
        expected.close()


def _compare_tables(reader: apsw.Connection, expected: apsw.Connection, *, is_older: bool = False) -> list[str]:
    """Return one line per table that differs; ``is_older``: bodies that were dropped since are in the first index."""
    questions = {table: whole_table(table, KEYS[table]) for table in TABLES} | {"activity": _ACTIVITY}
    found = (
        _difference(table, reader.execute(sql), expected.execute(sql), is_older=is_older)
        for table, sql in questions.items()
    )
    return [difference for difference in found if difference]


def _difference(table: str, found: Any, expected: Any, *, is_older: bool) -> str:
    """Return rows of both in the order of their keys; empty if they are equal."""
    columns = TABLES.get(table, ())
    offset = columns.index(BODY_OFFSET) if BODY_OFFSET in columns else None
    rows = due_rows = 0
    first = None
    for row, due in zip_longest(found, expected):
        rows += row is not None
        due_rows += due is not None
        if row == due or first is not None or _is_dropped_body(row, due, offset):
            continue
        if not (is_older and _is_dropped_body(due, row, offset)):
            first = row or due
    if first is None:
        return ""
    return f"table {table} has {rows} rows and should have {due_rows}; the first difference is at key {first[0]}"


def _is_dropped_body(row: Any, due: Any, offset: int | None) -> bool:
    """Whether only the place of a body differs, and the journal has dropped that body: its place is 0 then."""
    if offset is None or row is None or due is None or due[offset] != 0:
        return False
    return bool((*row[:offset], 0, *row[offset + 1 :]) == due)


# Tables whose rows are inserted with the number of their entry and never changed or removed.
APPENDED = (
    "access", "batch_answer", "content", "control_number", "found", "message", "object_version", "refused", "released", "round",
)  # fmt: skip


class IndexComparison(NamedTuple):
    """What was compared, in words, and one line per differing table."""

    scope: str
    differences: list[str]


def compare_indexes(found: Path, running: Path) -> IndexComparison:
    """Compare an index with that of a running network, in one snapshot; may raise UnusableIndex.

    If both are at the same entry, every row of every table is compared; else the number of rows that tables without changes have
    up to the last entry of both, because rows of the others have been changed since.
    """
    reader, expected = open_reader(found), open_reader(running)
    try:
        with report_damage(running):
            expected.execute("BEGIN")
            at, running_at = _position(found, reader), _position(running, expected)
            if at == running_at:
                return IndexComparison(
                    f"all tables at entry {at.seq}", _compare_tables(reader, expected, is_older=True)
                )
            last_seq = min(at.seq, running_at.seq)
            rows, due = _count_rows(reader, last_seq), _count_rows(expected, last_seq)
    finally:
        reader.close()
        expected.close()
    differences = [
        f"table {table} has {rows[table]} rows up to entry {last_seq} and should have {due[table]}"
        for table in APPENDED
        if rows[table] != due[table]
    ]
    return IndexComparison(f"the rows of {len(APPENDED)} tables up to entry {last_seq}", differences)


def _count_rows(reader: apsw.Connection, last_seq: int) -> dict[str, int]:
    """Return how many rows of entries up to this one each append-only table has."""
    return {
        table: reader.execute(
            f"SELECT count(*) FROM ({whole_table(table, KEYS[table])}) WHERE seq <= ?1",  # noqa: S608 - our names
            (last_seq,),
        ).get
        for table in APPENDED
    }
