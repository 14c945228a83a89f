"""Reads the journal, in the process that writes it or in any other.

Rules: nothing is visible before it is durable. A reader follows the durable mark, not the bytes that it could already
read. One reader belongs to one thread. Group marks map each segment coarsely from record number to offset, so that any
record is found quickly; a mark is only a position at which reading may begin, and losing one costs time.
"""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from postroad.adapters.journal.segments import frame
from postroad.adapters.journal.segments.catalog import (
    DURABLE_NAME,
    OpenSegment,
    SegmentName,
    list_segments,
    segment_holding,
)
from postroad.adapters.journal.segments.files import FileSystem, RealFiles
from postroad.adapters.journal.segments.frame import EMPTY, SEGMENT_HEADER, RecordGroup
from postroad.errors import Misconfigured, Unavailable
from postroad.ports import BodyAt, JournalBatch, JournalHead, JournalRecord

EVERY_BYTES = 16 << 10
REMEMBERED_SEGMENTS = 256  # with 64 MiB segments, 64 KB of marks for each


class _SegmentMarks:
    """The first record and the offset of some groups, in order."""

    __slots__ = ("offsets", "seqs")

    def __init__(self) -> None:
        self.seqs = array("Q")
        self.offsets = array("Q")


class GroupMarks:
    """The marks of the most recently read segments."""

    def __init__(self) -> None:
        self._segments: OrderedDict[str, _SegmentMarks] = OrderedDict()

    def note(self, name: str, first_seq: int, offset: int) -> None:
        """Remember a group, unless one close before it is known; groups of a segment come in order."""
        marks = self._segments.get(name)
        if marks is None:
            marks = self._segments[name] = _SegmentMarks()
            if len(self._segments) > REMEMBERED_SEGMENTS:
                self._segments.popitem(last=False)
        if not marks.offsets or offset >= marks.offsets[-1] + EVERY_BYTES:
            marks.seqs.append(first_seq)
            marks.offsets.append(offset)

    def offset_before(self, name: str, seq: int) -> int:
        """Return the offset of a group at or before the one that contains ``seq``."""
        marks = self._segments.get(name)
        if marks is None:
            return SEGMENT_HEADER.size
        self._segments.move_to_end(name)
        index = bisect_right(marks.seqs, seq) - 1
        return marks.offsets[index] if index >= 0 else SEGMENT_HEADER.size


OPEN_SEGMENTS = 32
REMEMBERED_PLACES = 16


class _Place(NamedTuple):
    """The position of the record after a given one."""

    name: str
    offset: int


