"""Limits per key: how much work runs at once, and how often a party may do something within a time."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from postroad.ports import Clock

AT_ONCE = 2


class KeyedSemaphore:
    """A semaphore for each key; keeps only the keys in use."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._taken: dict[str, tuple[asyncio.Semaphore, int]] = {}  # with how many hold or want a slot

    @asynccontextmanager
    async def slot(self, key: str) -> AsyncIterator[None]:
        """Hold a slot of this key for the length of the block."""
        semaphore, interested = self._taken.get(key, (asyncio.Semaphore(self._at_once), 0))
        self._taken[key] = semaphore, interested + 1
        try:
            async with semaphore:
                yield
        finally:
            _, interested = self._taken.pop(key)
            if interested > 1:
                self._taken[key] = semaphore, interested - 1

    def __len__(self) -> int:
        return len(self._taken)


MAX_REMEMBERED = 10_000


class WindowLimit:
    """Allows each party ``most`` times within ``window_s`` seconds.

    Rule: memory is bounded; the parties that were counted longest ago are forgotten first.
    """

    def __init__(self, clock: Clock, most: int, window_s: float) -> None:
        self._clock = clock
        self._most = most
        self._window_s = window_s
        self._times: OrderedDict[str, list[float]] = OrderedDict()

    def count(self, who: str) -> float:
        """Count once, and return 0; or return the seconds until the party is allowed again, and count nothing."""
        now = self._clock.monotonic()
        recent = [at for at in self._times.pop(who, []) if at > now - self._window_s]
        self._times[who] = recent
        if len(self._times) > MAX_REMEMBERED:
            self._times.popitem(last=False)
        if len(recent) >= self._most:
            return max(1.0, recent[0] + self._window_s - now)
        recent.append(now)
        return 0.0
