"""What became of interchanges, and what that means for their batches.

Kept rules: members are released only after their interchange was delivered, with the entry that says so; whatever else becomes of
it suspends the batch, for somebody to look at. An interchange that somebody has resent as a dead letter is under way again.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from msgspec.structs import replace

from postroad.core.batching.moves import resumed, suspended
from postroad.core.delivery.waiting import COLUMN
from postroad.core.model.batch import Batch, BatchState
from postroad.core.model.delivery import State
from postroad.core.projection.queries import JOURNEY
from postroad.flow.batch_letters import resent_as
from postroad.flow.network import Network

_STATE, _REASON = JOURNEY.index("state"), JOURNEY.index("reason")


class Fate(NamedTuple):
    """What an interchange has come to."""

    state: State
    reason: str


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
        return await self._book.sent(batch, await self._book.gathered(batch))

    async def _suspended(self, batch: Batch) -> Batch | None:
        """Under way again, where somebody has had its dead letter resent."""
        delivery = await resent_as(self._network.index, batch)
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
            return Fate(State(row[_STATE]), row[_REASON])
        [row] = await index.query("delivery", batch.delivery)
        return Fate(State(row[COLUMN["state"]]), row[COLUMN["reason"]])


async def look_after(network: Network, attended: Container[str]) -> None:
    """Look what became of the interchanges of services that have no batcher now: suspended ones, and former batchers."""
    await network.indexed()
    fates = Fates(network)
    for (gcid,) in await network.index.query("gathering_services"):
        if gcid not in attended:
            for batch in await network.batches.unsettled(gcid):
                await fates.look(batch)
