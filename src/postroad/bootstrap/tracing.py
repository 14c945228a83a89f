"""Starts the export of traces, if it is configured: in a process of its own, or inside the server for a network in memory.

Rule: without ``traces_to`` nothing is started and no commit is announced. Otherwise a commit costs a flag, and the
process is notified at most once a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from contextlib import AsyncExitStack

import msgspec

from postroad.adapters.tracing.job import NAME, TracingJob, TracingStatus, build_tracing, read_headers_file
from postroad.bootstrap.followers import FollowedStore, cursors_folder, start_follower
from postroad.bootstrap.settings import Settings
from postroad.core.metrics.registry import Metrics
from postroad.flow.network import Network
from postroad.ports import JournalBatch

log = logging.getLogger(__name__)

NOTIFY_EVERY_S = 1.0
STOP_TIMEOUT_S = 5.0
FIRST_BACK_OFF_S, LONGEST_BACK_OFF_S = 1.0, 60.0
MODULE = "postroad.adapters.tracing.process"
EXIT_NOT_STARTED = 71  # EX_OSERR


def build_job(settings: Settings, journal_folder: str, index_file: str) -> TracingJob:
    return TracingJob(
        to=settings.traces_to,
        headers=read_headers_file(settings.traces_headers_file),
        share=settings.traces_share,
        slow_s=settings.traces_slow_s,
        per_s=settings.traces_per_s,
        patience_s=settings.traces_patience_s,
        join=settings.traces_join,
        acceptance=settings.acceptance,
        index=settings.index,
        postgres=settings.postgres,
        journal=str(settings.data / journal_folder),
        index_file=str(settings.data / index_file),
        cursors=str(cursors_folder(settings)),
    )


async def start_tracing(
    settings: Settings, job: TracingJob, network: Network, store: FollowedStore, stack: AsyncExitStack
) -> TracingProcess | None:
    """Export traces until the stack is closed; returns the process that does it, if there is one."""
    counts = TraceCounts(network.metrics)
    if settings.index == "memory":

        async def wait_for_entry(seq: int) -> None:
            await network.wait_until_indexed()

        tracing = build_tracing(job, store.journal, network.index, network.clock, wait_for_entry=wait_for_entry)
        stack.push_async_callback(tracing.close)

        async def handle(batch: JournalBatch) -> None:
            await tracing.follower.handle(batch)
            counts.note(tracing.status(batch.head.seq))

        start_follower(NAME, handle, settings, store, stack)
        return None
    if await store.cursors.load(NAME) is None:  # the process starts later, and must not miss what is posted meanwhile
        await store.cursors.save(NAME, await store.journal.head())
    process = TracingProcess(job, counts)
    process.start()
    stack.push_async_callback(process.stop)
    store.commits.add(process.notify)
    return process


class TraceCounts:
    """Adds up what the tracing processes of one server report; each begins with zero."""

    def __init__(self, metrics: Metrics) -> None:
        self._exported = metrics.counter("trace_spans_total", "exported")
        self._skipped = metrics.counter("trace_spans_total", "skipped")
        self._skipped_traces = metrics.counter("traces_skipped_total")
        self._last = TracingStatus()

    def begin(self) -> None:
        """Note that a new process begins."""
        self._last = TracingStatus()

    def note(self, status: TracingStatus) -> None:
        """Add what has changed since the last report of the same process."""
        last, self._last = self._last, status
        self._exported.value += status.spans - last.spans
        self._skipped.value += status.skipped_spans - last.skipped_spans
        self._skipped_traces.value += status.skipped_traces - last.skipped_traces


class TracingProcess:
    """Supervises the tracing process: starts it, notifies it of commits, and restarts it when it ends."""

    def __init__(self, job: TracingJob, counts: TraceCounts) -> None:
        self._job = msgspec.json.encode(job) + b"\n"
        self._counts = counts
        self._process: asyncio.subprocess.Process | None = None
        self._supervision: asyncio.Task[None] | None = None
        self._is_due = False  # a notification is planned
        self.status = TracingStatus()

    @property
    def pid(self) -> int | None:
        """Return the running process's id; None while it is being restarted."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    def start(self) -> None:
        self._supervision = asyncio.get_running_loop().create_task(self._supervise(), name="tracing process")

    def notify(self, seq: int) -> None:
        """Announce new entries; cheap, called after every group."""
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_later(NOTIFY_EVERY_S, self._write)

    def _write(self) -> None:
        self._is_due = False
        if self.pid is not None and self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(b".")

    async def stop(self) -> None:
        """End the process; it continues after its cursor at the next start."""
        if self._supervision is not None:
            self._supervision.cancel()
            await asyncio.gather(self._supervision, return_exceptions=True)
        process, self._process = self._process, None
        if process is None or process.returncode is not None or process.stdin is None:
            return
        process.stdin.close()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    async def _supervise(self) -> None:
        back_off_s = FIRST_BACK_OFF_S
        while True:
            before = self.status
            code = await self._run()
            back_off_s = FIRST_BACK_OFF_S if self.status is not before else min(back_off_s * 2, LONGEST_BACK_OFF_S)
            log.warning(
                "traces.process_ended: the tracing process ended with %s; it is started again in %.0f s",
                code,
                back_off_s,
            )
            await asyncio.sleep(back_off_s)

    async def _run(self) -> int:
        pipe = asyncio.subprocess.PIPE
        try:
            self._process = await asyncio.create_subprocess_exec(sys.executable, "-m", MODULE, stdin=pipe, stdout=pipe)
        except OSError as error:  # no memory, process or file descriptor left, for now perhaps
            log.error("traces.process_not_started: the tracing process cannot be started: %s", error)
            return EXIT_NOT_STARTED
        self._counts.begin()
        if self._process.stdin is not None and self._process.stdout is not None:
            self._process.stdin.write(self._job)
            async for line in self._process.stdout:
                with contextlib.suppress(msgspec.DecodeError):  # a line cut off by the process's end
                    self.status = msgspec.json.decode(line, type=TracingStatus)
                    self._counts.note(self.status)
        return await self._process.wait()
