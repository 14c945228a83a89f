"""Drops bodies and keeps facts: rewrites a sealed segment without bodies and replaces the old file.

Rule: at every moment, even after a crash in this module, the directory contains each segment completely, in at least
one of its two forms. The chain covers facts and digests, so it is the same before and after.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from postroad.adapters.journal.segments import frame
from postroad.adapters.journal.segments.catalog import (
    UNFINISHED,
    OpenSegment,
    SegmentName,
    list_segments,
    segment_name,
)
from postroad.adapters.journal.segments.files import FileSystem, write_all
from postroad.adapters.journal.segments.frame import ENTRY, GROUP_HEADER, SEGMENT_HEADER, RecordGroup
from postroad.adapters.journal.segments.recovery import refuse
from postroad.adapters.journal.segments.syncing import Syncing
from postroad.ports import JournalHead


class DroppedBodies(NamedTuple):
    """The result of retention: how many segments lost their bodies, and how many bytes that freed."""

    segments: int
    freed_bytes: int


def drop_bodies(files: FileSystem, path: Path, syncing: Syncing, before_seq: int) -> DroppedBodies:
    """Rewrite each sealed segment that is entirely below ``before_seq`` and still has its bodies."""
    segments = list_segments(files.names(path))
    freed: list[int] = []
    for segment, following in pairwise(segments):
        if following.first_seq <= before_seq and not segment.without_bodies:
            freed.append(_rewrite(files, path, syncing, segment, following.first_seq - 1))
    return DroppedBodies(len(freed), sum(freed))


def _rewrite(files: FileSystem, path: Path, syncing: Syncing, segment: SegmentName, last_seq: int) -> int:
    freed = write_without_bodies(files, path, syncing, segment, last_seq)
    files.unlink(path / segment.name)
    return freed


def write_without_bodies(files: FileSystem, path: Path, syncing: Syncing, segment: SegmentName, last_seq: int) -> int:
    """Write a sealed segment again without bodies, beside the old file; returns by how many bytes it is smaller."""
    bodiless = path / segment_name(segment.first_seq, without_bodies=True)
    unfinished = path / (bodiless.name + UNFINISHED)
    source = OpenSegment.open(files, path / segment.name)
    if source is None:
        refuse(path / segment.name, 0, "no header of a segment that this version can read")
    try:
        size_before = files.size(source.fd)
        size_after = _copy(files, source, path / segment.name, unfinished, syncing, last_seq)
    except BaseException:
        with suppress(OSError):
            files.unlink(unfinished)
        raise
    finally:
        source.close()
    files.rename(unfinished, bodiless)
    syncing.directory(path)
    return size_before - size_after


def _copy(
    files: FileSystem, source: OpenSegment, source_path: Path, target: Path, syncing: Syncing, last_seq: int
) -> int:
    fd = files.create(target)
    try:
        header = source.header._replace(without_bodies=True)
        write_all(files, fd, frame.encode_segment_header(header), 0)
        end, head = SEGMENT_HEADER.size, source.header.before
        for group, data in _groups_without_bodies(source):
            write_all(files, fd, data, end)
            end, head = end + len(data), _next(source_path, group, head)
        if head.seq != last_seq:
            refuse(source_path, end, f"readable up to record {head.seq} of {last_seq}; its bodies are kept")
        syncing.file(fd)
        return end
    finally:
        files.close(fd)


def _next(path: Path, group: RecordGroup, head: JournalHead) -> JournalHead:
    if not frame.is_successor(group, head):
        refuse(path, group.offset, f"no group that continues the chain after record {head.seq}; its bodies are kept")
    return group.head


def _groups_without_bodies(source: OpenSegment) -> Iterator[tuple[RecordGroup, bytes]]:
    window, offset = source.window(), SEGMENT_HEADER.size
    while (group := frame.read_group(window, offset, source.header)) is not None:
        kept = GROUP_HEADER.size + ENTRY.size * group.record_count + len(group.facts)
        yield group, window.at(offset, kept)
        offset = group.end
