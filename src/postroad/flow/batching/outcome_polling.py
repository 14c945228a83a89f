"""Selects the batches of a send port whose interchange outcome is checked next.

Rules: outcomes on this node are reported to the poller, and stay marked until it has checked them. All other batches
are checked in turn, since another node or a resent dead letter may have changed them. A turn checks a limited number
of batches, so that checking never delays gathering.
"""

from __future__ import annotations

from collections.abc import Sequence

from postroad.core.model.batch import Batch, BatchState
from postroad.flow.registries.batches import BatchStore
from postroad.ports import Clock

POLL_S = 2.0  # between turns of all that are being sent
RECHECK_S = 30.0  # also of those that are suspended: someone may have had their interchange resent
AT_ONCE = 200  # batches in a turn
FIRST = (0, "")


class RoundRobin:
    """Goes through the batches in one state in their order, a few at a time."""

    def __init__(self, state: BatchState, every_s: float) -> None:
        self._state = state
        self._every_s = every_s
        self._at = 0.0  # monotonic
        self._after = FIRST

    def take(self, batches: Sequence[Batch], now: float) -> set[str]:
        """Return the ids of the next batches to check; pauses after each full round."""
        if now < self._at:
            return set()
        waiting = [batch for batch in batches if batch.state is self._state and _place(batch) > self._after]
        some = waiting[:AT_ONCE]
        if len(some) < len(waiting):
            self._after = _place(some[-1])
        else:
            self._after, self._at = FIRST, now + self._every_s
        return {batch.id for batch in some}


class OutcomePolling:
    """Decides which closed batches to check: those with a notification at once, all others in turn."""

    def __init__(self, book: BatchStore, gcid: str, clock: Clock) -> None:
        self._book = book
        self._gcid = gcid
        self._clock = clock
        self._watched: set[int] = set()  # deliveries of interchanges
        self._told: set[int] = set()  # those of them that have come to their end
        self._turns = (RoundRobin(BatchState.ASSEMBLED, POLL_S), RoundRobin(BatchState.SUSPENDED, RECHECK_S))

    def tell(self, delivery: int) -> None:
        """Record that this interchange delivery may have ended."""
        self._told.add(delivery)

    def follow(self, batches: Sequence[Batch]) -> None:
        """Check batches that were read from the index; their end before watching began was not reported."""
        sent = {batch.delivery for batch in batches if batch.state is BatchState.ASSEMBLED}
        for delivery in self._watched - sent:
            self.unwatch(delivery)
        for delivery in sent - self._watched:
            self.watch(delivery)
            self._told.add(delivery)

    def watch(self, delivery: int) -> None:
        """Request a notification when this delivery ends on this node."""
        self._watched.add(delivery)
        self._book.watch(delivery, self._gcid)

    def unwatch(self, delivery: int) -> None:
        self._watched.discard(delivery)
        self._book.unwatch(delivery)

    def turn(self, batches: Sequence[Batch]) -> set[str]:
        """Return the ids of the closed batches to check now, in the order in which they were closed."""
        now = self._clock.monotonic()
        if self._told:
            self._told.intersection_update([batch.delivery for batch in batches])
        return set[str]().union(*[turns.take(batches, now) for turns in self._turns])

    def has_notification(self, batch: Batch) -> bool:
        """Whether there is a notification for this batch."""
        return batch.delivery in self._told

    def looked_at(self, batch: Batch) -> None:
        """Clear the batch's notification; later ones are reported again."""
        self._told.discard(batch.delivery)


def _place(batch: Batch) -> tuple[int, str]:
    return batch.closed_at_us, batch.id
