"""Release what is held back for a service: because it is time, or because somebody asks for it.

Kept rules: a release lets everything go that waits at that moment, and is one entry, which says up to which number; so what was
released stays released, over restarts and on every node, and what came later waits for its own. Nothing is held back from a
service that polls: that is the same as asking.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from postroad.core.delivery.mailbox import EVERY_NUMBER
from postroad.core.delivery.release import Held
from postroad.core.model.journal import DeliveriesReleased
from postroad.flow.commit import committed
from postroad.ports import Clock, Desk, IndexReader, Step


class ReleaseStage:
    def __init__(self, desk: Desk, index: IndexReader, clock: Clock, indexed: Callable[[], Awaitable[None]]) -> None:
        self._desk = desk
        self._index = index
        self._clock = clock
        self._indexed = indexed

    async def released_to(self, gcid: str) -> int:
        """The number up to which everything was released that waits for the service, or ever did."""
        await self._indexed()
        [(up_to,)] = await self._index.query("released_to", gcid)
        return up_to or 0

    async def held(self, gcid: str, after: int, most: int = EVERY_NUMBER) -> Held:
        """What waits for the service after that number; no more than ``most`` are counted."""
        [(waiting, oldest_at_us, newest)] = await self._index.query("held_back", gcid, after, most)
        return Held(waiting, oldest_at_us or 0, newest or 0)

    async def release(self, gcid: str, by: str, reason: str) -> Held:
        """Let everything go that is held back for the service; returns what that was."""
        held = await self.held(gcid, await self.released_to(gcid))
        if held.waiting:
            entry = DeliveriesReleased(self._clock.now_us(), by, gcid, reason, held.newest, held.waiting)
            await committed(self._desk, Step(entry, reserve=True))
        return held
