"""Tries a backup: builds an index from it in a scratch folder, opens a desk, and compares both with the running index.

Rule: the backup and the network are only read, and nothing is delivered.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from postroad.adapters.desk.local import LocalDesk
from postroad.adapters.index.comparison import compare_indexes
from postroad.adapters.index.sqlite import SqliteIndex
from postroad.adapters.journal.backup.contents import BackupContents
from postroad.adapters.journal.backup.to_segments import write_segments
from postroad.adapters.journal.segments import SegmentJournal, SegmentSettings
from postroad.bootstrap.stores import INDEX_FILE, JOURNAL_FOLDER
from postroad.flow.indexing import rebuild
from postroad.ports import Clock


class BackupTrial(NamedTuple):
    """The result of a trial: entries in the index, deliveries that wait, differences, and what was compared with an index."""

    entries: int
    waiting: int
    is_compared: bool
    differences: list[str]
    compared: str = ""  # in words; empty if no index was compared


async def try_backup(
    backup: Path, scratch: Path, running_index: Path | None, clock: Clock, on_progress: Callable[[int], None]
) -> BackupTrial:
    """Restore a backup into the scratch folder, up to its end, and open it; ``running_index``: the network's, if there is one."""
    contents = BackupContents(backup)
    (scratch / JOURNAL_FOLDER).mkdir()
    write_segments(contents, scratch / JOURNAL_FOLDER, contents.manifest.entries, on_progress)
    journal = SegmentJournal.open(
        scratch / JOURNAL_FOLDER, SegmentSettings(segment_bytes=1 << 20, reserve_bytes=1 << 16)
    )
    index = SqliteIndex(scratch / INDEX_FILE)
    try:
        head = await rebuild(journal, index, lambda at: on_progress(at.seq))
        desk = LocalDesk(journal, index, clock, wait_for_entry=_wait_for_nothing)
        await desk.open()
        try:
            waiting = sum(count for _, count in await index.query("mailboxes"))
            applied = desk.applied_seq
        finally:
            await desk.close()
    finally:
        await index.close()
        await journal.close()
    differences = [] if applied == head.seq else [f"the desk opens at entry {applied} instead of {head.seq}"]
    return _compare(scratch / INDEX_FILE, running_index, BackupTrial(head.seq, waiting, False, differences))


def _compare(index: Path, running_index: Path | None, found: BackupTrial) -> BackupTrial:
    """Compare the index with that of the running network, as far as both have the same entries."""
    if running_index is None:
        return found
    compared = compare_indexes(index, running_index)
    return found._replace(
        is_compared=True, compared=compared.scope, differences=found.differences + compared.differences
    )


async def _wait_for_nothing(seq: int) -> None:
    """Return at once: the index is complete before the desk opens."""
