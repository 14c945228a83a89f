"""A line: whoever joined first goes first, though all get ready at the same time and each in its own."""

from __future__ import annotations

import asyncio


class Place:
    """One's place in a line; to be left, whatever comes, so that the next one can go."""

    def __init__(self, before: asyncio.Future[None] | None) -> None:
        self._before = before
        self.left: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def turn(self, most_s: float) -> None:
        """Wait until all before have gone, but no longer than that."""
        if self._before is not None:
            await asyncio.wait((self._before,), timeout=most_s)

    def leave(self) -> None:
        if not self.left.done():
            self.left.set_result(None)


class Line:
    def __init__(self) -> None:
        self._last: Place | None = None

    def join(self) -> Place:
        last = self._last
        self._last = Place(last.left if last is not None and not last.left.done() else None)
        return self._last
