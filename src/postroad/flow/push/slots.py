"""Slots for pushes in progress: bounded per node and per organization, and shared fairly.

Rules: a free slot goes to the organization that has waited longest, so one with a thousand messages waits as long as
one with a single message. An organization whose receivers hang holds only its own share. There are two capacity classes:
receivers that answer quickly have slots of their own, so they never wait for receivers that hang.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from typing import NamedTuple

OVERALL = 256
ORGANIZATION_SLOTS = 64  # for one organization, however many services it has


class PushSlots:
    """A pool of push slots; free ones go to the organization that has waited longest."""

    def __init__(self, overall: int = OVERALL, per_organization: int = ORGANIZATION_SLOTS) -> None:
        self._overall = overall
        self._free = overall  # less than nothing when pushes came over from the quick ones
        self._per_organization = per_organization
        self._held: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()  # whose turn it is, first

    @property
    def overall(self) -> int:
        """Return how many pushes may be in progress."""
        return self._overall

    @property
    def used(self) -> int:
        """Return how many pushes are in progress; more than ``overall`` after pushes moved here."""
        return self._overall - self._free

    async def acquire(self, organization: str, most: int) -> int:
        """Wait for a slot; returns how many were taken, more than one if no other organization waits."""
        if not self._room_for(organization):
            await self._wait_for_slot(organization)
        else:
            self._hold(organization, 1)
        more = (
            max(0, min(most - 1, self._free, self._per_organization - self._held[organization]))
            if not self._waiting
            else 0
        )
        self._hold(organization, more)
        return 1 + more

    def release(self, organization: str, count: int) -> None:
        """Return slots; waiting organizations get them in turn."""
        self._hold(organization, -count)
        while self._free > 0 and (next_one := self._next()) is not None:
            self._hold(next_one, 1)
            self._waiting[next_one].popleft().set_result(None)
            if self._waiting[next_one]:
                self._waiting.move_to_end(next_one)
            else:
                del self._waiting[next_one]

    def take_over(self, organization: str) -> bool:
        """Count a push that moves here from another class, beyond the bounds; False at double the bound."""
        if self._free <= -self._overall:
            return False
        self._hold(organization, 1)
        return True

    async def _wait_for_slot(self, organization: str) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(organization, deque()).append(future)
        try:
            await future
        except asyncio.CancelledError:
            self._leave(organization, future)
            raise

    def _leave(self, organization: str, future: asyncio.Future[None]) -> None:
        """Stop waiting for a slot; one that was granted at the same moment is passed on."""
        if not future.cancelled():
            self.release(organization, 1)
            return
        self._waiting[organization].remove(future)
        if not self._waiting[organization]:
            del self._waiting[organization]

    def _next(self) -> str | None:
        return next((one for one in self._waiting if self._held[one] < self._per_organization), None)

    def _room_for(self, organization: str) -> bool:
        return self._free > 0 and self._held[organization] < self._per_organization

    def _hold(self, organization: str, count: int) -> None:
        self._free -= count
        self._held[organization] += count
        if not self._held[organization]:
            del self._held[organization]


class PushCapacity(NamedTuple):
    """The push slots of a node: for receivers that answer quickly, and for all others."""

    quick: PushSlots
    slow: PushSlots
