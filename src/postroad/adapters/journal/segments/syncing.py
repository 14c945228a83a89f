"""Makes bytes durable; a failed sync ends the process.

After a failed sync the kernel may have dropped the pages and will report success the next time, so the state of the
disk is unknown. Rule: a sync error is never retried and always ends the process; the next start recovers from the
files.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from asyncio import AbstractEventLoop
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import NoReturn

from postroad.adapters.journal.segments.files import FileSystem
from postroad.core.metrics.registry import Metrics

QUICK_S = 0.001  # a sync on the event loop may take as long as processing a few dozen messages
AVERAGE_OVER = 16
TRY_AGAIN_AFTER = 64
OUTLIER_S = 0.004  # a slower sync counts as this much, so that single outliers do not move the average
EXIT_STATUS = 70  # EX_SOFTWARE; a service manager restarts the process, which then recovers
Die = Callable[[str], NoReturn]
Done = Callable[[BaseException | None], None]

_log = logging.getLogger(__name__)


def exit_at_once(reason: str) -> NoReturn:
    """End the process without unwinding: no code may run that treats the lost bytes as durable."""
    _log.critical("journal.sync_failed: %s; the process ends now, restart it to recover", reason)
    logging.shutdown()
    os._exit(EXIT_STATUS)


class Syncing:
    """Syncs of files and directories that either succeed or end the process."""

    def __init__(self, files: FileSystem, die: Die = exit_at_once) -> None:
        self._files = files
        self.die = die

    def file(self, fd: int) -> None:
        try:
            self._files.fdatasync(fd)
        except OSError as error:
            self.die(f"fdatasync of the journal failed: {error}")

    def directory(self, path: Path) -> None:
        try:
            self._files.sync_directory(path)
        except OSError as error:
            self.die(f"sync of the directory {path} failed: {error}")


class GroupSync:
    """Syncs the groups of one event loop: on the loop while the disk is quick, in a thread of its own while it is not.

    Measured with 64 posters and 2 KB bodies on a disk that syncs in 0.15 ms: on the loop 24 000 posts/s, in a thread
    22 200 (medians of 3; p99 5.5 and 7.2 ms), since the thread must get the interpreter lock back and wake the loop
    (20 to 40 µs a group, up to 5 ms behind busy code). On a disk that takes milliseconds, the thread is better, since
    the loop must keep answering polls. So the measured time decides. Only syncs on the loop are timed (in the thread,
    the wait for the lock would count), so one in ``TRY_AGAIN_AFTER`` tries the loop again.
    """

    def __init__(
        self, syncing: Syncing, seconds: Callable[[], float] = time.perf_counter, metrics: Metrics | None = None
    ) -> None:
        self._syncing = syncing
        self._seconds = seconds
        self._took = (metrics or Metrics()).histogram("journal_sync_seconds")
        self._average_s = 0.0
        self._in_thread = 0
        self._jobs: SimpleQueue[tuple[int, AbstractEventLoop, Done] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, fd: int, loop: AbstractEventLoop, done: Done) -> None:
        """Sync the file, then call ``done`` on the loop, with the error if there was one."""
        if self._average_s < QUICK_S or self._in_thread >= TRY_AGAIN_AFTER:
            self._in_thread = 0
            self._sync_here(fd, done)
        else:
            self._in_thread += 1
            self._start_thread()
            self._jobs.put((fd, loop, done))

    def close(self) -> None:
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()

    def _start_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="journal-sync", daemon=True)
            self._thread.start()

    def _sync_here(self, fd: int, done: Done) -> None:
        begun_s = self._seconds()
        error = self._sync(fd)
        took_s = self._seconds() - begun_s
        self._took.observe(took_s)
        self._average_s += (min(took_s, OUTLIER_S) - self._average_s) / AVERAGE_OVER
        done(error)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            fd, loop, done = job
            begun_s = self._seconds()
            error = self._sync(fd)
            loop.call_soon_threadsafe(self._synced_in_thread, done, error, self._seconds() - begun_s)

    def _synced_in_thread(self, done: Done, error: BaseException | None, took_s: float) -> None:
        self._took.observe(took_s)
        done(error)

    def _sync(self, fd: int) -> BaseException | None:
        try:
            self._syncing.file(fd)
        except BaseException as error:  # raised in the caller that waits for the sync
            return error
        return None
