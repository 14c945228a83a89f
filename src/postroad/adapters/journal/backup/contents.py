"""Reads a backup: its groups in order, up to any entry, each checked against the chain, and its bodies against their digests.

Rule: a cut inside a group keeps the group's first records. Each record is one complete step of the flow, so the result is a
journal that could have existed; only its chain value after the cut is a new one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn

from postroad.adapters.journal.backup.folder import JOURNAL, read_manifest
from postroad.adapters.journal.backup.manifest import MANIFEST, BackupManifest, BackupSegment
from postroad.adapters.journal.segments import frame
from postroad.adapters.journal.segments.catalog import BODILESS, OpenSegment
from postroad.adapters.journal.segments.files import FileSystem, RealFiles
from postroad.adapters.journal.segments.frame import EMPTY, SEGMENT_HEADER, RecordGroup, SegmentHeader
from postroad.core.model.journal import decode
from postroad.errors import Misconfigured, Unavailable
from postroad.ports import JournalHead


class StoredGroup(NamedTuple):
    """A group of a backup, with its bodies (None where they were dropped) and the segment that contains it."""

    group: RecordGroup
    bodies: bytes | None
    segment: BackupSegment
    header: SegmentHeader


class BackupContents:
    """A backup open for reading; raises Misconfigured if the folder is none."""

    def __init__(self, path: Path, files: FileSystem | None = None) -> None:
        self.path = path
        self.files = files or RealFiles()
        self.manifest = load_manifest(path, self.files)

    def groups(self, last_seq: int) -> Iterator[StoredGroup]:
        """Yield all groups up to an entry, the last one cut after it if necessary."""
        head = EMPTY
        for segment in self.manifest.segments:
            if segment.first > last_seq:
                break
            for stored in self._segment(segment, head, min(last_seq, segment.last)):
                head = stored.group.head
                yield stored
            if head.seq != min(last_seq, segment.last):
                self._refuse(segment, f"ends at record {head.seq} instead of {segment.last}")

    def find_last_entry(self, until_us: int) -> int:
        """Return the last entry before the first one that is later than this time; 0 if the first one is."""
        for stored in self.groups(self.manifest.entries):
            for seq, facts, _ in frame.iter_records(stored.group, stored.group.first_seq):
                if decode(facts).at_us > until_us:
                    return seq - 1
        return self.manifest.entries

    def _segment(self, segment: BackupSegment, head: JournalHead, last_seq: int) -> Iterator[StoredGroup]:
        opened = self._open(segment)
        try:
            if opened.header.before != head:
                self._refuse(segment, f"does not continue the chain after record {head.seq}")
            window, offset = opened.window(), SEGMENT_HEADER.size
            while head.seq < last_seq:
                group = frame.read_group(window, offset, opened.header)
                if group is None or not frame.is_successor(group, head) or not frame.has_consistent_lengths(group):
                    self._refuse(
                        segment, f"the group at offset {offset}, record {head.seq + 1}, is not the one written"
                    )
                if any(frame.find_broken_bodies(window, group, segment.first)):
                    self._refuse(segment, f"a body of the group at offset {offset} is not the one that was written")
                bodies = None if group.bodies_at is None else window.at(group.bodies_at, group.bodies_bytes)
                offset = group.end
                if group.head.seq > last_seq:
                    group = cut_group(group, head, last_seq - head.seq)
                    bodies = bodies[: group.bodies_bytes] if bodies is not None else None
                head = group.head
                yield StoredGroup(group, bodies, segment, opened.header)
        finally:
            opened.close()

    def _open(self, segment: BackupSegment) -> OpenSegment:
        path = self.path / JOURNAL / segment.name
        try:
            opened = OpenSegment.open(self.files, path)
        except FileNotFoundError:
            self._refuse(segment, "is missing")
        if opened is None:
            self._refuse(segment, "has a header that cannot be read")
        if opened.header.without_bodies != segment.name.endswith(BODILESS):
            self._refuse(segment, "has a header that belongs to another name")
        return opened

    def _refuse(self, segment: BackupSegment, what: str) -> NoReturn:
        detail = f"{self.path / JOURNAL / segment.name}: {what}; run `postroad backup verify {self.path}`"
        raise Unavailable("storage.damaged", f"{detail}, and use another copy of the backup")


def load_manifest(path: Path, files: FileSystem) -> BackupManifest:
    """Return the manifest; raises Misconfigured if the folder has none."""
    manifest = read_manifest(path, files)
    if manifest is None:
        detail = f"{path} has no {MANIFEST}, so it is not a complete backup; a plain copy of a data folder is used with --data"
        raise Misconfigured([f"backup: {detail}"])
    return manifest


def cut_group(group: RecordGroup, before: JournalHead, count: int) -> RecordGroup:
    """Return a group of the first records, with the chain value that it has after ``before``."""
    first = frame.take_first_records(group, count)
    chain = frame.chain_value(before.chain, first.first_seq, count, first.table, first.facts)
    return first._replace(chain=chain)
