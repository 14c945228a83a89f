"""Pool of confined worker processes: each runs one call at a time, with a deadline.

Rules: workers are started on first use, so a network that does not need them pays nothing. A lost worker costs only
its own call; waiting callers get the next one. Calls have no effects, so a call whose worker was killed from outside
is repeated.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from hashlib import sha256
from time import monotonic
from typing import ClassVar

from postroad.adapters.confined.frames import SourceAnswers, WorkerCall, WorkerOutcome, WorkerTerms
from postroad.adapters.confined.worker import Death, Worker, WorkerDied
from postroad.core.metrics.declaration import OTHER
from postroad.core.metrics.registry import Metrics
from postroad.errors import Refused, Unavailable
from postroad.flow.concurrency.trial_limit import TrialLimit

TRIES = 2
DEADLINE_S = 5.0
MEMORY_BYTES = 512 * 1024 * 1024
RECYCLE_AFTER = 100_000  # calls; Saxon keeps some 250 bytes of each

CAUSES = {  # why a worker ended, as the metrics label it
    Death.DEADLINE: "deadline",
    Death.MEMORY: "memory",
    Death.TOO_MUCH: "output",
    Death.FROM_OUTSIDE: "outside",
}

log = logging.getLogger(__name__)
KILLS_ALLOWED = 5
MEMORY_S = 3_600.0


class PenaltyBox:
    """Penalty box: refuses a source for a while after it has killed several workers.

    Rule: only failures that the source itself caused count (deadline exceeded, memory used up, engine crashed). They are
    forgotten after an hour, so the refusal ends by itself.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kills: dict[bytes, deque[float]] = {}

    def check(self, source: str, what: str = "stylesheet") -> None:
        """Refuse a source that sits in the box."""
        if not self._kills:
            return
        self._forget()
        kills = self._kills.get(_digest(source))
        if kills is None or len(kills) < KILLS_ALLOWED:
            return
        minutes = int((kills[0] + MEMORY_S - self._clock()) // 60) + 1
        raise Refused(
            "transform.suspended",
            f"This {what} was stopped {len(kills)} times within an hour and is suspended for {minutes} minutes; correct and "
            "save it, and the new version runs at once",
        )

    def suspects(self, source: str) -> bool:
        """Whether a worker has died of this source lately."""
        return bool(self._kills) and _digest(source) in self._kills

    def record(self, source: str) -> None:
        """Remember that a worker died of this source."""
        self._kills.setdefault(_digest(source), deque(maxlen=KILLS_ALLOWED)).append(self._clock())

    def _forget(self) -> None:
        oldest = self._clock() - MEMORY_S
        for digest, kills in list(self._kills.items()):
            while kills and kills[0] <= oldest:
                kills.popleft()
            if not kills:
                del self._kills[digest]


def _digest(source: str) -> bytes:
    return sha256(source.encode()).digest()


class WorkerPool:
    """Processes with one engine (``worker_main``). All methods belong to one event loop."""

    engine: ClassVar[str]
    label: ClassVar[str]  # of the engine, in metrics
    settings: ClassVar[tuple[tuple[str, str], ...]] = ()

    def __init__(
        self,
        *,
        processes: int = 1,
        deadline_s: float = DEADLINE_S,
        memory_bytes: int = MEMORY_BYTES,
        recycle_after: int = RECYCLE_AFTER,
        penalties: PenaltyBox | None = None,
        trial_limit: TrialLimit | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self._terms = WorkerTerms(memory_bytes=memory_bytes, deadline_s=deadline_s, settings=self.settings)
        self._recycle_after = recycle_after
        self._penalties = penalties or PenaltyBox()
        self._trial_limit = trial_limit  # acquired before waiting for a worker; None: first come, first served
        self._processes = processes
        metrics = metrics or Metrics()
        self._calls = metrics.counter("engine_calls_total", self.label)
        self._call_seconds = metrics.histogram("engine_seconds", self.label)
        self._kills = metrics.counters("engine_kills_total")
        metrics.on_read(lambda: metrics.gauge("engine_workers", self.label).set(len(self.process_ids)))
        self._seats = asyncio.Semaphore(processes)
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._closed = False
        self._closing = asyncio.Lock()

    @property
    def process_ids(self) -> list[int]:
        """Process IDs of the workers that exist now, idle and busy."""
        return [worker.pid for worker in (*self._idle, *self._busy)]

    @property
    def penalties(self) -> PenaltyBox:
        return self._penalties

    async def warm(self) -> None:
        """Start one worker if there is none yet, so that the first call does not wait; Misconfigured if it cannot be locked."""
        async with self._seats:
            if not self._idle:
                self._idle.append(await self._started())

    async def close(self) -> None:
        """End every worker; calls under way are refused as unavailable, and so is whatever comes later."""
        self._closed = True
        idle, self._idle = self._idle, []
        for worker in self._busy:
            worker.kill()
        for worker in idle:
            await worker.end()
        async with self._closing:
            for _ in range(self._processes):  # a caller with a seat sees its worker die, cleans up, and leaves
                await self._seats.acquire()
            for _ in range(self._processes):
                self._seats.release()

    # ---- one call

    async def attempt(self, call: WorkerCall) -> WorkerOutcome | SourceAnswers:
        """Runs a call and returns its outcome, or why the worker died. The caller handles penalties."""
        with self._measured():
            async with self._turn(), self._seats:
                return await self._attempt(call, tries=TRIES)

    async def checked_attempt(self, call: WorkerCall) -> WorkerOutcome | SourceAnswers:
        """Runs a call unless its source is in the penalty box; returns the outcome, or why the worker died."""
        self._penalties.check(call.source)
        with self._measured():
            return await self._checked_attempt(call)

    async def _checked_attempt(self, call: WorkerCall) -> WorkerOutcome | SourceAnswers:
        async with self._turn(), self._seats:
            self._penalties.check(call.source)  # those before it in the queue may have filled the box
            return await self._attempt(call, tries=TRIES)

    @contextmanager
    def _measured(self) -> Iterator[None]:
        """Count a call, and measure it with its wait for a worker."""
        began = monotonic()
        try:
            yield
        finally:
            self._calls.value += 1
            self._call_seconds.observe(monotonic() - began)

    def _turn(self) -> AbstractAsyncContextManager[None]:
        return self._trial_limit.slot() if self._trial_limit is not None else nullcontext()

    async def _attempt(self, call: WorkerCall, tries: int) -> WorkerOutcome | SourceAnswers:
        worker = self._idle.pop() if self._idle else await self._started()
        self._busy.add(worker)
        try:
            outcome = await worker.call(call, self._terms.deadline_s)
        except WorkerDied as died:
            cause = died
        else:
            await self._settle(worker, outcome, call)
            return outcome
        finally:
            self._busy.discard(worker)
        return await self._after_death(cause, call, tries - 1)

    async def _settle(self, worker: Worker, outcome: WorkerOutcome | SourceAnswers, call: WorkerCall) -> None:
        """Keep the worker for the next call, or not."""
        out_of_memory = outcome.code == Death.MEMORY.value  # it lives, but what it has left is not worth having
        if out_of_memory:
            self._kills.of(self.label, CAUSES[Death.MEMORY]).value += 1
        if out_of_memory and call.source:
            self._penalties.record(call.source)
        if self._closed or out_of_memory or worker.calls >= self._recycle_after:
            await worker.end()
        else:
            self._idle.append(worker)

    async def _after_death(self, died: WorkerDied, call: WorkerCall, tries: int) -> WorkerOutcome | SourceAnswers:
        self._refuse_when_closed()
        self._kills.of(self.label, CAUSES.get(died.death, OTHER)).value += 1
        log.warning("engine.worker_ended: worker ended: %s", died)
        if died.death is Death.FROM_OUTSIDE:
            if tries:
                return await self._attempt(call, tries)
            raise Unavailable("network.unavailable", "The transform workers are being killed; try again in a moment")
        if call.source:
            self._penalties.record(call.source)
        return WorkerOutcome(code=died.death.value, detail=_death_refusal_text(died.death, self._terms))

    # ---- workers

    async def _started(self) -> Worker:
        self._refuse_when_closed()
        worker = await Worker.start(self._terms, self.engine)
        try:
            self._refuse_when_closed()
        except Unavailable:
            await worker.end()
            raise
        return worker

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise Unavailable("network.unavailable", "The transform workers are stopping; try again in a moment")


def _death_refusal_text(death: Death, terms: WorkerTerms) -> str:
    return {
        Death.DEADLINE: f"it ran for {terms.deadline_s:g} seconds and was stopped",
        Death.MEMORY: f"it needed more than {terms.memory_bytes // 1024**2} MiB of memory",
        Death.TOO_MUCH: "its output is larger than allowed for this document",
    }.get(death, "the engine failed")
