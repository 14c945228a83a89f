"""When the next thing is due, for whoever waits for it."""

from __future__ import annotations

import asyncio

NEVER = 1 << 62


class DueTimes:
    """Due times as they become known; one waiter sleeps until the earliest."""

    def __init__(self) -> None:
        self._earliest_us = NEVER
        self._sooner = asyncio.Event()

    def note(self, at_us: int) -> None:
        """Something durable is due then; 0 means never."""
        if 0 < at_us < self._earliest_us:
            self._earliest_us = at_us
            self._sooner.set()

    def begin(self) -> None:
        """Everything that was noted is being looked at; only what is noted from now on is news."""
        self._earliest_us = NEVER
        self._sooner.clear()

    @property
    def earliest_us(self) -> int:
        return self._earliest_us

    def look_again(self) -> None:
        """The clock was set: whoever waits looks at the time again."""
        self._sooner.set()

    async def sooner(self, timeout_s: float) -> None:
        """Return when something earlier is noted, the clock was set, or the time is over."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._sooner.wait()
        except TimeoutError:
            return
        self._sooner.clear()
