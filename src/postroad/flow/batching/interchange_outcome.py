"""Outcomes of interchanges, and the resulting state of their batches.

Rules: members are settled only after their interchange was delivered, in the entry that records it. Any other outcome
suspends the batch until someone resolves it. An interchange that was resent as a dead letter is in progress again.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from msgspec.structs import replace

from postroad.core.batching.moves import resume_batch, suspend_batch
from postroad.core.model.batch import Batch, BatchState
from postroad.core.model.delivery import DeliveryState
from postroad.core.projection.delivery_rows import COLUMN
from postroad.core.projection.queries import JOURNEY
from postroad.flow.network import Network
from postroad.flow.registries.interchange_dead_letters import find_resent_delivery

_STATE, _REASON = JOURNEY.index("state"), JOURNEY.index("reason")


class InterchangeOutcome(NamedTuple):
    """The outcome of an interchange."""

    state: DeliveryState
    reason: str


class InterchangeOutcomes:
    """Updates batches according to the outcomes of their interchanges."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._book = network.batches

    async def check(self, batch: Batch) -> Batch | None:
        """Return the batch updated by its interchange's outcome, unchanged if there is none, None on a version conflict.

        Requires an index that has caught up with the journal.
        """
        if batch.state is BatchState.ASSEMBLED:
            return await self._under_way(batch)
        if batch.state is BatchState.SUSPENDED and batch.interchange:
            return await self._suspended(batch)
        return batch

    async def _under_way(self, batch: Batch) -> Batch | None:
        outcome = await self.find_outcome(batch)
        if outcome.state is DeliveryState.QUEUED:
            return batch
        if outcome.state is DeliveryState.DELIVERED:
            return await self._sent(batch)
        why = f"its interchange {batch.interchange} is {outcome.state.name.lower()}: {outcome.reason}"
        after = suspend_batch(batch, why, self._network.clock.now_us())
        written = await self._book.write(batch.service, "suspended", [after])
        return written[0] if written is not None else None

    async def _sent(self, batch: Batch) -> Batch | None:
        return await self._book.save_sent(batch, await self._book.list_gathered(batch))

    async def _suspended(self, batch: Batch) -> Batch | None:
        """Return the batch in flight again if its suspended interchange's dead letter was resent."""
        delivery = await find_resent_delivery(self._network.index, batch)
        if not delivery:
            return batch
        after = replace(resume_batch(batch, self._network.clock.now_us()), delivery=delivery)
        written = await self._book.write(batch.service, "sent again", [after])
        return written[0] if written is not None else None

    async def find_outcome(self, batch: Batch) -> InterchangeOutcome:
        """Return the end of the copy's journey, or of its only delivery if no journey is followed."""
        index = self._network.index
        if rows := await index.query("journey", batch.delivery):
            [row] = rows
            return InterchangeOutcome(DeliveryState(row[_STATE]), row[_REASON])
        [row] = await index.query("delivery", batch.delivery)
        return InterchangeOutcome(DeliveryState(row[COLUMN["state"]]), row[COLUMN["reason"]])


async def check_unattended_batches(network: Network, attended: Container[str]) -> None:
    """Check interchanges of services that have no running batcher."""
    await network.wait_until_indexed()
    outcomes = InterchangeOutcomes(network)
    for (gcid,) in await network.index.query("gathering_services"):
        if gcid not in attended:
            for batch in await network.batches.list_unsettled(gcid):
                await outcomes.check(batch)
