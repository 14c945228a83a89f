"""Release deliveries that wait for release at a service.

Rules: a release covers every delivery that waits at that moment, and is one entry with the highest number it covers.
So released deliveries stay released, across restarts and on every node, and later ones wait for the next release.
Polls ignore this: a poll is itself a request.
"""

from __future__ import annotations

from postroad.core.delivery.mailbox import EVERY_NUMBER
from postroad.core.delivery.release_schedule import HeldDeliveries
from postroad.core.model.journal import DeliveriesReleased
from postroad.flow.concurrency.commit import commit_step
from postroad.flow.plumbing import Plumbing
from postroad.ports import JournalStep


class ReleaseStage:
    """Releases deliveries by schedule or on request."""

    def __init__(self, plumbing: Plumbing) -> None:
        self._desk, self._index, self._clock = plumbing.desk, plumbing.index, plumbing.clock
        self._wait_until_indexed = plumbing.wait_until_indexed

    async def released_to(self, gcid: str) -> int:
        """Return the highest released delivery number of the service."""
        await self._wait_until_indexed()
        [(up_to,)] = await self._index.query("released_to", gcid)
        return up_to or 0

    async def find_held(self, gcid: str, after: int, most: int = EVERY_NUMBER) -> HeldDeliveries:
        """Return the deliveries that wait for the service after number ``after``, counted up to ``most``."""
        [(waiting, oldest_at_us, newest)] = await self._index.query("held_back", gcid, after, most)
        return HeldDeliveries(waiting, oldest_at_us or 0, newest or 0)

    async def release(self, gcid: str, by: str, reason: str) -> HeldDeliveries:
        """Release all deliveries that wait for the service, and return them."""
        held = await self.find_held(gcid, await self.released_to(gcid))
        if held.waiting:
            entry = DeliveriesReleased(
                at_us=self._clock.now_us(), by=by, service=gcid, reason=reason, up_to=held.newest, waiting=held.waiting
            )
            await commit_step(self._desk, JournalStep(entry, reserve=True))
        return held