class SegmentReads:
    """Provides ``read`` and ``body`` over a directory of segments, up to ``durable_seq``."""

    def __init__(self, files: FileSystem, path: Path, durable_seq: Callable[[], int]) -> None:
        self._files = files
        self._path = path
        self._durable_seq = durable_seq
        self._segments: list[SegmentName] = []
        self._by_first_seq: dict[int, SegmentName] = {}
        self._open: OrderedDict[str, OpenSegment] = OrderedDict()
        self._places: OrderedDict[int, _Place] = OrderedDict()  # where sequential reads continue
        self._marks = GroupMarks()
        self.look_again()

    def read(self, after_seq: int, limit_bytes: int = 4 << 20) -> JournalBatch | None:
        """Read records after ``after_seq`` as ``Journal.read`` does; None if there are no new ones."""
        try:
            return self._read(after_seq, limit_bytes)
        except OSError as error:
            raise _damaged(self._path, 0, f"the disk cannot read what follows record {after_seq} ({error})") from error

    def _read(self, after_seq: int, limit_bytes: int) -> JournalBatch | None:
        found: list[JournalRecord] = []
        size, head = 0, EMPTY
        for group, segment in self.groups(after_seq):
            found.extend(frame.iter_records(group, segment.header.first_seq, after_seq))
            size, head = size + len(group.facts), group.head
            self._remember(head.seq, _Place(segment.name, group.end))
            if size >= limit_bytes:
                break
        return JournalBatch(found, head) if found else None

    def body(self, at: BodyAt) -> bytes | None:
        try:
            return self._body(at)
        except OSError as error:
            raise _damaged(self._path, at.offset, f"the disk cannot read a body ({error})") from error

    def _body(self, at: BodyAt) -> bytes | None:
        if at.segment not in self._by_first_seq:
            self.look_again()  # the segment is newer than the last listing
        segment = self._segment_with(at.segment)
        if segment.header.without_bodies:
            return None if at.length else b""
        data = self._files.pread(segment.fd, at.length, at.offset)
        if hashlib.sha256(data).digest() != at.digest:
            raise _damaged(self._path / segment.name, at.offset, "a body is not the one that was written")
        return data

    def groups(self, after_seq: int) -> Iterator[tuple[RecordGroup, OpenSegment]]:
        """Yield the durable groups with records after ``after_seq``, across segments."""
        durable_seq, seq = self._durable_seq(), after_seq + 1
        looked_again = False
        while seq <= durable_seq:
            segment, offset = self._find(seq)
            window, before = segment.window(), seq
            while seq <= durable_seq and (group := frame.read_group(window, offset, segment.header)) is not None:
                self._marks.note(segment.name, group.first_seq, group.offset)
                offset = group.end
                if group.head.seq >= seq:
                    seq = group.head.seq + 1
                    yield group, segment
            if seq == before and looked_again:
                raise _damaged(self._path / segment.name, offset, f"record {seq} is durable and cannot be read")
            if looked_again := seq == before:
                self.look_again()  # the record is in a segment that is newer than the last listing

    def head_before(self, seq: int) -> JournalHead:
        """Return a head at or before record ``seq`` without reading a group: that of the record's segment."""
        return self._segment_with(seq).header.before

    def look_again(self) -> None:
        """List the directory again, and close files that are no longer part of the journal."""
        self._segments = list_segments(self._files.names(self._path))
        self._by_first_seq = {segment.first_seq: segment for segment in self._segments}
        known = {segment.name for segment in self._segments}
        for name in [name for name in self._open if name not in known]:
            self._open.pop(name).close()

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def _find(self, seq: int) -> tuple[OpenSegment, int]:
        """Return the segment that contains ``seq``, and an offset in it at or before that record's group."""
        place = self._places.get(seq - 1)
        if place is not None and not self._begins_segment(seq):
            with suppress(FileNotFoundError):
                return self._opened(place.name), place.offset
        segment = self._segment_with(seq)
        return segment, self._marks.offset_before(segment.name, seq)

    def _begins_segment(self, seq: int) -> bool:
        """Whether the remembered position of ``seq`` is the end of a segment that has been sealed since."""
        return seq in self._by_first_seq

    def _segment_with(self, seq: int) -> OpenSegment:
        for _ in range(3):  # retention may replace the file between the listing and the opening
            holding = self._by_first_seq.get(seq) or segment_holding(self._segments, seq)
            if holding is not None:
                with suppress(FileNotFoundError):
                    return self._opened(holding.name)
            self.look_again()
        raise _damaged(self._path, 0, f"the segment that holds record {seq} is missing")

    def _opened(self, name: str) -> OpenSegment:
        segment = self._open.get(name)
        if segment is None:
            segment = OpenSegment.open(self._files, self._path / name)
            if segment is None:
                raise _damaged(self._path / name, 0, "the header of the segment cannot be read")
            self._open[name] = segment
        self._open.move_to_end(name)
        if len(self._open) > OPEN_SEGMENTS:
            self._open.popitem(last=False)[1].close()
        return segment

    def _remember(self, seq: int, place: _Place) -> None:
        self._places[seq] = place
        if len(self._places) > REMEMBERED_PLACES:
            self._places.popitem(last=False)


class SegmentReader:
    """The journal of another process, read-only, up to its durable mark."""

    def __init__(self, path: Path, files: FileSystem | None = None) -> None:
        files = files or RealFiles()
        try:
            self._durable = files.counter(path / DURABLE_NAME, writable=False)
        except (FileNotFoundError, ValueError):  # missing, or empty after a power cut
            raise Misconfigured([f"journal: not found at {path}; start the server that writes it first"]) from None
        self._reads = SegmentReads(files, path, self._durable.get)
        self._head = EMPTY

    async def read(self, after_seq: int, limit_bytes: int = 4 << 20) -> JournalBatch:
        return self.read_sync(after_seq, limit_bytes)

    async def body(self, at: BodyAt) -> bytes | None:
        return self.body_sync(at)

    async def head(self) -> JournalHead:
        return self.head_sync()

    def read_sync(self, after_seq: int, limit_bytes: int = 4 << 20) -> JournalBatch:
        return self._reads.read(after_seq, limit_bytes) or JournalBatch([], self.head_sync())

    def body_sync(self, at: BodyAt) -> bytes | None:
        return self._reads.body(at)

    def head_sync(self) -> JournalHead:
        durable_seq = self._durable.get()
        if durable_seq > self._head.seq:
            self._head = max(self._head, self._reads.head_before(durable_seq), key=lambda head: head.seq)
        for group, _ in self._reads.groups(self._head.seq):
            self._head = group.head
        return self._head

    def durable_seq(self) -> int:
        """Return the number of the last durable record; cheap enough for a thousand calls a second."""
        return self._durable.get()

    def close(self) -> None:
        self._reads.close()
        self._durable.close()


def _damaged(path: Path, offset: int, what: str) -> Unavailable:
    detail = f"{path} at offset {offset}: {what}; run `postroad verify`, then restore the file from a copy"
    return Unavailable("storage.damaged", detail, retry_after_s=60)
