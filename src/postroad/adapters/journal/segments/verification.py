"""Verifies the whole journal and reports every difference from what was written.

Rule: verify changes nothing, continues after an error, and trusts no number that it can recompute. The rest of a journal
does not show a missing end: it is detected by the durable mark and by the head in the index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from postroad.adapters.journal.segments import frame
from postroad.adapters.journal.segments.catalog import (
    DURABLE_NAME,
    FileWindow,
    OpenSegment,
    SegmentName,
    list_segments,
    segment_name,
)
from postroad.adapters.journal.segments.files import FileSystem, RealFiles
from postroad.adapters.journal.segments.frame import EMPTY, SEGMENT_HEADER, RecordGroup
from postroad.ports import JournalHead

PROGRESS_EVERY_BYTES = 8 << 20


class VerificationProgress(NamedTuple):
    """Progress of a verification."""

    done_bytes: int
    total_bytes: int
    seq: int
    chain: bytes = b""  # the chain value after that entry


class JournalDefect(NamedTuple):
    """A difference from what was written. ``kind`` is changed, missing, repeated or truncated."""

    kind: str
    file: str
    offset: int
    seq: int
    detail: str


class KnownHeads:
    """Heads that the journal must contain: that of the index, and those recorded elsewhere."""

    def __init__(self, index: JournalHead | None, noted: Sequence[JournalHead]) -> None:
        named = [(head, "noted") for head in noted] + ([(index, "in the index")] if index else [])
        self._due = sorted(named, key=lambda one: one[0].seq, reverse=True)
        self.last_seq = self._due[0][0].seq if self._due else 0

    def contradict(self, first_seq: int, head: JournalHead) -> Iterator[tuple[int, str]]:
        """Yield the known heads within a group that have another chain value, each with its entry number and a reason."""
        while self._due and self._due[-1][0].seq <= head.seq:
            expected, where = self._due.pop()
            if expected.seq and first_seq <= expected.seq and expected != head:
                yield (
                    expected.seq,
                    f"the chain at record {expected.seq} is not the one {where}: the history was rewritten",
                )


def verify(
    path: Path,
    expected_head: JournalHead | None = None,
    files: FileSystem | None = None,
    noted: Sequence[JournalHead] = (),
) -> Iterator[VerificationProgress | JournalDefect]:
    """Check every segment in order; yields progress, and each defect with its location.

    ``expected_head`` is the index's head; ``noted`` are heads that were recorded elsewhere.
    """
    return _Verification(files or RealFiles(), path, KnownHeads(expected_head, noted)).run()


class _Verification:
    """The state of a verification; ``_head`` is the head that the next group must continue."""

    def __init__(self, files: FileSystem, path: Path, witnesses: KnownHeads) -> None:
        self._files = files
        self._path = path
        self._witnesses = witnesses
        self._head = EMPTY
        self._done_bytes = 0
        self._total_bytes = 0

    def run(self) -> Iterator[VerificationProgress | JournalDefect]:
        durable_seq = self._read_durable_mark()  # before the listing: a journal in use may grow meanwhile
        segments = list_segments(self._files.names(self._path))
        self._total_bytes = sum(self._files.size_of(self._path / segment.name) for segment in segments)
        for segment in segments:
            yield from self._segment(segment, durable_seq if segment is segments[-1] else None)
            yield VerificationProgress(self._done_bytes, self._total_bytes, *self._head)
        yield from self._end(segments[-1].name if segments else self._path.name, durable_seq)

    def _read_durable_mark(self) -> int | None:
        try:
            mark = self._files.counter(self._path / DURABLE_NAME, writable=False)
        except (FileNotFoundError, ValueError):  # a copy without the mark, or with an empty file as the mark
            return None
        try:
            return mark.get()
        finally:
            mark.close()

    def _segment(self, name: SegmentName, durable_seq: int | None) -> Iterator[VerificationProgress | JournalDefect]:
        try:
            segment = OpenSegment.open(self._files, self._path / name.name)
        except FileNotFoundError:  # retention has replaced it with its shorter form meanwhile
            name = SegmentName(name.first_seq, segment_name(name.first_seq, without_bodies=True))
            segment = OpenSegment.open(self._files, self._path / name.name)
        if segment is None:
            yield JournalDefect("changed", name.name, 0, name.first_seq, "the segment's header cannot be read")
            return
        try:
            yield from self._begin(name, segment)
            yield from self._groups(segment, durable_seq)
        except OSError as error:
            yield JournalDefect(
                "changed", name.name, 0, self._head.seq + 1, f"the disk cannot read the segment: {error}"
            )
        finally:
            segment.close()

    def _begin(self, name: SegmentName, segment: OpenSegment) -> Iterator[JournalDefect]:
        header = segment.header
        if header.first_seq != name.first_seq or header.without_bodies != name.without_bodies:
            yield JournalDefect(
                "changed", name.name, 0, header.first_seq, "the segment's header belongs to another name"
            )
        yield from self._step(name.name, 0, header.first_seq)
        if header.first_seq == self._head.seq + 1 and header.chain != self._head.chain:
            yield JournalDefect(
                "changed", name.name, 0, header.first_seq, "the segment does not continue the chain before it"
            )
        self._head = header.before

    def _groups(self, segment: OpenSegment, durable_seq: int | None) -> Iterator[VerificationProgress | JournalDefect]:
        window, offset, shown = segment.window(), SEGMENT_HEADER.size, 0
        while (group := self._next_group(window, offset, segment, durable_seq)) is not None:
            if group.offset > offset:
                yield JournalDefect("changed", segment.name, offset, self._head.seq + 1, "a group is damaged")
            yield from self._group(segment, window, group, durable_seq)
            offset = group.end
            if offset - shown >= PROGRESS_EVERY_BYTES:
                shown = offset
                yield VerificationProgress(self._done_bytes + offset, self._total_bytes, self._head.seq)
        yield from self._rest(segment, window, offset, durable_seq)
        self._done_bytes += window.size

    def _next_group(
        self, window: FileWindow, offset: int, segment: OpenSegment, durable_seq: int | None
    ) -> RecordGroup | None:
        """Return the group here or, after damage, the next intact one; undurable groups may be unreadable."""
        group = frame.read_group(window, offset, segment.header)
        if group is None and (durable_seq is None or self._head.seq < durable_seq):
            return frame.find_next_intact(window, offset, segment.header)
        return group

    def _group(
        self, segment: OpenSegment, window: FileWindow, group: RecordGroup, durable_seq: int | None
    ) -> Iterator[JournalDefect]:
        yield from self._step(segment.name, group.offset, group.first_seq)
        if group.first_seq == self._head.seq + 1 and not frame.is_successor(group, self._head):
            yield JournalDefect(
                "changed", segment.name, group.offset, group.first_seq, "the group is not the one in the chain"
            )
        if not frame.has_consistent_lengths(group):
            yield JournalDefect(
                "changed", segment.name, group.offset, group.first_seq, "the group's lengths do not add up"
            )
        elif durable_seq is None or group.head.seq <= durable_seq:  # a later one may not be synced yet
            for record in frame.find_broken_bodies(window, group, segment.header.first_seq):
                at = record.body.offset if record.body else 0
                yield JournalDefect("changed", segment.name, at, record.seq, "the body is not the one that was written")
        self._head = group.head
        yield from self._compare(segment.name, group)

    def _step(self, name: str, offset: int, first_seq: int) -> Iterator[JournalDefect]:
        due = self._head.seq + 1
        if first_seq > due:
            yield JournalDefect(
                "missing", name, offset, due, f"records {due} to {first_seq - 1} are missing before this place"
            )
        elif first_seq < due:
            yield JournalDefect(
                "repeated", name, offset, first_seq, f"record {first_seq} is repeated after record {due - 1}"
            )

    def _compare(self, name: str, group: RecordGroup) -> Iterator[JournalDefect]:
        for seq, detail in self._witnesses.contradict(group.first_seq, group.head):
            yield JournalDefect("changed", name, group.offset, seq, detail)

    def _rest(
        self, segment: OpenSegment, window: FileWindow, offset: int, durable_seq: int | None
    ) -> Iterator[JournalDefect]:
        """Check the bytes after the last group: zeros or, in the last segment only, a group that was never acknowledged."""
        unfinished = durable_seq is not None and self._head.seq >= durable_seq
        if not unfinished and window.at(offset, window.size - offset).strip(b"\0"):
            yield JournalDefect(
                "changed", segment.name, offset, self._head.seq + 1, "a group is damaged, none follows it here"
            )

    def _end(self, name: str, durable_seq: int | None) -> Iterator[JournalDefect]:
        known = max(durable_seq or 0, self._witnesses.last_seq)
        if known > self._head.seq:
            detail = f"records {self._head.seq + 1} to {known} were durable and are missing at the end"
            yield JournalDefect("truncated", name, 0, self._head.seq + 1, detail)
