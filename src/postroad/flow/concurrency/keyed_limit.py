"""Limit concurrent work per key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

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
