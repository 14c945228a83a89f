"""Restores a backup into a journal folder: the segments up to an entry, and the entries about the restore.

Rule: the journal gets its name last. A restore that was interrupted leaves ``journal.part``, and is repeated from the start.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shutil import rmtree
from typing import Protocol

from postroad.adapters.journal.backup.contents import BackupContents
from postroad.adapters.journal.backup.folder import JOURNAL, PART, write_durable_mark
from postroad.adapters.journal.backup.segment_writer import SegmentWriter
from postroad.adapters.journal.segments import SegmentJournal, SegmentSettings, frame
from postroad.adapters.journal.segments.catalog import segment_name
from postroad.adapters.journal.segments.files import FileSystem
from postroad.adapters.journal.segments.frame import EMPTY, RecordGroup, SegmentHeader
from postroad.ports import JournalHead, NewRecord

Progress = Callable[[int], None]  # told the last restored entry
UNFINISHED_JOURNAL = JOURNAL + PART


class RestoreRecorder(Protocol):
    """Makes the entries that follow the last restored one, from the groups that were restored."""

    def add(self, group: RecordGroup) -> None: ...

    def make_records(self, head: JournalHead) -> list[NewRecord]: ...


async def restore_journal(
    contents: BackupContents,
    data: Path,
    cut: int,
    *,
    recorder: RestoreRecorder | None,
    settings: SegmentSettings,
    on_progress: Progress = lambda seq: None,
) -> JournalHead:
    """Restore the journal into a data folder that has none; returns its head.

    Without a recorder, nothing follows the last restored entry.
    """
    unfinished = data / UNFINISHED_JOURNAL
    if unfinished.exists():
        rmtree(unfinished)
    contents.files.make_directory(unfinished)
    watch = _ignore if recorder is None else recorder.add
    head = write_segments(contents, unfinished, cut, on_progress, watch)
    if recorder is not None:
        journal = SegmentJournal.open(unfinished, settings)
        try:
            head = (await journal.append(recorder.make_records(head), reserve=True)).head
        finally:
            await journal.close()
    contents.files.rename(unfinished, data / JOURNAL)
    contents.files.sync_directory(data)
    return head


def _ignore(group: RecordGroup) -> None:
    pass


def write_segments(
    contents: BackupContents,
    target: Path,
    cut: int,
    on_progress: Progress,
    watch: Callable[[RecordGroup], None] = _ignore,
) -> JournalHead:
    """Write the segments up to an entry, synced and with their durable mark; ``watch`` is called with each group."""
    files, head = contents.files, EMPTY
    writer: SegmentWriter | None = None
    for group, bodies, segment, header in contents.groups(cut):
        if writer is None or writer.header != header:
            _finish(writer, head, on_progress)
            writer = SegmentWriter.create(files, target / segment.name, header)
        writer.append(frame.encode_stored_group(group, bodies or b"", before=head, marker=header.marker), group.head)
        head = group.head
        watch(group)
    _finish(writer, head, on_progress)
    if writer is not None and writer.header.without_bodies:
        _begin_segment(files, target, head, writer.header.marker)
    write_durable_mark(files, target, head.seq)
    return head


def _finish(writer: SegmentWriter | None, head: JournalHead, on_progress: Progress) -> None:
    if writer is not None:
        writer.publish()
        writer.close()
        on_progress(head.seq)


def _begin_segment(files: FileSystem, target: Path, head: JournalHead, marker: bytes) -> None:
    """Add an empty segment, because a journal does not continue in one without bodies."""
    header = SegmentHeader(head.seq + 1, head.chain, marker, without_bodies=False)
    _finish(SegmentWriter.create(files, target / segment_name(head.seq + 1), header), head, lambda seq: None)
