"""The next due time, for tasks that sleep until then."""

from __future__ import annotations

import asyncio

NEVER = 1 << 62


class DueTimes:
    """Due times as they become known; one waiter sleeps until the earliest."""

    def __init__(self) -> None:
        self._earliest_us = NEVER
        self._sooner = asyncio.Event()

    def note(self, at_us: int) -> None:
        """Record a durable due time; 0 means never."""
        if 0 < at_us < self._earliest_us:
            self._earliest_us = at_us
            self._sooner.set()

    def begin(self) -> None:
        """Forget the due times recorded so far, because they are being processed now."""
        self._earliest_us = NEVER
        self._sooner.clear()

    @property
    def earliest_us(self) -> int:
        return self._earliest_us

    def look_again(self) -> None:
        """Wake the waiting task because the clock was set."""
        self._sooner.set()

    async def sooner(self, timeout_s: float) -> None:
        """Wait for an earlier due time, a clock change, or the end of the timeout."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._sooner.wait()
        except TimeoutError:
            return
        self._sooner.clear()
