"""Restores a backup into an empty PostgreSQL database, with the same groups and the same chain.

Rule: journal, the entries about the restore, and the desk's tables are one transaction, so a restore happens completely or not
at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from postroad.adapters.journal.backup.contents import BackupContents, StoredGroup
from postroad.adapters.journal.backup.to_segments import RestoreRecorder
from postroad.adapters.journal.postgres import SQL, PostgresJournal
from postroad.adapters.journal.postgres_connections import LONG_WORK_S, Connection
from postroad.adapters.journal.postgres_group import pack
from postroad.adapters.journal.segments.frame import EMPTY, RecordGroup
from postroad.errors import Misconfigured
from postroad.ports import JournalHead, NewRecord

COLUMNS = ("first_seq", "last_seq", "chain", "entries", "facts", "bodies", "bodies_bytes")
BATCH_BYTES = 8 << 20


class GroupReplay(Protocol):
    """Collects the state of a desk from groups, and stores it."""

    def add(self, group: RecordGroup) -> None: ...

    async def store(self, connection: Connection) -> None: ...


async def restore_table(
    contents: BackupContents,
    journal: PostgresJournal,
    cut: int,
    *,
    recorder: RestoreRecorder | None,
    replay: GroupReplay,
    on_progress: Callable[[int], None] = lambda seq: None,
) -> JournalHead:
    """Restore the journal up to an entry; returns its head. Raises Misconfigured if the database has a journal."""
    async with journal.connections.use() as connection, connection.transaction():
        await _require_empty(connection)
        head = await _copy_groups(contents, connection, cut, replay, recorder, on_progress)
        await connection.execute(SQL["restore_head"], head.seq, head.chain)
        if recorder is not None:
            group = await _append(connection, recorder.make_records(head))
            replay.add(group)
            head = group.head
        await replay.store(connection)
    return head


async def _require_empty(connection: Connection) -> None:
    await connection.execute("SELECT FROM journal_head FOR UPDATE")
    entries = await connection.fetchval("SELECT seq FROM journal_head")
    if entries:
        raise Misconfigured(
            [f"restore: the database already has a journal with {entries} entries; restore into an empty database"]
        )


async def _append(connection: Connection, records: list[NewRecord]) -> RecordGroup:
    packed = pack(records)
    first_seq, chain = await connection.fetchrow(SQL["append"], packed.entries, packed.facts, packed.bodies)
    return RecordGroup(
        offset=0,
        first_seq=first_seq,
        record_count=len(records),
        chain=chain,
        table=packed.entries,
        facts=packed.facts,
        bodies_at=0,
        bodies_bytes=len(packed.bodies),
        end=0,
    )


async def _copy_groups(
    contents: BackupContents,
    connection: Connection,
    cut: int,
    replay: GroupReplay,
    recorder: RestoreRecorder | None,
    on_progress: Callable[[int], None],
) -> JournalHead:
    head, rows, size = EMPTY, list[tuple[Any, ...]](), 0
    for stored in contents.groups(cut):
        replay.add(stored.group._replace(offset=0, bodies_at=None if stored.bodies is None else 0, end=0))
        if recorder is not None:
            recorder.add(stored.group)
        rows.append(_row(stored))
        head, size = stored.group.head, size + len(stored.group.facts) + len(stored.bodies or b"")
        if size >= BATCH_BYTES:
            await _insert(connection, rows)
            rows, size = [], 0
            on_progress(head.seq)
    await _insert(connection, rows)
    on_progress(head.seq)
    return head


def _row(stored: StoredGroup) -> tuple[Any, ...]:
    group = stored.group
    bodies = stored.bodies if stored.bodies is not None or group.bodies_bytes else b""
    return group.first_seq, group.head.seq, group.chain, group.table, group.facts, bodies, group.bodies_bytes


async def _insert(connection: Connection, rows: list[tuple[Any, ...]]) -> None:
    await connection.copy_records_to_table("journal_group", records=rows, columns=COLUMNS, timeout=LONG_WORK_S)
