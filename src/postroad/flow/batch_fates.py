"""What became of interchanges, and what that means for their batches.

Kept rules: members are released only after their interchange was delivered, with the entry that says so; whatever else becomes of
it suspends the batch, for somebody to look at. An interchange that somebody has resent as a dead letter is under way again.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from postroad.core.batching.moves import resumed, suspended
from postroad.core.delivery.waiting import COLUMN
from postroad.core.model.batch import Batch, BatchState
from postroad.core.model.delivery import State
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import DeliveryResent, decode
from postroad.core.projection.queries import JOURNEY, LETTER
from postroad.flow.batch_book import Held
from postroad.flow.network import Network

DEALT = LETTER.index("dealt_seq")
_STATE, _REASON, _AT = (JOURNEY.index(column) for column in ("state", "reason", "at_number"))


class Fate(NamedTuple):
    """What an interchange has come to, and the delivery at which it did."""

    state: State
    reason: str
    delivery: int


class Fates:
    def __init__(self, network: Network) -> None:
        self._network = network
        self._book = network.batches

    async def look(self, batch: Batch) -> Batch | None:
        """The batch as it is then; the same where nothing is new, None where somebody else has changed it.

        The index must have caught up before.
        """
        if batch.state is BatchState.ASSEMBLED:
            return await self._under_way(batch)
        if batch.state is BatchState.SUSPENDED and batch.interchange:
            return await self._suspended(batch)
        return batch

    async def _under_way(self, batch: Batch) -> Batch | None:
        fate = await self.fate_of(batch)
        if fate.state is State.QUEUED:
            return batch
        if fate.state is State.DELIVERED:
            return await self._sent(batch)
        why = f"its interchange {batch.interchange} is {fate.state.name.lower()}: {fate.reason}"
        after = suspended(batch, why, self._network.clock.now_us())
        written = await self._book.write(batch.service, "suspended", [after])
        return written[0] if written is not None else None

    async def _sent(self, batch: Batch) -> Batch | None:
        members: list[Held] = []
        async for page in self._book.members(batch.id):
            members += page
        return await self._book.sent(batch, members)

    async def _suspended(self, batch: Batch) -> Batch | None:
        """Under way again, where somebody has had its dead letter resent."""
        delivery = await self.resent_as(batch)
        if not delivery:
            return batch
        after = replace(resumed(batch, self._network.clock.now_us()), delivery=delivery)
        written = await self._book.write(batch.service, "sent again", [after])
        return written[0] if written is not None else None

    async def fate_of(self, batch: Batch) -> Fate:
        """The end of its copy's journey where that is followed, else that of the only delivery."""
        index = self._network.index
        if rows := await index.query("journey", batch.delivery):
            [row] = rows
            return Fate(State(row[_STATE]), row[_REASON], row[_AT])
        [row] = await index.query("delivery", batch.delivery)
        return Fate(State(row[COLUMN["state"]]), row[COLUMN["reason"]], batch.delivery)

    async def resent_as(self, batch: Batch) -> int:
        """The delivery under which the dead letter of its interchange is under way again; 0 when it is not."""
        fate = await self.fate_of(batch)
        rows = await self._network.index.query("dead_letter", fate.delivery)
        dealt_seq = rows[0][DEALT] if rows else 0
        if not dealt_seq:
            return 0
        found = await self._network.journal.read(dealt_seq - 1, 1)
        is_resent = isinstance(decode(found.records[0].facts), DeliveryResent)
        return delivery_number(dealt_seq, 0) if is_resent else 0
