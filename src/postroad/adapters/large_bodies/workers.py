"""The server's pool of processes that read large bodies."""

from __future__ import annotations

from postroad.adapters.confined.frames import SourceAnswers
from postroad.adapters.confined.pool import WorkerPool
from postroad.adapters.large_bodies.frames import ReadingCall, read_answer
from postroad.core.metrics.registry import Metrics
from postroad.errors import Refused
from postroad.flow.stages.body_reader import LargeBody, ReadBody

ENGINE = "postroad.adapters.large_bodies.engine"
DEADLINE_S = 30.0
MEMORY_BYTES = 1 << 30


class ReadingWorkers(WorkerPool):
    """Belongs to one event loop; starts nothing before the first large body comes."""

    engine = ENGINE
    label = "reader"

    def __init__(
        self,
        *,
        processes: int = 1,
        deadline_s: float = DEADLINE_S,
        memory_bytes: int = MEMORY_BYTES,
        metrics: Metrics | None = None,
    ) -> None:
        super().__init__(processes=processes, deadline_s=deadline_s, memory_bytes=memory_bytes, metrics=metrics)

    async def read(self, large: LargeBody) -> ReadBody:
        """Reads a body; raises Refused with ``wire.too-complex`` if that exceeds the worker's limits."""
        outcome = await self.attempt(ReadingCall(large))
        if isinstance(outcome, SourceAnswers) or outcome.code:
            detail = (
                f"the body cannot be read within {self._terms.deadline_s:g} seconds and the memory that it is given"
            )
            raise Refused("wire.too-complex", f"{detail}; make it smaller or simpler")
        return read_answer(outcome.output)
