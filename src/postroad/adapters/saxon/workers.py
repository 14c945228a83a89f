"""The pool: transforms and queries run in confined worker processes, one call at a time each, with a deadline.

Kept rules: nothing of Saxon is ever loaded into the server. Workers are started when first needed, so a network without
stylesheets pays nothing. A worker lost costs its own call alone; whoever is waiting gets the next one. Transforms have no
effects, so a call whose worker was killed from outside is simply made again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from postroad.adapters.saxon.frames import (
    LARGEST_SOURCE_BYTES,
    Answers,
    Batch,
    Outcome,
    Task,
    Terms,
    Work,
    output_limit,
)
from postroad.adapters.saxon.penalties import PenaltyBox
from postroad.adapters.saxon.settings import SETTINGS
from postroad.adapters.saxon.worker import Death, Worker, WorkerDied
from postroad.core.codecs.xml import to_utf8
from postroad.errors import Refused, Unavailable

DEADLINE_S = 5.0
MEMORY_BYTES = 512 * 1024 * 1024
RECYCLE_AFTER = 100_000  # Saxon keeps some 250 bytes a call
TRIES = 2

log = logging.getLogger(__name__)


class SaxonWorkers:
    """Compiles and applies stylesheets, and answers queries. All methods belong to one event loop."""

    def __init__(
        self,
        *,
        processes: int = 1,
        deadline_s: float = DEADLINE_S,
        memory_bytes: int = MEMORY_BYTES,
        recycle_after: int = RECYCLE_AFTER,
        penalties: PenaltyBox | None = None,
    ) -> None:
        self._terms = Terms(memory_bytes=memory_bytes, deadline_s=deadline_s, settings=SETTINGS)
        self._recycle_after = recycle_after
        self._penalties = penalties or PenaltyBox()
        self._processes = processes
        self._seats = asyncio.Semaphore(processes)
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._closed = False
        self._closing = asyncio.Lock()

    @property
    def process_ids(self) -> list[int]:
        """Of the workers that exist now, idle and busy."""
        return [worker.pid for worker in (*self._idle, *self._busy)]

    async def warm(self) -> None:
        """Start one worker if there is none yet, so that the first call does not wait; Misconfigured if it cannot be locked."""
        async with self._seats:
            if not self._idle:
                self._idle.append(await self._started())

    async def check(self, stylesheet: str) -> None:
        """Compile it; Refused with ``stylesheet.invalid``, naming line and fault, when that fails."""
        await self._perform(Work(task="check", source=_checked(stylesheet)))

    async def transform(self, stylesheet: str, document: bytes, parameters: Mapping[str, str]) -> bytes:
        """The document as the stylesheet makes it, in UTF-8, in the method that its ``xsl:output`` names."""
        return await self._perform(_work("transform", stylesheet, document, parameters))

    async def query(self, query: str, document: bytes) -> bytes:
        """The serialized answer to an XQuery about the document."""
        return await self._perform(_work("query", query, document, {}))

    async def close(self) -> None:
        """End every worker; calls under way are refused as unavailable, and so is whatever comes later."""
        self._closed = True
        idle, self._idle = self._idle, []
        for worker in self._busy:
            worker.kill()
        for worker in idle:
            await worker.end()
        async with self._closing:
            for _ in range(self._processes):  # whoever still has a seat sees its worker die, cleans up, and leaves
                await self._seats.acquire()
            for _ in range(self._processes):
                self._seats.release()

    @property
    def penalties(self) -> PenaltyBox:
        return self._penalties

    # ---- one call

    async def _perform(self, work: Work) -> bytes:
        self._penalties.check(work.source)
        async with self._seats:
            self._penalties.check(work.source)  # those before it in the queue may have filled the box
            outcome = await self._attempt(work, tries=TRIES)
        if isinstance(outcome, Answers):
            raise Unavailable(
                "network.unavailable", "A transform worker answered something else; try again in a moment"
            )
        if outcome.code:
            place = f"line {outcome.line}" if outcome.line else ""
            detail = f"{place}: {outcome.detail}" if place else outcome.detail
            raise Refused(outcome.code, _advice(outcome.code, detail), pointer=place)
        return outcome.output

    async def attempt(self, work: Work | Batch) -> Outcome | Answers:
        """What a worker says, or why it died; for callers that look after their own penalties."""
        async with self._seats:
            return await self._attempt(work, tries=TRIES)

    async def _attempt(self, work: Work | Batch, tries: int) -> Outcome | Answers:
        worker = self._idle.pop() if self._idle else await self._started()
        self._busy.add(worker)
        try:
            outcome = await worker.call(work, self._terms.deadline_s)
        except WorkerDied as died:
            cause = died
        else:
            await self._settle(worker, outcome, work)
            return outcome
        finally:
            self._busy.discard(worker)
        return await self._after_death(cause, work, tries - 1)

    async def _settle(self, worker: Worker, outcome: Outcome | Answers, work: Work | Batch) -> None:
        """Keep the worker for the next call, or not."""
        out_of_memory = outcome.code == Death.MEMORY.value  # it lives, but what it has left is not worth having
        if out_of_memory and work.source:
            self._penalties.record(work.source)
        if self._closed or out_of_memory or worker.calls >= self._recycle_after:
            await worker.end()
        else:
            self._idle.append(worker)

    async def _after_death(self, died: WorkerDied, work: Work | Batch, tries: int) -> Outcome | Answers:
        self._refuse_when_closed()
        log.warning("transform worker ended: %s", died)
        if died.death is Death.FROM_OUTSIDE:
            if tries:
                return await self._attempt(work, tries)
            raise Unavailable("network.unavailable", "The transform workers are being killed; try again in a moment")
        if work.source:
            self._penalties.record(work.source)
        return Outcome(code=died.death.value, detail=_epitaph(died.death, self._terms))

    # ---- workers

    async def _started(self) -> Worker:
        self._refuse_when_closed()
        worker = await Worker.start(self._terms)
        try:
            self._refuse_when_closed()
        except Unavailable:
            await worker.end()
            raise
        return worker

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise Unavailable("network.unavailable", "The transform workers are stopping; try again in a moment")


def _work(task: Task, source: str, document: bytes, parameters: Mapping[str, str]) -> Work:
    utf8 = to_utf8(document)
    return Work(
        task=task,
        source=_checked(source),
        document=utf8,
        parameters=dict(parameters),
        output_limit=output_limit(len(utf8)),
    )


def _checked(source: str) -> str:
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        raise Refused("stylesheet.invalid", "The text is not Unicode; send it in UTF-8") from None
    if size > LARGEST_SOURCE_BYTES:
        detail = f"The stylesheet has {size} bytes and may have {LARGEST_SOURCE_BYTES}; split it into several services"
        raise Refused("stylesheet.invalid", detail)
    return source


def _epitaph(death: Death, terms: Terms) -> str:
    return {
        Death.DEADLINE: f"it ran for {terms.deadline_s:g} seconds and was stopped",
        Death.MEMORY: f"it needed more than {terms.memory_bytes // 1024**2} MiB of memory",
        Death.TOO_MUCH: "it made more output than is allowed from this document",
    }.get(death, "the engine broke down over it")


def _advice(code: str, detail: str) -> str:
    if code == "stylesheet.invalid":
        return f"The stylesheet does not compile: {detail}"
    return f"The transform failed: {detail}. Correct the stylesheet, or the document that it was given"
