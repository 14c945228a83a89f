"""Preallocated segments: filled with zeros, synced, and renamed when they are needed.

Overwriting a file with allocated blocks halves the time of a sync compared with appending, and it cannot run out of
space. Rule: ordinary appends never take the last spare; the reserve is for entries that may use it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from postroad.adapters.journal.segments.catalog import UNFINISHED, segment_name
from postroad.adapters.journal.segments.files import FileSystem, write_all
from postroad.adapters.journal.segments.frame import SEGMENT_HEADER, SegmentHeader, encode_segment_header
from postroad.adapters.journal.segments.settings import SegmentSettings
from postroad.adapters.journal.segments.syncing import Syncing
from postroad.ports import JournalHead

NEXT_SPARE = "next.spare"
RESERVE_SPARE = "reserve.spare"
LARGE_SPARE = (
    "large" + UNFINISHED
)  # created on demand for a group that is larger than an ordinary segment; deleted if not used
ZEROS = bytes(1 << 20)
PACE_S = 0.004  # between pieces, so that the syncs of appends do not queue behind a spare's

Made = TypeVar("Made")


class WritableSegment(NamedTuple):
    """The segment that receives appends."""

    fd: int
    size: int
    header: SegmentHeader


class SpareSegments:
    """Keeps the next segment and the reserve ready, in a thread of its own."""

    def __init__(
        self, files: FileSystem, path: Path, settings: SegmentSettings, syncing: Syncing, threads: Executor
    ) -> None:
        self._files = files
        self._path = path
        self._sizes = {RESERVE_SPARE: settings.reserve_bytes, NEXT_SPARE: settings.segment_bytes}
        self._syncing = syncing
        self._threads = threads
        self._hurry = threading.Event()
        self._making: Future[None] | None = None
        self._ready = {name for name in self._sizes if self._usable(name)}

    def make_ready(self) -> None:
        """Start making missing segments, unless that is in progress."""
        if self._making is None or self._making.done():
            self._making = self._threads.submit(self._make_missing)

    async def install(self, needed_bytes: int, before: JournalHead, *, reserve: bool) -> WritableSegment:
        """Return a new segment with space for ``needed_bytes`` after its header; its name is durable on return."""
        name = await self._obtain(needed_bytes + SEGMENT_HEADER.size, reserve=reserve)
        writable = await self._in_thread(self._name_segment, name, before)
        self.make_ready()
        return writable

    def install_first(self, before: JournalHead) -> WritableSegment:
        """Install the first segment at start-up, after creating the reserve."""
        self._make_missing(pace_s=0)
        return self._name_segment(NEXT_SPARE, before)

    def close(self) -> None:
        self._hurry.set()

    async def _obtain(self, needed_bytes: int, *, reserve: bool) -> str:
        if needed_bytes > self._sizes[NEXT_SPARE]:
            await self._in_thread(self._make, LARGE_SPARE, needed_bytes)
            return LARGE_SPARE
        if not self._ready >= ({NEXT_SPARE} if reserve else {NEXT_SPARE, RESERVE_SPARE}):
            try:
                await self._make_now()
            except OSError:
                if reserve and NEXT_SPARE not in self._ready and self._reserve_holds(needed_bytes):
                    return RESERVE_SPARE
                raise
        return NEXT_SPARE

    def _reserve_holds(self, needed_bytes: int) -> bool:
        return RESERVE_SPARE in self._ready and needed_bytes <= self._sizes[RESERVE_SPARE]

    async def _make_now(self) -> None:
        self._hurry.set()
        try:
            if self._making is not None and not self._making.done():
                with suppress(OSError):  # it may have failed on a full disk that has space again
                    await asyncio.wrap_future(self._making)
            await self._in_thread(self._make_missing)
        finally:
            self._hurry.clear()

    async def _in_thread(self, call: Callable[..., Made], *arguments: object) -> Made:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)

    def _make_missing(self, pace_s: float = PACE_S) -> None:
        for name, size in self._sizes.items():
            if name not in self._ready:
                self._make(name, size, pace_s)

    def _make(self, name: str, size: int, pace_s: float = 0) -> None:
        unfinished = self._path / (name + UNFINISHED)
        fd = self._files.create(unfinished)
        try:
            self._fill(fd, size, pace_s)
        except OSError:
            with suppress(OSError):
                self._files.unlink(unfinished)  # frees the space that the attempt used
            raise
        finally:
            self._files.close(fd)
        self._files.rename(unfinished, self._path / name)
        self._ready.add(name)

    def _fill(self, fd: int, size: int, pace_s: float) -> None:
        """Fill the file with zeros, piece by piece; if an append waits, only allocate the rest.

        Syncs of allocated space take longer. But when appends are faster than the zeros, groups are large, and waiting
        for the zeros would cost more.
        """
        for offset in range(0, size, len(ZEROS)):
            if self._hurry.wait(pace_s):
                self._files.allocate(fd, size)
                break
            write_all(self._files, fd, memoryview(ZEROS)[: size - offset], offset)
            self._syncing.file(fd)
        self._syncing.file(fd)

    def _name_segment(self, spare: str, before: JournalHead) -> WritableSegment:
        """Write the header, then give the spare its name; the directory is synced before anything is appended."""
        header = SegmentHeader(before.seq + 1, before.chain, os.urandom(8), without_bodies=False)
        self._ready.discard(spare)
        fd = self._files.open(self._path / spare, writable=True)
        try:
            write_all(self._files, fd, encode_segment_header(header), 0)
            self._syncing.file(fd)
            self._files.rename(self._path / spare, self._path / segment_name(header.first_seq))
            self._syncing.directory(self._path)
        except BaseException:
            self._files.close(fd)
            raise
        return WritableSegment(fd, self._files.size(fd), header)

    def _usable(self, name: str) -> bool:
        """Whether a spare of an earlier run can be used; its name shows that it is complete, its size may be outdated."""
        return self._files.size_of(self._path / name) == self._sizes[name]
