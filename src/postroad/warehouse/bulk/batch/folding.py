"""Folds arrivals into batches with the batcher's own functions, including empty batches at scheduled times.

Rules: keys are processed one after the other, so only one batch is open at a time, and its members are consecutive. A
batch that no message and no time closes stays open, unless closing is requested.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from typing import Any, NamedTuple

from postroad.core.batching import ArrivingMessage, add_to_batch, close_if_due, next_empty_batch
from postroad.core.batching.moves import close_empty_batch, release_batch
from postroad.core.model import ids
from postroad.core.model.batch import Batch, BatchState
from postroad.core.model.batch_policy import BatchPolicy, Port

NO_RANDOMNESS = b"\0\0\0\0"


def make_empty_batches(policy: BatchPolicy, port: Port, gathered: Iterable[Batch], until_us: int) -> list[Batch]:
    """Return the batches due between the first message and a time while no batch was open."""
    open_for = deque(sorted((batch.opened_at_us, batch.closed_at_us or until_us) for batch in gathered))
    found: list[Batch] = []
    due = next_empty_batch(policy, port, open_for[0][0]) if open_for else None
    open_until_us = 0  # the latest closing of the batches that were opened by then
    while due is not None and due.when_us is not None and due.when_us <= until_us:
        at_us = due.when_us
        while open_for and open_for[0][0] <= at_us:
            open_until_us = max(open_until_us, open_for.popleft()[1])
        if open_until_us < at_us:
            found.append(close_empty_batch(ids.short(at_us, NO_RANDOMNESS), due.why, at_us))
        due = next_empty_batch(policy, port, at_us)
    return found


NO_END_US = 1 << 62


class BatchArrival(NamedTuple):
    """An arrived message, and the row to store with it."""

    arrival: ArrivingMessage
    at_us: int
    row: Any


class JoinedBatch(NamedTuple):
    """A message joined a batch, which may still be open."""

    batch: str
    come: BatchArrival


class FinishedBatch(NamedTuple):
    """A batch is complete; it contains all joins since the one before."""

    batch: Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFolding:
    """The policy to fold by, and how far time continues after the last message."""

    policy: BatchPolicy
    port: Port
    until_us: int = NO_END_US
    release: bool = False  # what is still open then is closed

    def batches(self, coming: Iterable[BatchArrival]) -> Iterator[JoinedBatch | FinishedBatch]:
        """Yield joins and finished batches; arrivals are ordered by key, then by time."""
        for key, of_key in groupby(coming, key=lambda one: one.arrival.key):
            yield from self._of_key(key, of_key)

    def _of_key(self, key: tuple[str, ...], coming: Iterable[BatchArrival]) -> Iterator[JoinedBatch | FinishedBatch]:
        current: Batch | None = None
        for place, one in enumerate(coming):
            batch, before = add_to_batch(
                self.policy, self.port, one.arrival, current, _batch_id(key, place, one.at_us), one.at_us
            )
            if before is not None:
                yield FinishedBatch(before)
            if batch is None:
                raise ValueError("what goes by itself does not come to a batch")
            yield JoinedBatch(batch.id, one)
            current = batch if batch.state is BatchState.OPEN else None
            if current is None:
                yield FinishedBatch(batch)
        if current is not None:
            yield FinishedBatch(self._at_the_end(current))

    def _at_the_end(self, batch: Batch) -> Batch:
        batch = close_if_due(self.policy, self.port, batch, self.until_us)
        is_asked_for = self.release and batch.state is BatchState.OPEN
        return release_batch(batch, batch.changed_at_us, "the operator") if is_asked_for else batch


def _batch_id(key: tuple[str, ...], place: int, at_us: int) -> str:
    """Return an id that depends only on the messages."""
    return ids.short(at_us, blake2b(repr((key, place)).encode(), digest_size=4).digest())
