"""Counts failed push attempts per delivery.

Rule: only pushes with an outcome in the journal count as attempts. A push that a server stop interrupts counts as a
hand-out, but does not use up one of the service's ``tries``; neither does a poll. The count comes from the journal
unless this process made the last attempt itself.
"""

from __future__ import annotations

from collections import OrderedDict

from postroad.core.model.journal import DeliveryAttempted, decode
from postroad.flow.network import Network

MAX_REMEMBERED = 20_000  # deliveries, of all that one courier has tried


class AttemptCounts:
    """Attempt counts of recent deliveries; older ones are read from the journal."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._known: OrderedDict[int, tuple[int, int]] = OrderedDict()  # by delivery: its last hand-out here, its tries

    async def count(self, number: int, hand_out: int) -> int:
        """Return how often the delivery was tried before its hand-out of that number, which is the latest."""
        if hand_out <= 1:
            return 0
        last, tries = self._known.get(number, (0, 0))
        return tries if last == hand_out - 1 else await self._recorded(number)

    def record(self, number: int, hand_out: int, tries: int) -> None:
        """Record the end of attempt number ``tries`` at that hand-out."""
        self._known[number] = hand_out, tries
        self._known.move_to_end(number)
        if len(self._known) > MAX_REMEMBERED:
            self._known.popitem(last=False)

    async def _recorded(self, number: int) -> int:
        await self._network.wait_until_indexed()
        count = 0
        for (seq,) in await self._network.index.query("delivery_trail", number):
            batch = await self._network.journal.read(seq - 1, 1)
            count += isinstance(decode(batch.records[0].facts), DeliveryAttempted)
        return count
