"""The server's pool of processes that run scripts."""

from __future__ import annotations

from postroad.adapters.confined.frames import WorkerTerms
from postroad.adapters.confined.penalty_box import PenaltyBox
from postroad.adapters.confined.pool import WorkerPool
from postroad.flow.concurrency.trial_limit import TrialLimit

ENGINE = "postroad.adapters.scripts.engine"
DEADLINE_S = 5.0
MEMORY_BYTES = 512 * 1024 * 1024
RECYCLE_AFTER = 100_000


def script_workers(
    *,
    processes: int = 1,
    deadline_s: float = DEADLINE_S,
    memory_bytes: int = MEMORY_BYTES,
    recycle_after: int = RECYCLE_AFTER,
    penalties: PenaltyBox | None = None,
    trial_limit: TrialLimit | None = None,
) -> WorkerPool:
    """Belongs to one event loop; starts nothing before the first script is asked."""
    terms = WorkerTerms(memory_bytes=memory_bytes, deadline_s=deadline_s, settings=())
    return WorkerPool(
        terms,
        engine=ENGINE,
        processes=processes,
        recycle_after=recycle_after,
        penalties=penalties,
        trial_limit=trial_limit,
    )
