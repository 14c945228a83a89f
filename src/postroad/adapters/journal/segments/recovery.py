"""Recovers the journal at every open: finds the end of the durable part and removes what follows.

Rule: only a group that was never acknowledged may be cut, and it can only be the last one. Every other unreadable
part (damage followed by something intact, a segment that does not continue the previous one, an end before what was
acknowledged) needs an operator: the journal refuses to open and changes nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, NoReturn

from postroad.adapters.journal.segments import frame
from postroad.adapters.journal.segments.catalog import (
    FileWindow,
    OpenSegment,
    SegmentName,
    list_segments,
    list_superseded,
)
from postroad.adapters.journal.segments.files import FileSystem, write_all
from postroad.adapters.journal.segments.frame import EMPTY, SEGMENT_HEADER, RecordGroup, SegmentHeader
from postroad.adapters.journal.segments.spare_segments import WritableSegment
from postroad.adapters.journal.segments.syncing import Syncing
from postroad.errors import Misconfigured
from postroad.ports import JournalHead

ZEROS = bytes(1 << 20)


class RecoveredEnd(NamedTuple):
    """The segment and the offset at which appends continue, and the current head."""

    segment: WritableSegment
    end: int
    head: JournalHead


class _Scan(NamedTuple):
    """A segment read from its start: the last group that continues the chain, and where reading stopped."""

    last: RecordGroup | None
    end: int
    head: JournalHead


def refuse(path: Path, offset: int, what: str) -> NoReturn:
    raise Misconfigured(
        [
            f"journal: {path} at offset {offset}: {what}. Nothing was changed. Run `postroad verify` to see all of it, "
            "then restore this file and those after it from a copy, or move the journal away and start a new one."
        ]
    )


def recover(files: FileSystem, path: Path, syncing: Syncing, durable_seq: int) -> RecoveredEnd | None:
    """Prepare the directory for appends; returns None if there is no segment yet."""
    syncing.directory(path)  # a killed process may have left names that are not durable yet
    names = files.names(path)
    segments = list_segments(names)
    if not segments:
        _require_durable(path, 0, EMPTY, durable_seq)
        return None
    if len(segments) > 1:
        _require_continued(files, path, segments[-2], segments[-1])
    recovered = _recover_last(files, path / segments[-1].name, syncing, durable_seq)
    for name in list_superseded(names):
        files.unlink(path / name)
    return recovered


def _recover_last(files: FileSystem, path: Path, syncing: Syncing, durable_seq: int) -> RecoveredEnd:
    segment = _open(files, path)
    try:
        header, window = segment.header, segment.window()
        if header.without_bodies:
            refuse(path, 0, "the last segment has no room for more; the segments after it are missing")
        found = _without_torn_bodies(window, header, _scan(path, window, header))
    finally:
        segment.close()
    _require_durable(path, found.end, found.head, durable_seq)
    fd = files.open(path, writable=True)
    _wipe(files, fd, found.end)
    _write_again(files, fd, found.last)
    syncing.file(fd)
    return RecoveredEnd(WritableSegment(fd, files.size(fd), header), found.end, found.head)


def _scan(path: Path, window: FileWindow, header: SegmentHeader) -> _Scan:
    last, end, head = None, SEGMENT_HEADER.size, header.before
    while (group := frame.read_group(window, end, header)) is not None:
        if not frame.is_successor(group, head):
            refuse(path, end, f"a group is whole but does not continue the chain after record {head.seq}")
        last, end, head = group, group.end, group.head
    behind = frame.find_next_intact(window, end, header)
    if behind is not None:
        refuse(path, end, f"a group is damaged, and an intact one (record {behind.first_seq}) follows it")
    return _Scan(last, end, head)


def _without_torn_bodies(window: FileWindow, header: SegmentHeader, found: _Scan) -> _Scan:
    """Return the scan without a last group whose bodies are torn; earlier groups were synced before it."""
    if found.last is None or not any(frame.find_broken_bodies(window, found.last, header.first_seq)):
        return found
    end, head, last = SEGMENT_HEADER.size, header.before, None
    while end < found.last.offset and (group := frame.read_group(window, end, header)) is not None:
        end, head, last = group.end, group.head, group
    return _Scan(last, end, head)


def _require_durable(path: Path, end: int, head: JournalHead, durable_seq: int) -> None:
    """Refuse a journal that ends before the durable mark; the mark is set after a sync, so its group was acknowledged."""
    if head.seq < durable_seq:
        refuse(path, end, f"records {head.seq + 1} to {durable_seq} were made durable and cannot be read any more")


def _require_continued(files: FileSystem, path: Path, earlier: SegmentName, later: SegmentName) -> None:
    first, second = _open(files, path / earlier.name), _open(files, path / later.name)
    try:
        found = _scan(path / earlier.name, first.window(), first.header)
        if found.head != second.header.before:
            refuse(path / earlier.name, found.end, f"ends with record {found.head.seq}, but {later.name} follows")
    finally:
        first.close()
        second.close()


def _open(files: FileSystem, path: Path) -> OpenSegment:
    segment = OpenSegment.open(files, path)
    return refuse(path, 0, "no header of a segment that this version can read") if segment is None else segment


def _wipe(files: FileSystem, fd: int, offset: int) -> None:
    """Zero the remains of a torn group, so that the next scan ends at the same offset."""
    window = FileWindow(files, fd)
    used = len(window.at(offset, window.size - offset).rstrip(b"\0"))
    for begin in range(0, used, len(ZEROS)):
        write_all(files, fd, memoryview(ZEROS)[: used - begin], offset + begin)


def _write_again(files: FileSystem, fd: int, last: RecordGroup | None) -> None:
    """Write the last group again with the same bytes, so that it is synced with the rest.

    Its sync may have failed, which ended the process; then the group may only be in the page cache. A power cut in
    between changes nothing.
    """
    if last is not None:
        write_all(files, fd, FileWindow(files, fd).at(last.offset, last.end - last.offset), last.offset)
