"""Batches without members, for scheduled times at which nothing was gathered."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from postroad.core.batching import next_empty
from postroad.core.batching.moves import closed_empty
from postroad.core.model import ids
from postroad.core.model.batch import Batch
from postroad.core.model.batch_policy import Policy, Port

NO_RANDOMNESS = b"\0\0\0\0"


def empty_batches(policy: Policy, port: Port, gathered: Iterable[Batch], until_us: int) -> list[Batch]:
    """Those that are due after the first message came and until a moment, while no batch was open."""
    open_for = deque(sorted((batch.opened_at_us, batch.closed_at_us or until_us) for batch in gathered))
    found: list[Batch] = []
    due = next_empty(policy, port, open_for[0][0]) if open_for else None
    open_until_us = 0  # the latest closing of the batches that were opened by then
    while due is not None and due.when_us is not None and due.when_us <= until_us:
        at_us = due.when_us
        while open_for and open_for[0][0] <= at_us:
            open_until_us = max(open_until_us, open_for.popleft()[1])
        if open_until_us < at_us:
            found.append(closed_empty(ids.short(at_us, NO_RANDOMNESS), due.why, at_us))
        due = next_empty(policy, port, at_us)
    return found
