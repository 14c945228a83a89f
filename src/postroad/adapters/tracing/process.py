"""The tracing process: follows the journal beside the server and exports traces, so the server spends nothing on it.

    python -m postroad.adapters.tracing.process

Its first line of input is its ``TracingJob`` in JSON; each further byte announces new entries. The end of its input
means that the server is gone: the process ends at once, since its cursor is saved after each batch. It reports a
``TracingStatus`` in JSON, one line after each batch.

Rule: it may be killed at any moment; the next process repeats at most one batch, with the same span IDs.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from postroad.adapters.followers.cursors import FileCursors, PostgresCursors
from postroad.adapters.index.leadership import PostgresLeadership
from postroad.adapters.index.postgres import PostgresIndex
from postroad.adapters.index.sqlite import SqliteReader
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.segments import SegmentReader
from postroad.adapters.system import SystemClock
from postroad.adapters.tracing.job import NAME, TracingJob, TracingStatus, build_tracing
from postroad.errors import Unavailable
from postroad.flow.followers import CommitSignal, FollowedJournal, JournalFollower
from postroad.ports import FollowerCursors, IndexReader, JournalBatch

TRACING_LOCK = 0x706F737474726163  # "posttrac"
LOOK_AGAIN_S = 5.0  # when another node may have stopped following
INDEX_PATIENCE_S = 60.0
INDEX_LOOK_AGAIN_S = 0.05


async def follow(job: TracingJob, signal_: CommitSignal) -> None:
    """Follow the journal until cancelled."""
    async with AsyncExitStack() as stack:
        journal = await _open_journal(job, stack)
        index = await _open_index(job, stack)
        cursors = await _open_cursors(job, stack)
        leads = _open_leadership(job, stack)
        tracing = build_tracing(
            job, journal, index, SystemClock(), wait_for_entry=lambda seq: _wait_for_entry(index, seq)
        )
        stack.push_async_callback(tracing.close)

        async def handle(batch: JournalBatch) -> None:
            await tracing.follower.handle(batch)
            report(tracing.status(batch.head.seq))

        follower = JournalFollower(NAME, journal, cursors, handle=handle, arrived=signal_.wait, leads=leads)
        await follower.run()


async def _open_journal(job: TracingJob, stack: AsyncExitStack) -> FollowedJournal:
    if job.acceptance == "shared":
        journal = await PostgresJournal.open(job.postgres)
        stack.push_async_callback(journal.close)
        return journal
    reader = SegmentReader(Path(job.journal))
    stack.callback(reader.close)
    return reader


async def _open_index(job: TracingJob, stack: AsyncExitStack) -> IndexReader:
    index: IndexReader
    if job.index == "postgres":
        index = await PostgresIndex.open(job.postgres)
    else:
        index = SqliteReader(Path(job.index_file), threads=1)
    stack.push_async_callback(index.close)
    return index


async def _open_cursors(job: TracingJob, stack: AsyncExitStack) -> FollowerCursors:
    if job.acceptance != "shared":
        return FileCursors(Path(job.cursors))
    cursors = await PostgresCursors.open(job.postgres)
    stack.push_async_callback(cursors.close)
    return cursors


def _open_leadership(job: TracingJob, stack: AsyncExitStack) -> Callable[[], Awaitable[bool]]:
    """Return whether this process follows: of all nodes of a shared network, one does."""
    if job.acceptance != "shared":
        return _always
    leadership = PostgresLeadership(job.postgres, TRACING_LOCK)
    stack.push_async_callback(leadership.close)
    return leadership.acquire


async def _always() -> bool:
    return True


async def _wait_for_entry(index: IndexReader, seq: int) -> None:
    """Return when the index has the entry; Unavailable if that takes too long."""
    for _ in range(int(INDEX_PATIENCE_S / INDEX_LOOK_AGAIN_S)):
        if (await index.position()).seq >= seq:
            return
        await asyncio.sleep(INDEX_LOOK_AGAIN_S)
    raise Unavailable("network.unavailable", f"The index has not reached entry {seq} yet")


def report(status: TracingStatus) -> None:
    os.write(sys.stdout.fileno(), msgspec.json.encode(status) + b"\n")


async def run_until_input_ends() -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    job = msgspec.json.decode(await reader.readline(), type=TracingJob)
    signal_ = CommitSignal(look_again_s=LOOK_AGAIN_S if job.acceptance == "shared" else None)
    following = asyncio.get_running_loop().create_task(follow(job, signal_), name=NAME)
    listening = asyncio.get_running_loop().create_task(_listen(reader, signal_))
    done, _ = await asyncio.wait({following, listening}, return_when=asyncio.FIRST_COMPLETED)
    following.cancel()
    await asyncio.gather(following, listening, return_exceptions=True)
    if following in done:
        following.result()  # raises what ended it


async def _listen(reader: asyncio.StreamReader, signal_: CommitSignal) -> None:
    while await reader.read(4_096):
        signal_.notify(0)


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then closes our input
    gc.set_threshold(100_000, 20, 100)  # a batch is thousands of entries and spans without cycles
    logging.basicConfig(level="WARNING", format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        asyncio.run(run_until_input_ends())
    except BrokenPipeError:  # the server died while it received a status
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
