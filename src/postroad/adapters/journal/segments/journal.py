"""The journal in segment files: the writer's side.

Rule: an append returns after its group is on the disk, and a group is stored completely or not at all. One process
writes, one append runs at a time (the group-commit stage above joins all waiting steps into one group).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

from postroad.adapters.journal.segments import frame
from postroad.adapters.journal.segments.catalog import DURABLE_NAME, LOCK_NAME
from postroad.adapters.journal.segments.files import FileSystem, RealFiles, SharedCounter, write_all
from postroad.adapters.journal.segments.frame import EMPTY, SEGMENT_HEADER
from postroad.adapters.journal.segments.reader import SegmentReads
from postroad.adapters.journal.segments.recovery import RecoveredEnd, recover
from postroad.adapters.journal.segments.retention import DroppedBodies, drop_bodies
from postroad.adapters.journal.segments.settings import SegmentSettings
from postroad.adapters.journal.segments.space import FreeSpace, to_unavailable
from postroad.adapters.journal.segments.spare_segments import SpareSegments
from postroad.adapters.journal.segments.syncing import Die, GroupSync, Syncing, exit_at_once
from postroad.core.metrics.registry import Metrics
from postroad.errors import Misconfigured
from postroad.ports import Appended, BodyAt, JournalBatch, JournalHead, NewRecord

THREADS = 2  # one prepares spares, one drops bodies; a change of segments must not wait for dropping

_log = logging.getLogger(__name__)


class SegmentJournal:
    """A journal open for appending; implements ``postroad.ports.Journal``."""

    def __init__(
        self,
        *,
        files: FileSystem,
        path: Path,
        settings: SegmentSettings,
        syncing: Syncing,
        threads: Executor,
        durable: SharedCounter,
        lock: int,
        metrics: Metrics | None = None,
    ) -> None:
        self._files = files
        self._path = path
        self._syncing = syncing
        self._threads = threads
        self._durable = durable
        self._lock = lock
        self._space = FreeSpace(files, path, settings)
        self._spares = SpareSegments(files, path, settings, syncing, threads)
        self._segment, self._end, self._head = self._recover()
        durable.set(self._head.seq)
        metrics = metrics or Metrics()
        self._written = metrics.counter("journal_bytes_total")
        metrics.on_read(lambda: self._read_gauges(metrics))
        self._group_sync = GroupSync(syncing, metrics=metrics)
        self._reads = SegmentReads(files, path, lambda: self._head.seq)
        self._idle = asyncio.Event()
        self._idle.set()
        self._changing: asyncio.Future[None] | None = None
        self._dropping = asyncio.Lock()
        self._failure: BaseException | None = None
        self._spares.make_ready()

    @classmethod
    def open(
        cls,
        path: Path,
        settings: SegmentSettings | None = None,
        *,
        files: FileSystem | None = None,
        die: Die = exit_at_once,
        threads: Executor | None = None,
        metrics: Metrics | None = None,
    ) -> SegmentJournal:
        """Take the lock, recover, and return a journal ready for appends. Blocks, so call it at start-up."""
        files = files or RealFiles()
        try:
            files.make_directory(path)
            lock = _take_lock(files, path)
        except OSError as error:
            raise _cannot_open(path, error) from error
        try:
            return cls(
                files=files,
                path=path,
                settings=settings or SegmentSettings(),
                syncing=Syncing(files, die),
                threads=threads or ThreadPoolExecutor(THREADS, thread_name_prefix="journal-segments"),
                durable=files.counter(path / DURABLE_NAME, writable=True),
                lock=lock,
                metrics=metrics,
            )
        except OSError as error:
            files.close(lock)
            raise _cannot_open(path, error) from error
        except BaseException:
            files.close(lock)
            raise

    async def append(self, records: Sequence[NewRecord], *, reserve: bool = False) -> Appended:
        """Make the records durable as one group; with ``reserve`` also when the disk is nearly full."""
        self._begin(records)
        try:
            if not reserve:
                self._space.require()
            needed_bytes = frame.group_bytes(records)
            if self._end + needed_bytes > self._segment.size:
                await self._roll_over(needed_bytes, reserve=reserve)
            appended, end = self._write(records)
        except BaseException as error:
            self._space.note_failure(error)
            self._be_idle()
            raise
        return await self._made_durable(appended, end)

    def require_writable(self) -> None:
        """Raise Unavailable if the journal cannot be written now: the disk is nearly full, or a write has just failed."""
        self._space.require_writable()

    async def read(self, after_seq: int, limit_bytes: int = 4 << 20) -> JournalBatch:
        return self.read_sync(after_seq, limit_bytes)

    async def body(self, at: BodyAt) -> bytes | None:
        return self.body_sync(at)

    async def head(self) -> JournalHead:
        return self._head

    def read_sync(self, after_seq: int, limit_bytes: int = 4 << 20) -> JournalBatch:
        return self._reads.read(after_seq, limit_bytes) or JournalBatch([], self._head)

    def body_sync(self, at: BodyAt) -> bytes | None:
        return self._reads.body(at)

    def head_sync(self) -> JournalHead:
        return self._head

    async def drop_bodies(self, before_seq: int) -> DroppedBodies:
        """Drop the bodies of every sealed segment whose records are all below ``before_seq``; facts and chain stay."""
        loop = asyncio.get_running_loop()
        async with self._dropping:
            try:
                return await loop.run_in_executor(
                    self._threads, drop_bodies, self._files, self._path, self._syncing, before_seq
                )
            except OSError as error:
                raise to_unavailable(error) from error
            finally:
                self._reads.look_again()

    async def close(self) -> None:
        """Wait for a running append, then release files, threads and the lock."""
        await self._idle.wait()
        self._spares.close()
        await asyncio.to_thread(self._threads.shutdown)
        self._group_sync.close()
        self._reads.close()
        self._files.close(self._segment.fd)
        self._durable.close()
        self._files.close(self._lock)

    def _read_gauges(self, metrics: Metrics) -> None:
        metrics.gauge("journal_head_entry").set(self._head.seq)
        with contextlib.suppress(OSError):  # a disk that does not answer is reported by the next append
            free, least = self._space.measure()
            metrics.gauge("disk_free_bytes").set(free)
            metrics.gauge("disk_least_free_bytes").set(least)

    def _recover(self) -> RecoveredEnd:
        found = recover(self._files, self._path, self._syncing, self._durable.get())
        if found is not None:
            return found
        return RecoveredEnd(self._spares.install_first(EMPTY), SEGMENT_HEADER.size, EMPTY)

    def _begin(self, records: Sequence[NewRecord]) -> None:
        if self._failure is not None:
            raise RuntimeError("the journal failed to sync and must not be used any more") from self._failure
        if not self._idle.is_set():
            raise RuntimeError("one append at a time: join concurrent ones into a group")
        if not records:
            raise ValueError("a group has at least one record")
        self._idle.clear()

    async def _roll_over(self, needed_bytes: int, *, reserve: bool) -> None:
        """Continue in a fresh segment; the change is completed even if the caller is cancelled."""
        self._changing = asyncio.ensure_future(self._change_segment(needed_bytes, reserve=reserve))
        try:
            await asyncio.shield(self._changing)
        except OSError as error:
            raise to_unavailable(error) from error

    def _be_idle(self) -> None:
        """Allow the next append, once a change of segments in progress has ended."""
        if self._changing is None or self._changing.done():
            self._idle.set()
        else:
            self._changing.add_done_callback(self._be_idle_after)

    def _be_idle_after(self, change: asyncio.Future[None]) -> None:
        if not change.cancelled() and change.exception() is not None:
            _log.warning("journal.segment_change_failed: %s; the next append tries again", change.exception())
        self._idle.set()

    async def _change_segment(self, needed_bytes: int, *, reserve: bool) -> None:
        fresh = await self._spares.install(needed_bytes, self._head, reserve=reserve)
        self._files.close(self._segment.fd)
        self._segment, self._end = fresh, SEGMENT_HEADER.size

    def _write(self, records: Sequence[NewRecord]) -> tuple[Appended, int]:
        """Write the group into preallocated blocks; runs on the event loop, since it only copies into the page cache."""
        data, bodies, head = frame.encode_group(
            records, before=self._head, header=self._segment.header, offset=self._end
        )
        try:
            write_all(self._files, self._segment.fd, data, self._end)
        except OSError as error:
            self._cut_back(len(data))
            raise to_unavailable(error) from error
        self._written.value += len(data)
        return Appended(self._head.seq + 1, bodies, head), self._end + len(data)

    def _cut_back(self, length: int) -> None:
        """Zero the remains of a failed write; a journal that cannot be restored to its last good end is closed."""
        try:
            write_all(self._files, self._segment.fd, bytes(length), self._end)
        except OSError as error:
            self._syncing.die(f"a failed write could not be undone: {error}")
        self._syncing.file(self._segment.fd)  # the segment may be sealed next, and is not synced again

    def _made_durable(self, appended: Appended, end: int) -> asyncio.Future[Appended]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Appended] = loop.create_future()

        def done(error: BaseException | None) -> None:
            self._idle.set()
            if error is None:
                self._end, self._head = end, appended.head
                self._durable.set(appended.head.seq)
            else:
                self._failure = error
            if answer.done():  # the caller was cancelled meanwhile; the group is still in the journal
                return
            if error is None:
                answer.set_result(appended)
            else:
                answer.set_exception(error)

        self._group_sync.submit(self._segment.fd, loop, done)
        return answer


def _cannot_open(path: Path, error: OSError) -> Misconfigured:
    return Misconfigured([f"journal: {path} cannot be opened: {error}; check the disk and who may write there"])


def _take_lock(files: FileSystem, path: Path) -> int:
    try:
        return files.lock(path / LOCK_NAME)
    except BlockingIOError:
        raise Misconfigured(
            [f"journal: another process is writing {path}; stop it, or use another data directory for this one"]
        ) from None
