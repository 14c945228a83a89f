"""The batches that a batcher has in memory, with decisions that are not stored yet.

Rules: nothing here waits or stores. A decision that is not stored can be withdrawn, and then its messages arrive
again; until then each arrives only once. Closing a batch is part of the write that causes it, so that writes do not
depend on each other.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from postroad.core.batching import ArrivingMessage, BatchDue, add_to_batch, close_if_due, find_due, next_empty_batch
from postroad.core.model.batch import Batch, BatchMember, BatchState
from postroad.core.model.batch_policy import BatchPolicy, Port

SETTLED = frozenset({BatchState.SENT, BatchState.DROPPED, BatchState.DISSOLVED})


class TimedArrival(Struct, gc=False, frozen=True):
    """An arrival for a batch and its time."""

    arrival: ArrivingMessage
    at_us: int


class BatchWrite(Struct):
    """A batch with the members that joined since it was last stored, and the batch that their arrival closed."""

    batch: Batch
    before: Batch | None
    arrivals: list[TimedArrival]

    @property
    def batches(self) -> tuple[Batch, ...]:
        return (self.batch,) if self.before is None else (self.before, self.batch)

    @property
    def joined(self) -> list[BatchMember]:
        return [one.arrival.member for one in self.arrivals]


class PendingBatches:
    """The unsettled batches of one batcher; decides in memory which batch an arrival joins and what is due."""

    def __init__(self, service: str) -> None:
        self._service = service
        self._policy, self._port = BatchPolicy(), Port()
        self._batches: dict[str, Batch] = {}  # unsettled ones
        self._open: dict[tuple[str, ...], str] = {}
        self._writes: dict[str, BatchWrite] = {}
        self._timers: list[tuple[int, str]] = []  # a heap; what is in it may have been put off since
        self._unsaved: set[int] = set()  # deliveries that have arrived and are not stored

    def follow(self, policy: BatchPolicy, port: Port) -> bool:
        """Apply this policy from now on; returns whether it differs from the previous one."""
        if (policy, port) == (self._policy, self._port):
            return False
        self._policy, self._port = policy, port
        self._timers = []
        for batch in self._batches.values():
            self._remind(batch)
        return True

    def read(self, batches: Iterable[Batch]) -> None:
        """Replace all batches in memory by these; nothing may be unsaved."""
        self._batches, self._open, self._timers = {}, {}, []
        for batch in sorted(batches, key=lambda batch: batch.id):
            self.note(batch)

    def note(self, batch: Batch) -> None:
        """Update one batch in memory."""
        if self._open.get(batch.key) == batch.id and batch.state is not BatchState.OPEN:
            del self._open[batch.key]
        if batch.state in SETTLED:
            self._batches.pop(batch.id, None)
            return
        self._batches[batch.id] = batch
        if batch.state is BatchState.OPEN:
            self._open[batch.key] = batch.id
            self._remind(batch)

    def add(self, arrived: TimedArrival, new_id: str) -> bool:
        """Add an arrival to its batch; True if that opened batch ``new_id``.

        A message that was handed out again because it stayed unsaved for too long is already there.
        """
        arrival, at_us = arrived.arrival, arrived.at_us
        if arrival.member.number in self._unsaved:
            return False
        current = self._batches.get(self._open.get(arrival.key, ""))
        batch, before = add_to_batch(self._policy, self._port, arrival, current, new_id, at_us)
        if batch is None:
            raise ValueError("a message that is passed on alone joins no batch")
        self._unsaved.add(arrival.member.number)
        is_new = batch.id == new_id
        batch = replace(batch, service=self._service) if is_new else batch
        if before is not None:
            self.note(before)
            if (write := self._writes.get(before.id)) is not None:
                write.batch, before = before, None
        self._write(batch, before, arrived)
        return is_new

    def _write(self, batch: Batch, before: Batch | None, arrived: TimedArrival) -> None:
        write = self._writes.get(batch.id)
        if write is None:
            self._writes[batch.id] = BatchWrite(batch, before, [arrived])
            self.note(batch)
            return
        write.batch = batch
        write.arrivals.append(arrived)
        # Timers are looked at again when they go off, and no message brings one nearer: nothing but the batch has changed.
        if batch.state is BatchState.OPEN and self._port.batcher is None:
            self._batches[batch.id] = batch
        else:
            self.note(batch)

    def drain(self) -> list[BatchWrite]:
        """Return and forget all unsaved writes; the caller owns them now."""
        writes = list(self._writes.values())
        self._writes, self._unsaved = {}, set()
        return writes

    def overdue(self, now_us: int) -> list[Batch]:
        """Return the batches whose timers have elapsed, in their new state; requires that all arrivals are saved."""
        found = []
        while self._timers and self._timers[0][0] <= now_us:
            _, batch_id = heapq.heappop(self._timers)
            batch = self._batches.get(batch_id)
            if batch is None or batch.state is not BatchState.OPEN:
                continue
            after = close_if_due(self._policy, self._port, batch, now_us)
            if after is batch:
                self._remind(batch)
            else:
                found.append(after)
        return found

    @property
    def unsaved(self) -> int:
        """The number of arrivals that are not stored yet."""
        return len(self._unsaved)

    @property
    def has_completed(self) -> bool:
        """Whether an unsaved write closes a batch."""
        return any(batch.state is not BatchState.OPEN for write in self._writes.values() for batch in write.batches)

    def has_gathered_at(self, at_us: int) -> bool:
        """Whether a batch was open at a scheduled time."""
        return any(
            batch.opened_at_us <= at_us and (batch.state is BatchState.OPEN or batch.closed_at_us >= at_us)
            for batch in self._batches.values()
        )

    def next_us(self) -> int | None:
        return self._timers[0][0] if self._timers else None

    def next_empty(self, after_us: int) -> BatchDue | None:
        return next_empty_batch(self._policy, self._port, after_us)

    @property
    def opened(self) -> list[Batch]:
        return [self._batches[batch_id] for batch_id in self._open.values()]

    @property
    def superseded(self) -> list[Batch]:
        """Open batches that get no more members, because a later one was opened for the same messages."""
        return [
            batch
            for batch in self._batches.values()
            if batch.state is BatchState.OPEN and self._open.get(batch.key) != batch.id
        ]

    @property
    def closed_batches(self) -> list[Batch]:
        """Batches that are closed but not settled, in the order in which they were closed."""
        past = [batch for batch in self._batches.values() if batch.state is not BatchState.OPEN]
        return sorted(past, key=lambda batch: (batch.closed_at_us, batch.id))

    def _remind(self, batch: Batch) -> None:
        if batch.state is BatchState.OPEN:
            when_us = find_due(self._policy, self._port, batch).when_us
            if when_us is not None:
                heapq.heappush(self._timers, (when_us, batch.id))
