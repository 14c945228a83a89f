"""A wait that its client can interrupt.

Rule: a client that leaves ends only the waiting. A hand-out that is being stored when its poller leaves is completed,
so that its deliveries can be returned to the mailbox; cancelling it would keep them from everyone until the lease is
over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any


class InterruptibleWait:
    """Waits for an arrival until the client leaves."""

    __slots__ = ("_waiting", "cancelled")

    def __init__(self) -> None:
        self.cancelled = False
        self._waiting: asyncio.Task[Any] | None = None

    def cancel(self) -> None:
        """Cancel the wait because the client has left."""
        self.cancelled = True
        if self._waiting is not None:
            self._waiting.cancel()

    async def until(self, arrival: Awaitable[None]) -> None:
        """Wait for the arrival; ``cancel`` cuts this short."""
        task = self._waiting = asyncio.current_task()
        try:
            await arrival
        except asyncio.CancelledError:
            if not self.cancelled or task is None:
                raise
            task.uncancel()
        finally:
            self._waiting = None
