"""Supervises the index process: starts it, notifies it, waits for it, and restarts it when it dies or hangs.

Rule: the server never waits for the index, except for requests that need it. Only one byte is sent at a time; later
appends are announced when that byte has been answered, so nothing is missed and the pipe never fills. Rule: an index
that is being rebuilt answers no query before it has every entry that the journal had when the rebuild began.
``process_main`` contains the process itself; run as a module, this file starts it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from pathlib import Path

import msgspec

from postroad.adapters.index.process_main import (
    EXIT_DAMAGED,
    EXIT_MISCONFIGURED,
    EXIT_RESERVE_USED,
    HEARTBEAT,
    HEARTBEAT_S,
    NOTIFY_LATER,
    NOTIFY_NOW,
    Announcement,
    main,
)
from postroad.adapters.index.sqlite_file import UnusableIndex
from postroad.core.metrics.registry import Metrics
from postroad.errors import Misconfigured, Unavailable

WAIT_TIMEOUT_S = 10.0
STOP_TIMEOUT_S = 30.0
MAX_SILENCE_S = 120.0  # after a request; a batch usually takes a second
FIRST_BACK_OFF_S = 0.1
LONGEST_BACK_OFF_S = 10.0
EXIT_NOT_STARTED = 71  # EX_OSERR
MAX_MISSED_BEATS = 8  # in a row, until a silent process is killed and another one started
LATE_BEATS = 3  # in a row, until readiness reports it
MAX_REBUILDS = 3  # in a row that did not end

log = logging.getLogger(__name__)
read_announcement = msgspec.json.Decoder(Announcement).decode


class IndexProcess:
    """Supervises one index process. All methods belong to the event loop that called ``start``."""

    def __init__(self, journal: Path, index: Path, metrics: Metrics | None = None) -> None:
        module = "postroad.adapters.index.process"
        self._command = (sys.executable, "-m", module, "--journal", str(journal), "--index", str(index))
        self._process: asyncio.subprocess.Process | None = None
        self._supervision: asyncio.Task[None] | None = None
        self._heard = False
        self._faults: tuple[str, ...] = ()
        self._position = 0  # the last entry that the index is known to have
        self._wanted = 0  # the last entry that the journal is known to have
        self._asked = b""  # the byte under way, if any
        self._is_at_work = False  # it has reported its position; before that, a migration can take any time
        self._silence: asyncio.TimerHandle | None = None
        self._missed_beats = 0
        self._rebuilds = 0
        self._vain_rebuilds = 0  # since the index was complete for the last time
        self._complete_at: int | None = None  # while it is being rebuilt: the entry with which it is complete
        self._must_forget = False  # the next process removes the file first
        self._waiting = 0  # how many wait for the index
        self._moved = asyncio.Event()  # replaced after each report; waiters hold the one that will be set
        self._rebuilt = (metrics or Metrics()).counter("index_rebuilds_total")

    @property
    def position(self) -> int:
        return self._position

    @property
    def pid(self) -> int | None:
        """The running process's id; None while it is being restarted."""
        return self._process.pid if self._process and self._process.returncode is None else None

    @property
    def rebuilds(self) -> int:
        """The number of rebuilds begun."""
        return self._rebuilds

    def require_complete(self) -> None:
        """Raise Unavailable while the index is being rebuilt."""
        if self._complete_at is not None:
            raise self._being_rebuilt()

    def require_running(self) -> None:
        """Raise Unavailable while the index cannot be kept up: it is being rebuilt, or its process does not run."""
        self.require_complete()
        if self._missed_beats >= LATE_BEATS or (self._heard and self.pid is None):
            raise Unavailable("network.unavailable", "The index process does not run; it is being started again")

    def rebuild(self, reason: UnusableIndex) -> Unavailable:
        """Begin to rebuild the index, unless that is under way; returns the answer to queries meanwhile."""
        if self._complete_at is None:
            self._begin_rebuild(str(reason))
            self._kill()
        return self._being_rebuilt()

    async def start(self) -> None:
        """Start the process and return once it is at work; Misconfigured if it cannot be."""
        self._supervision = asyncio.get_running_loop().create_task(self._supervise(), name="index process")
        while not self._heard and not self._faults:
            await self._moved.wait()
        self._raise_faults()

    def notify(self, seq: int) -> None:
        """Announce that the journal now ends with this entry. Cheap; call it after every group."""
        self._wanted = max(self._wanted, seq)
        if not self._asked:
            self._ask(NOTIFY_NOW if self._waiting else NOTIFY_LATER)

    async def wait_for(self, seq: int, timeout: float | None = WAIT_TIMEOUT_S) -> None:
        """Return when the index has that entry of the journal; Unavailable when ``timeout`` seconds are not enough."""
        if self._position >= seq:
            return
        self._wanted = max(self._wanted, seq)
        self._waiting += 1
        try:
            async with asyncio.timeout(timeout):
                await self._until(seq)
        except TimeoutError:
            detail = "The index has not caught up with the journal yet; try again in a moment"
            raise Unavailable("network.unavailable", detail) from None
        finally:
            self._waiting -= 1

    async def stop(self) -> None:
        """Let the process index the rest of the journal, and end it."""
        if self._supervision is not None:
            self._supervision.cancel()
            await asyncio.gather(self._supervision, return_exceptions=True)
        self._broken_silence()
        process, self._process = self._process, None
        if process is None or process.returncode is not None or process.stdin is None or process.stdout is None:
            return
        process.stdin.close()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await process.stdout.read()
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    # ---- speaking and hearing

    async def _until(self, seq: int) -> None:
        self._ask(NOTIFY_NOW)
        while self._position < seq:
            self._raise_faults()
            await self._moved.wait()

    def _ask(self, what: bytes) -> None:
        self._asked = what
        if self._process is not None and self._process.stdin is not None and self._process.returncode is None:
            self._process.stdin.write(what)
            if self._is_at_work and self._silence is None:
                self._silence = asyncio.get_running_loop().call_later(MAX_SILENCE_S, self._end_silence)

    def _end_silence(self) -> None:
        """Kills a hanging process; its successor continues after the last applied batch."""
        self._silence = None
        log.error("index.silent: the index process has not reported for %d seconds; it is killed", MAX_SILENCE_S)
        self._kill()

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    def _broken_silence(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

    def _handle_announcement(self, announcement: Announcement) -> None:
        self._broken_silence()
        self._is_at_work = True
        progressed = announcement.seq > self._position
        self._heard, self._asked, self._faults = True, b"", announcement.faults
        self._position = max(self._position, announcement.seq)
        if not self._faults:
            self._must_forget = False
        if self._complete_at is not None and self._position >= self._complete_at:
            log.warning(
                "index.rebuilt: the index has been rebuilt from the journal, up to entry %d",
                self._position,
                extra={"entry": self._position},
            )
            self._complete_at, self._vain_rebuilds = None, 0
        if self._position < self._wanted and not self._faults:
            # Without progress, wait: the process would only report the same position repeatedly.
            self._ask(NOTIFY_NOW if self._waiting and progressed else NOTIFY_LATER)
        self._wake()

    def _wake(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    def _raise_faults(self) -> None:
        if self._faults:
            raise Misconfigured(self._faults)

    # ---- supervision

    async def _supervise(self) -> None:
        back_off_s = FIRST_BACK_OFF_S
        while True:
            before = self._position
            rebuilds = self._rebuilds
            code = await self._run()
            if code == EXIT_DAMAGED and rebuilds == self._rebuilds:
                self._begin_rebuild("the lines before say what is wrong with it")
            if code == EXIT_RESERVE_USED:
                continue
            if rebuilds != self._rebuilds and self._vain_rebuilds <= MAX_REBUILDS:
                continue
            if code in (EXIT_MISCONFIGURED, EXIT_DAMAGED) or not self._heard:
                self._faults = self._faults or (
                    f"the index process ended with {code} at once; the lines before say why",
                )
                self._wake()
                return
            back_off_s = FIRST_BACK_OFF_S if self._position > before else min(back_off_s * 2, LONGEST_BACK_OFF_S)
            log.warning(
                "index.process_ended: index process ended with %s after entry %d; starting it again",
                code,
                self._position,
                extra={"entry": self._position},
            )
            await asyncio.sleep(back_off_s)

    def _begin_rebuild(self, reason: str) -> None:
        log.error("index.rebuilding: the index has to be rebuilt from the journal: %s", reason)
        self._rebuilds += 1
        self._rebuilt.value += 1
        self._vain_rebuilds += 1
        self._must_forget = True
        self._complete_at, self._position = self._wanted, 0

    def _being_rebuilt(self) -> Unavailable:
        detail = (
            f"The index is being rebuilt from the journal (entry {self._position} of {self._complete_at}); try again"
        )
        return Unavailable("network.unavailable", detail, retry_after_s=5)

    async def _watch(self) -> None:
        """Kill a process that has stopped. Ticks are counted, not seconds, because this server may have been stopped itself."""
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            self._missed_beats += 1
            if self._missed_beats == MAX_MISSED_BEATS:
                log.error(
                    "index.stopped: the index process has stopped: no sign of life for %d s; it is killed",
                    MAX_MISSED_BEATS,
                )
                self._kill()

    async def _run(self) -> int:
        """Run the process from start to end. The process reports first, so no request is needed at its start."""
        pipe = asyncio.subprocess.PIPE
        self._is_at_work = False
        self._missed_beats = 0
        rebuilds = self._rebuilds
        options = ["--rebuild"] * self._must_forget + ["--starting"] * (not self._heard)
        try:
            self._process = await asyncio.create_subprocess_exec(*self._command, *options, stdin=pipe, stdout=pipe)
        except OSError as error:  # no memory or no file descriptor left, for now perhaps
            log.error("index.process_not_started: the index process cannot be started: %s", error)
            return EXIT_NOT_STARTED
        self._asked = b""
        watching = asyncio.get_running_loop().create_task(self._watch(), name="index watchdog")
        try:
            if self._process.stdout is not None:
                async for line in self._process.stdout:
                    self._missed_beats = 0
                    if (
                        line == HEARTBEAT or rebuilds != self._rebuilds
                    ):  # alive, or a report about a file that was replaced
                        continue
                    with contextlib.suppress(msgspec.DecodeError):  # a line cut off by the process's end
                        self._handle_announcement(read_announcement(line))
            self._broken_silence()
            return await self._process.wait()
        finally:
            watching.cancel()


if __name__ == "__main__":
    sys.exit(main())
