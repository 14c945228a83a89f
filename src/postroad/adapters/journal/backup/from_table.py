"""Copies the PostgreSQL journal into a backup, as segment files with the same groups and the same chain.

Rules: a group is checked against the chain before it is written. A segment has the bodies of all its groups or of none, so
a new one begins where retention has dropped bodies. Bodies that retention drops from the table later are dropped from the
backup when it is opened and every minute. A segment that still grows is ended when its first bodies are dropped.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from typing import NoReturn

from postroad.adapters.journal.backup.folder import BackupFolder, require_same_history
from postroad.adapters.journal.backup.from_segments import BackupProgress
from postroad.adapters.journal.backup.manifest import BackupManifest, BackupSegment, identify_network
from postroad.adapters.journal.backup.segment_writer import SegmentWriter, digest_file
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.segments import frame
from postroad.adapters.journal.segments.catalog import BODILESS, SegmentName, segment_name
from postroad.adapters.journal.segments.frame import EMPTY, RecordGroup, SegmentHeader
from postroad.adapters.journal.segments.retention import write_without_bodies
from postroad.adapters.journal.segments.syncing import Syncing
from postroad.errors import Misconfigured, Unavailable
from postroad.ports import JournalHead

SEGMENT_BYTES = 64 << 20
DROP_EVERY_S = 60.0


class TableBackup:
    """Brings a backup up to the head of a PostgreSQL journal, as often as ``copy`` is called."""

    def __init__(self, journal: PostgresJournal, folder: BackupFolder, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._journal = journal
        self._folder = folder
        self._files = folder.files
        self._segment_bytes = segment_bytes
        self._writer: SegmentWriter | None = None
        self._copied_bytes = 0
        self._dropped_at = 0.0

    async def open(self) -> str:
        """Check that the backup is one of this journal, and return the network's identification."""
        first = (await self._journal.read(0, 1)).records
        if not first:
            raise Misconfigured(["backup: the journal in PostgreSQL is empty; there is nothing to copy yet"])
        network = identify_network(first[0].facts)
        entries = self._folder.manifest.entries
        found = (await self._journal.read(entries - 1, 1)).head if entries else EMPTY
        require_same_history(self._folder, network, found)
        self._folder.remove_unfinished()
        self._resume()
        await self._drop_bodies(self._folder.manifest)
        return network

    async def copy(self, manifest: BackupManifest) -> AsyncIterator[BackupProgress]:
        """Copy everything up to the head as it is now; the backup is committed about once a second, and at the end."""
        if time.monotonic() - self._dropped_at >= DROP_EVERY_S:
            manifest = await self._drop_bodies(manifest)
        end = await self._journal.head()
        if manifest.entries >= end.seq:
            return
        try:
            async for reached in self._copy_groups(manifest, end):
                yield reached
        except BaseException:
            self._abandon()
            raise

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    async def _copy_groups(self, manifest: BackupManifest, end: JournalHead) -> AsyncIterator[BackupProgress]:
        head = manifest.head
        async for group, bodies in self._journal.groups(head.seq):
            if group.first_seq > end.seq:
                break
            _require_next(group, head)
            if (sealed := self._make_room(group, bodies)) is not None:
                manifest = manifest.with_segments([sealed])
            self._write(group, bodies, head)
            head = group.head
            if self._folder.is_commit_due:
                manifest = self._commit(manifest)
                yield BackupProgress(manifest.entries, end.seq, self._copied_bytes)
        manifest = self._commit(manifest)
        yield BackupProgress(manifest.entries, end.seq, self._copied_bytes)

    def _abandon(self) -> None:
        if self._writer is not None:
            self._writer.abandon()
            self._writer = None

    def _resume(self) -> None:
        """Continue the last segment, if it still is what the manifest lists and has room."""
        last = self._folder.manifest.segments[-1:]
        if last and last[0].bytes < self._segment_bytes:
            self._writer = SegmentWriter.resume(self._files, self._folder.journal / last[0].name, last[0])

    def _make_room(self, group: RecordGroup, bodies: bytes | None) -> BackupSegment | None:
        """Open a writer for the group; returns the segment that this completes."""
        is_dropped = bodies is None and group.bodies_bytes > 0
        writer, sealed = self._writer, None
        if writer is not None:
            fits = writer.end < self._segment_bytes and (
                writer.header.without_bodies == is_dropped or not group.bodies_bytes
            )
            if fits:
                return None
            sealed = writer.publish()
            writer.close()
        before = JournalHead(group.first_seq - 1, sealed.head.chain if sealed else self._folder.manifest.head.chain)
        header = SegmentHeader(group.first_seq, before.chain, os.urandom(8), without_bodies=is_dropped)
        path = self._folder.journal / segment_name(group.first_seq, without_bodies=is_dropped)
        self._writer = SegmentWriter.create(self._files, path, header)
        return sealed

    def _write(self, group: RecordGroup, bodies: bytes | None, before: JournalHead) -> None:
        if self._writer is None:
            raise RuntimeError("a group is written after room was made for it")
        stored = b"" if self._writer.header.without_bodies else bodies or b""
        data = frame.encode_stored_group(group, stored, before=before, marker=self._writer.header.marker)
        self._writer.append(data, group.head)
        self._copied_bytes += len(data)

    def _commit(self, manifest: BackupManifest) -> BackupManifest:
        if self._writer is not None:
            manifest = manifest.with_segments([self._writer.publish()])
        self._folder.commit(manifest)
        return manifest

    async def _drop_bodies(self, manifest: BackupManifest) -> BackupManifest:
        """Drop bodies from segments of the backup that the journal has dropped; returns the manifest that lists them."""
        first_kept = await self._journal.first_with_bodies()
        self._dropped_at = time.monotonic()
        self._end_segment(first_kept)
        rewritten = [
            self._rewrite(segment)
            for segment in manifest.segments
            if segment.last < first_kept and not segment.name.endswith(BODILESS)
        ]
        if rewritten:
            manifest = manifest.with_segments(rewritten)
            self._folder.commit(manifest)
        return manifest

    def _end_segment(self, first_kept: int) -> None:
        """Let the next group begin a segment if bodies of the last one were dropped, so that it can lose them all."""
        writer = self._writer
        if writer is not None and not writer.header.without_bodies and writer.header.first_seq < first_kept:
            writer.close()
            self._writer = None

    def _rewrite(self, segment: BackupSegment) -> BackupSegment:
        name = SegmentName(segment.first, segment.name)
        write_without_bodies(self._files, self._folder.journal, Syncing(self._files, _fail), name, segment.last)
        bodiless = segment_name(segment.first, without_bodies=True)
        fd = self._files.open(self._folder.journal / bodiless, writable=False)
        try:
            size = self._files.size(fd)
            digest = digest_file(self._files, fd, size).hexdigest()
        finally:
            self._files.close(fd)
        return BackupSegment(
            name=bodiless, bytes=size, sha256=digest, first=segment.first, last=segment.last, chain=segment.chain
        )


def _require_next(group: RecordGroup, head: JournalHead) -> None:
    if not frame.is_successor(group, head) or not frame.has_consistent_lengths(group):
        raise Unavailable(
            "storage.damaged",
            f"the group at record {group.first_seq} in the table journal_group does not continue the chain after record "
            f"{head.seq}; run `postroad verify`. The backup ends before it and is intact",
        )


def _fail(reason: str) -> NoReturn:
    raise OSError(reason)
