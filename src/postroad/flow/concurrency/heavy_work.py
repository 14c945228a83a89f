"""Runs slow work in threads: one job at a time per organization, a few in total.

Rules: an organization's second job waits for its first, whatever others do, so one organization cannot occupy all
threads, and its own backlog is bounded. A job that has begun is finished, even if its client disconnects. Trees of
XML documents stay in the thread that made them, so no traceback of a job leaves its thread.

A thread that runs Python code makes the event loop wait for the interpreter lock each time the loop resumes. So the
interpreter switches threads five times as often while a job runs.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

from postroad.core.routing.budget import AT_ONCE, TooMuchAtOnce
from postroad.errors import PostroadError, Refused
from postroad.flow.concurrency.commit import run_to_completion
from postroad.flow.concurrency.keyed_limit import KeyedSemaphore

THREADS = 2
WAITING_JOBS = 64  # of one organization
WAITING_BYTES = 192 << 20  # of one organization: three quarters of what may be under way of all
BUSY_AT_ONCE = AT_ONCE // 10  # steps on the event loop for an organization whose heavy work is under way
SWITCH_S = 0.001

_Done = TypeVar("_Done")


class _Switching:
    """Makes the interpreter switch threads more often while any job runs."""

    def __init__(self) -> None:
        self._at_work = 0
        self._usual_s = 0.0

    def begin(self) -> None:
        if not self._at_work:
            self._usual_s = sys.getswitchinterval()
            sys.setswitchinterval(min(SWITCH_S, self._usual_s))
        self._at_work += 1

    def end(self) -> None:
        self._at_work -= 1
        if not self._at_work:
            sys.setswitchinterval(self._usual_s)


_switching = _Switching()  # the interval is one for all threads


class HeavyWork:
    """Thread pool with a queue per organization; all methods belong to one event loop."""

    def __init__(self, threads: int = THREADS) -> None:
        self._slots = KeyedSemaphore(1)
        self._threads = asyncio.Semaphore(threads)
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="heavy")  # for nothing else, so it is not taken
        self._jobs: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()

    def at_once(self, organization: str) -> int:
        """Return how many routing steps the event loop does for the organization before it uses a thread."""
        return BUSY_AT_ONCE if self._jobs and organization.casefold() in self._jobs else AT_ONCE

    async def route(self, organization: str, work: Callable[[int | None], _Done]) -> _Done:
        """Return the result of ``work``, run here if it is small and in a thread if not.

        ``work`` is called with the number of steps that may be done at once, for its ``Budget``.
        """
        try:
            return work(self.at_once(organization))
        except TooMuchAtOnce:
            pass  # not here: the traceback would keep the documents
        return await self.run(organization, lambda: work(None), bounded=False)

    async def run(self, organization: str, work: Callable[[], _Done], size: int = 0, *, bounded: bool = True) -> _Done:
        """Run ``work`` in a thread; ``size`` is the memory it holds while it waits.

        If it is bounded, raises Refused with ``rate.exceeded`` when too much work of the organization waits already.
        """
        return await run_to_completion(self._run(self.slot(organization, size, bounded=bounded), work))

    async def _run(self, turn: AbstractAsyncContextManager[None], work: Callable[[], _Done]) -> _Done:
        async with turn, self._threads:
            _switching.begin()
            try:
                done = await asyncio.get_running_loop().run_in_executor(self._executor, _without_traceback, work)
            finally:
                _switching.end()
        if isinstance(done, PostroadError):
            raise done
        return done

    @asynccontextmanager
    async def slot(self, organization: str, size: int = 0, *, bounded: bool = True) -> AsyncIterator[None]:
        """Hold the organization's slot for heavy work that runs elsewhere.

        If it is bounded, raises Refused when too much work waits already.
        """
        who = organization.casefold()
        if bounded and self._is_full(who, size):
            raise Refused(
                "rate.exceeded",
                "Too many large messages or expensive requests of your organization are waiting; send fewer at a time",
                retry_after_s=1,
            )
        self._jobs[who] += 1
        self._bytes[who] += size
        try:
            async with self._slots.slot(who):
                yield
        finally:
            self._jobs[who] -= 1
            self._bytes[who] -= size
            if not self._jobs[who]:
                del self._jobs[who], self._bytes[who]

    def _is_full(self, who: str, size: int) -> bool:
        if who not in self._jobs:
            return False
        return self._jobs[who] >= WAITING_JOBS or self._bytes[who] + size > WAITING_BYTES


def _without_traceback(work: Callable[[], _Done]) -> _Done | PostroadError:
    """Return the result or the raised PostroadError, without references into this thread."""
    try:
        return work()
    except PostroadError as error:
        error.__context__ = error.__cause__ = None
        return error.with_traceback(None)
