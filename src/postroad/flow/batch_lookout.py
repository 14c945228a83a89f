"""Which batches of a send port are to be looked at now, because something may have become of their interchanges.

Kept rules: what comes to its end on this node is told, and stays so until it was looked at; all others come to their turn, since
another node, or somebody with a dead letter, may have done something. However many there are, a turn has only some of them, and
looking keeps nobody from gathering.
"""

from __future__ import annotations

from collections.abc import Sequence

from postroad.core.model.batch import Batch, BatchState
from postroad.flow.batch_book import BatchBook
from postroad.ports import Clock

LOOK_S = 2.0  # between turns of all that are being sent
LOOK_BACK_S = 30.0  # likewise of those that are suspended: somebody may have had their interchange resent
AT_ONCE = 200  # batches in a turn
FIRST = (0, "")


class Turns:
    """Goes round those in one state, in their order."""

    def __init__(self, state: BatchState, every_s: float) -> None:
        self._state = state
        self._every_s = every_s
        self._at = 0.0  # monotonic
        self._after = FIRST

    def take(self, batches: Sequence[Batch], now: float) -> set[str]:
        """The ids of those whose turn it is; who comes after them is next, and when all were, everybody rests."""
        if now < self._at:
            return set()
        waiting = [batch for batch in batches if batch.state is self._state and _place(batch) > self._after]
        some = waiting[:AT_ONCE]
        if len(some) < len(waiting):
            self._after = _place(some[-1])
        else:
            self._after, self._at = FIRST, now + self._every_s
        return {batch.id for batch in some}


class Lookout:
    def __init__(self, book: BatchBook, gcid: str, clock: Clock) -> None:
        self._book = book
        self._gcid = gcid
        self._clock = clock
        self._watched: set[int] = set()  # deliveries of interchanges
        self._told: set[int] = set()  # those of them that have come to their end
        self._turns = (Turns(BatchState.ASSEMBLED, LOOK_S), Turns(BatchState.SUSPENDED, LOOK_BACK_S))

    def tell(self, delivery: int) -> None:
        """This delivery of an interchange may have come to its end."""
        self._told.add(delivery)

    def follow(self, batches: Sequence[Batch]) -> None:
        """These were read from the index: what came to its end before it was watched, nobody tells."""
        sent = {batch.delivery for batch in batches if batch.state is BatchState.ASSEMBLED}
        for delivery in self._watched - sent:
            self.unwatch(delivery)
        for delivery in sent - self._watched:
            self.watch(delivery)
            self._told.add(delivery)

    def watch(self, delivery: int) -> None:
        """Have us told when this delivery comes to its end here."""
        self._watched.add(delivery)
        self._book.watch(delivery, self._gcid)

    def unwatch(self, delivery: int) -> None:
        self._watched.discard(delivery)
        self._book.unwatch(delivery)

    def turn(self, batches: Sequence[Batch]) -> set[str]:
        """The ids of those whose turn it is, of all that gather no more, in the order in which they were closed."""
        now = self._clock.monotonic()
        if self._told:
            self._told.intersection_update([batch.delivery for batch in batches])
        return set[str]().union(*[turns.take(batches, now) for turns in self._turns])

    def is_told(self, batch: Batch) -> bool:
        return batch.delivery in self._told

    def looked_at(self, batch: Batch) -> None:
        """What is told of it from now on is news."""
        self._told.discard(batch.delivery)


def _place(batch: Batch) -> tuple[int, str]:
    return batch.closed_at_us, batch.id
