"""End what is due: deliveries that nobody fetched and journeys that did not come to their end in time.

Kept rules: the loop sleeps until the next due time and asks the index for just what is due, never for all there is; expiry is an
entry like any other end, so a late answer and an expiry exclude each other.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from postroad.core.model.journal import DeliveriesEnded
from postroad.core.model.message import Status
from postroad.core.projection.queries import JOURNEY
from postroad.errors import Unavailable
from postroad.flow.commit import committed
from postroad.flow.end import BY_NETWORK, EndStage
from postroad.ports import Clock, Desk, IndexReader, Step

log = logging.getLogger(__name__)

AT_ONCE = 500
LOOK_AGAIN_S = 1.0  # after trouble; and on a shared network, where other nodes accept messages too
IDLE_S = 3_600.0
EXPIRED = Status("route.expired", "The message expired before its journey was over")


async def always() -> bool:
    return True


class ExpireStage:
    def __init__(
        self, desk: Desk, index: IndexReader, clock: Clock, ending: EndStage, indexed: Callable[[], Awaitable[None]]
    ) -> None:
        self._desk = desk
        self._index = index
        self._clock = clock
        self._ending = ending
        self._indexed = indexed
        self._earliest_us = 0  # when the loop will look again; 0: it is looking
        self._sooner = asyncio.Event()

    def note(self, expires_at_us: int) -> None:
        """Something was accepted that expires then; wake up in time for it."""
        if expires_at_us and expires_at_us < self._earliest_us:
            self._earliest_us = expires_at_us
            self._sooner.set()

    async def run(self, leads: Callable[[], Awaitable[bool]] = always, most_s: float = IDLE_S) -> None:
        """Expire what is due, for as long as we run; ``most_s`` is how long to sleep at most."""
        while True:
            try:
                next_us = await self.expire_due() if await leads() else None
            except Unavailable as trouble:
                log.warning("nothing can be expired now: %s", trouble)
                next_us = self._clock.now_us() + int(LOOK_AGAIN_S * 1_000_000)
            await self._sleep(next_us, most_s)

    async def expire_due(self) -> int | None:
        """End everything that is due, and say when the next is; None when nothing ever is."""
        self._earliest_us = 0
        while True:
            await self._indexed()
            now_us = self._clock.now_us()
            journeys = await self._index.query("due_journeys", now_us, AT_ONCE)
            for row in journeys:
                await self._ending.end(row[0], row[JOURNEY.index("at_number")], "expired", EXPIRED)
            if journeys:
                await self._indexed()
            due = await self._index.query("due_deliveries", now_us, AT_ONCE)
            if due:
                numbers = tuple([number for number, _ in due])
                entry = DeliveriesEnded(now_us, BY_NETWORK, "expired", "not fetched before it expired", numbers)
                await committed(self._desk, Step(entry, reserve=True))
            elif not journeys:
                break
        [upcoming] = await self._index.query("next_due")
        return min((at_us for at_us in upcoming if at_us is not None), default=None)

    async def _sleep(self, next_us: int | None, most_s: float) -> None:
        now_us = self._clock.now_us()
        latest_us = now_us + int(most_s * 1_000_000)
        self._earliest_us = min(next_us, latest_us) if next_us is not None else latest_us
        while (left_us := self._earliest_us - self._clock.now_us()) > 0:
            self._sooner.clear()
            try:
                async with asyncio.timeout(left_us / 1_000_000):
                    await self._sooner.wait()
            except TimeoutError:
                return
