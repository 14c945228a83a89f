"""The pool of processes that read large bodies; the server's end."""

from __future__ import annotations

from postroad.adapters.confined.frames import Answers, Terms
from postroad.adapters.confined.pool import WorkerPool
from postroad.adapters.reading.frames import Reading, read_answer
from postroad.errors import Refused
from postroad.flow.reading import LargeBody, ReadBody

ROOM = "postroad.adapters.reading.worker_main"
DEADLINE_S = 30.0
MEMORY_BYTES = 1 << 30
RECYCLE_AFTER = 100_000


class ReadingWorkers(WorkerPool):
    """Belongs to one event loop; starts nothing before the first large body comes."""

    def __init__(self, *, processes: int = 1, deadline_s: float = DEADLINE_S, memory_bytes: int = MEMORY_BYTES) -> None:
        terms = Terms(memory_bytes=memory_bytes, deadline_s=deadline_s)
        super().__init__(terms, room=ROOM, processes=processes, recycle_after=RECYCLE_AFTER, penalties=None)

    async def read(self, large: LargeBody) -> ReadBody:
        """What the body is; raises Refused with ``wire.too-complex`` when it cannot be read within the limits."""
        outcome = await self.attempt(Reading(large))
        if isinstance(outcome, Answers) or outcome.code:
            detail = (
                f"the body cannot be read within {self._terms.deadline_s:g} seconds and the memory that it is given"
            )
            raise Refused("wire.too-complex", f"{detail}; make it smaller or simpler")
        return read_answer(outcome.output)
