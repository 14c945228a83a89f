"""FIFO order for tasks that prepare concurrently but proceed one after the other."""

from __future__ import annotations

import asyncio


class FifoTurn:
    """A position in the order; must be left in any case, so that the next task can proceed."""

    def __init__(self, before: asyncio.Future[None] | None) -> None:
        self._before = before
        self.left: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def wait(self, most_s: float) -> None:
        """Wait until all earlier tasks have left, at most ``most_s`` seconds."""
        if self._before is not None:
            await asyncio.wait((self._before,), timeout=most_s)

    def leave(self) -> None:
        if not self.left.done():
            self.left.set_result(None)


class FifoOrder:
    """Gives out positions in order."""

    def __init__(self) -> None:
        self._last: FifoTurn | None = None

    def join(self) -> FifoTurn:
        last = self._last
        self._last = FifoTurn(last.left if last is not None and not last.left.done() else None)
        return self._last
