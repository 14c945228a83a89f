"""How many deliveries wait in each mailbox of a shared network, as far as this node knows.

Rule: the tables are right. Between two counts, this node adds what it queues and subtracts what it acknowledges;
deliveries that other nodes queue or end, and ends by the network, appear with the next count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from postroad.adapters.desk.shared_effects import list_queued_copies
from postroad.core.model.journal import (
    DeliveriesAcknowledged,
    DeliveryResent,
    Entry,
    InvocationReturned,
    MessagePosted,
)


class SharedCounts:
    __slots__ = ("_changes", "_counted")

    def __init__(self) -> None:
        self._counted: Mapping[str, int] = {}
        self._changes: Counter[str] = Counter()  # since the last count began

    def of(self, mailbox: str) -> int:
        return max(0, self._counted.get(mailbox, 0) + self._changes[mailbox])

    def add(self, entries: Iterable[Entry]) -> None:
        """Count the effect of entries that this node has committed."""
        changes = self._changes
        for entry in entries:
            if isinstance(entry, MessagePosted):
                for _, mailbox in list_queued_copies(entry):
                    changes[mailbox] += 1
            elif isinstance(entry, DeliveriesAcknowledged):
                changes[entry.by] -= len(entry.deliveries)
            elif isinstance(entry, InvocationReturned):
                changes[entry.by] -= 1
                changes[entry.next] += 1
            elif isinstance(entry, DeliveryResent):
                changes[entry.next] += 1

    def begin(self) -> None:
        """Begin a count: changes from now on are added to its result."""
        self._counted = {name: self.of(name) for name in {*self._counted, *self._changes}}
        self._changes = Counter()

    def replace(self, counted: Mapping[str, int]) -> None:
        """End a count that has found these numbers."""
        self._counted = counted
