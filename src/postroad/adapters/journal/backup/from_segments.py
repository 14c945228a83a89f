"""Copies a journal in segment files into a backup, beside the server that writes it.

Rules: nothing is locked; the durable mark is read first, and only groups up to it are copied. Every group is checked against
the chain before it is copied. A sealed segment never changes, so on the same file system it gets a second name instead of a
copy; the last segment of a backup is always a copy, because a server that opens the backup writes there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

from postroad.adapters.journal.backup.folder import PART, BackupFolder, other_history_error, require_same_history
from postroad.adapters.journal.backup.manifest import (
    BackupManifest,
    BackupSegment,
    DueSegment,
    find_due_segments,
    identify_network,
)
from postroad.adapters.journal.backup.segment_writer import SegmentWriter, digest_file
from postroad.adapters.journal.segments import frame
from postroad.adapters.journal.segments.catalog import DURABLE_NAME, OpenSegment, list_segments
from postroad.adapters.journal.segments.frame import EMPTY
from postroad.adapters.journal.segments.reader import SegmentReader
from postroad.errors import Misconfigured, Unavailable
from postroad.ports import JournalHead

MAX_LISTINGS = 5  # retention replaces each segment at most once, so a second listing usually suffices


class BackupProgress(NamedTuple):
    """The last entry in the backup, that of the journal, and the bytes that this run has written."""

    entries: int
    of_entries: int
    copied_bytes: int


class SegmentBackup:
    """Brings a backup up to a journal's durable mark, as often as ``copy`` is called."""

    def __init__(self, source: Path, folder: BackupFolder) -> None:
        self._source = source
        self._folder = folder
        self._files = folder.files
        self._growing: SegmentWriter | None = None  # the last segment, kept open because it grows
        self._copied_bytes = 0

    def open(self) -> str:
        """Check that the backup is one of this journal, and return the network's identification."""
        journal = SegmentReader(self._source, self._files)
        try:
            first = journal.read_sync(0, 1).records
            if not first:
                raise Misconfigured([f"backup: the journal in {self._source} is empty; there is nothing to copy yet"])
            network = identify_network(first[0].facts)
            entries = self._folder.manifest.entries
            require_same_history(self._folder, network, journal.read_sync(entries - 1, 1).head if entries else EMPTY)
        finally:
            journal.close()
        self._folder.remove_unfinished()
        return network

    def copy(self, manifest: BackupManifest) -> Iterator[BackupProgress]:
        """Copy everything that is durable now; the backup is committed about once a second, and at the end."""
        durable_seq = self._read_durable_mark()
        if durable_seq < manifest.entries:
            raise other_history_error(self._folder)
        for _ in range(MAX_LISTINGS):
            try:
                yield from self._copy_due(manifest, durable_seq)
            except FileNotFoundError:  # retention has replaced a segment since the listing
                self._folder.remove_unfinished()
                manifest = self._folder.manifest
                continue
            return
        raise Unavailable("storage.failed", f"segments of {self._source} disappear while they are copied; try again")

    def close(self) -> None:
        if self._growing is not None:
            self._growing.close()

    def _read_durable_mark(self) -> int:
        """Return the last durable entry; opened each time, because the folder may be another journal's by now."""
        mark = self._files.counter(self._source / DURABLE_NAME, writable=False)
        try:
            return mark.get()
        finally:
            mark.close()

    def _copy_due(self, manifest: BackupManifest, durable_seq: int) -> Iterator[BackupProgress]:
        segments = list_segments(self._files.names(self._source))
        for due in find_due_segments(segments, durable_seq, manifest):
            manifest = manifest.with_segments([self._copy_segment(due, manifest)])
            if self._folder.is_commit_due:
                self._folder.commit(manifest)
            yield BackupProgress(manifest.entries, durable_seq, self._copied_bytes)
        if manifest.segments != self._folder.manifest.segments:
            self._folder.commit(manifest)

    def _copy_segment(self, due: DueSegment, manifest: BackupManifest) -> BackupSegment:
        path = self._source / due.name.name
        source = OpenSegment.open(self._files, path)
        if source is None:
            _refuse_damage(path, 0, due.name.first_seq)
        try:
            before = _head_before(due.name.first_seq, manifest)
            if before is not None and source.header.before != before:
                _refuse_damage(path, 0, due.name.first_seq)
            known = manifest.find(due.name.first_seq)
            if due.is_followed and known is None:
                linked = self._link(source, due)
                if linked is not None:
                    return linked
            return self._extend(self._writer(source, due, known), source, due)
        finally:
            source.close()

    def _link(self, source: OpenSegment, due: DueSegment) -> BackupSegment | None:
        """Give the sealed segment a name in the backup; None where the file systems do not support it."""
        head = source.header.before
        target = self._folder.journal / due.name.name
        part = target.with_name(target.name + PART)
        if not self._files.link(self._source / due.name.name, part):
            return None
        try:
            for group in _checked_groups(source, self._source, head, due.last):
                head = group.head
            size = self._files.size(source.fd)
            digest = digest_file(self._files, source.fd, size).hexdigest()
            self._files.rename(part, target)
        except BaseException:
            with suppress(OSError):
                self._files.unlink(part)
            raise
        return BackupSegment(
            name=due.name.name,
            bytes=size,
            sha256=digest,
            first=due.name.first_seq,
            last=head.seq,
            chain=head.chain.hex(),
        )

    def _writer(self, source: OpenSegment, due: DueSegment, known: BackupSegment | None) -> SegmentWriter:
        """Return the writer that continues the segment in the backup, or begins it."""
        growing, self._growing = self._growing, None
        if growing is not None and growing.header == source.header:
            return growing
        if growing is not None:
            growing.close()
        path = self._folder.journal / due.name.name
        if known is not None and known.name == due.name.name:
            resumed = SegmentWriter.resume(self._files, path, known)
            if resumed is not None and resumed.header == source.header:
                return resumed
            if resumed is not None:
                resumed.close()
        return SegmentWriter.create(self._files, path, source.header)

    def _extend(self, writer: SegmentWriter, source: OpenSegment, due: DueSegment) -> BackupSegment:
        try:
            window = source.window()
            for group in _checked_groups(source, self._source, writer.head, due.last, writer.end):
                writer.append(window.at(group.offset, group.end - group.offset), group.head)
                self._copied_bytes += group.end - group.offset
            done = writer.publish()
        except BaseException:
            writer.abandon()
            raise
        if due.is_followed:
            writer.close()
        else:
            self._growing = writer
        return done


def _head_before(first_seq: int, manifest: BackupManifest) -> JournalHead | None:
    """Return the backup's head before a segment, as far as the backup has got."""
    return next((one.head for one in manifest.segments if one.last == first_seq - 1), None)


def _checked_groups(
    source: OpenSegment, folder: Path, head: JournalHead, last_seq: int, offset: int = frame.SEGMENT_HEADER.size
) -> Iterator[frame.RecordGroup]:
    """Yield the groups up to an entry; raises Unavailable if one cannot be read or does not continue the chain."""
    window = source.window()
    while head.seq < last_seq:
        group = frame.read_group(window, offset, source.header)
        if group is None or not frame.is_successor(group, head):
            _refuse_damage(folder / source.name, offset, head.seq + 1)
        yield group
        offset, head = group.end, group.head


def _refuse_damage(path: Path, offset: int, seq: int) -> NoReturn:
    detail = (
        f"{path} at offset {offset}: record {seq} is durable and cannot be read, or is not the one that was written"
    )
    raise Unavailable("storage.damaged", f"{detail}; run `postroad verify`. The backup ends before it and is intact")
