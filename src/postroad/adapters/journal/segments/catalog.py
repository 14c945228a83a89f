"""Lists segment files, interprets their names, and gives scanners access to their bytes.

Rule: a segment exists when its name does. Unfinished files have another suffix and are deleted at the next open. If a
segment exists with and without bodies, the one without is newer and is used.
"""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple

from postroad.adapters.journal.segments.files import FileSystem
from postroad.adapters.journal.segments.frame import SEGMENT_HEADER, SegmentHeader, decode_segment_header

WHOLE = ".seg"
BODILESS = ".facts"
UNFINISHED = ".tmp"
LOCK_NAME = "lock"
DURABLE_NAME = "durable"
WINDOW_BYTES = 128 << 10


class SegmentName(NamedTuple):
    """The name of a segment file, parsed."""

    first_seq: int
    name: str

    @property
    def without_bodies(self) -> bool:
        return self.name.endswith(BODILESS)


def segment_name(first_seq: int, *, without_bodies: bool = False) -> str:
    return f"{first_seq:020d}{BODILESS if without_bodies else WHOLE}"


def list_segments(names: list[str]) -> list[SegmentName]:
    """Return the segments among these file names, in order."""
    found: dict[int, SegmentName] = {}
    for name in sorted(names, reverse=True):  # .seg before .facts of the same number, so that .facts is kept
        stem, dot, suffix = name.partition(".")
        if dot + suffix in (WHOLE, BODILESS) and stem.isdigit():
            found[int(stem)] = SegmentName(int(stem), name)
    return sorted(found.values())


def list_superseded(names: list[str]) -> list[str]:
    """Return files left by a crash: unfinished ones, and segments whose bodiless form already exists."""
    unfinished = [name for name in names if name.endswith(UNFINISHED)]
    doubles = [name.removesuffix(BODILESS) + WHOLE for name in names if name.endswith(BODILESS)]
    return unfinished + [name for name in doubles if name in names]


def segment_holding(segments: list[SegmentName], seq: int) -> SegmentName | None:
    """Return the segment that must contain record ``seq``; None if there is none."""
    index = bisect_right(segments, seq, key=lambda segment: segment.first_seq) - 1
    return segments[index] if index >= 0 else None


class FileWindow:
    """A file's bytes, read in large pieces, because facts and tables are small and close together."""

    def __init__(self, files: FileSystem, fd: int) -> None:
        self._files = files
        self._fd = fd
        self._start = 0
        self._piece = b""
        self.size = files.size(fd)

    def at(self, offset: int, length: int) -> bytes:
        begin = offset - self._start
        if begin < 0 or begin + length > len(self._piece):
            self._load(offset, length)
            begin = 0
        return self._piece[begin : begin + length]

    def _load(self, offset: int, length: int) -> None:
        wanted = min(max(length, WINDOW_BYTES), max(self.size - offset, 0))
        pieces: list[bytes] = []
        while wanted > 0 and (piece := self._files.pread(self._fd, wanted, offset + sum(map(len, pieces)))):
            pieces.append(piece)
            wanted -= len(piece)
        self._start, self._piece = offset, b"".join(pieces)


class OpenSegment:
    """A segment file open for reading, with its header; ``open`` returns None if the header is invalid."""

    def __init__(self, files: FileSystem, name: str, fd: int, header: SegmentHeader) -> None:
        self.files = files
        self.name = name
        self.fd = fd
        self.header = header

    @classmethod
    def open(cls, files: FileSystem, path: Path) -> OpenSegment | None:
        fd = files.open(path, writable=False)
        try:
            header = decode_segment_header(files.pread(fd, SEGMENT_HEADER.size, 0))
        except OSError:
            files.close(fd)
            raise
        if header is None:
            files.close(fd)
            return None
        return cls(files, path.name, fd, header)

    def window(self) -> FileWindow:
        """Return a window on the current bytes; it does not contain later appends."""
        return FileWindow(self.files, self.fd)

    def close(self) -> None:
        self.files.close(self.fd)
