"""Back-pressure in both directions: pauses reading input, and waits for output to drain.

Rule: each gate records since when it is closed, because time spent waiting for the server does not count against the
client.
"""

from __future__ import annotations

import asyncio


class ReadGate:
    __slots__ = ("_loop", "_shut_at_s", "_transport", "is_open")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._shut_at_s = 0.0
        self.is_open = True

    def shut(self) -> None:
        if self.is_open and not self._transport.is_closing():
            self.is_open, self._shut_at_s = False, self._loop.time()
            self._transport.pause_reading()

    def open(self) -> float:
        """Resume reading; returns for how many seconds the gate was closed."""
        if self.is_open or self._transport.is_closing():
            return 0.0
        self.is_open = True
        self._transport.resume_reading()
        return self._loop.time() - self._shut_at_s


class WriteGate:
    """Closed while the client leaves too much output unread; measures whether the client still reads."""

    __slots__ = ("_opened", "_transport", "_unsent_bytes", "_watched_since_s", "is_open")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._opened: asyncio.Event | None = None
        self._unsent_bytes = 0
        self._watched_since_s = 0.0
        self.is_open = True

    def shut(self, now: float) -> None:
        self.is_open, self._opened = False, asyncio.Event()
        self.watch(now)

    def open(self) -> None:
        self.is_open = True
        if self._opened is not None:
            self._opened.set()

    async def wait(self) -> None:
        if not self.is_open and self._opened is not None:
            await self._opened.wait()

    def watch(self, now: float) -> None:
        self._watched_since_s, self._unsent_bytes = now, self._transport.get_write_buffer_size()

    @property
    def watched_since_s(self) -> float:
        return self._watched_since_s

    def still_moves(self, now: float, bytes_per_s: int) -> bool:
        """Whether enough output was sent since the last call; restarts the measurement."""
        before, wanted = self._unsent_bytes, (now - self._watched_since_s) * bytes_per_s
        self.watch(now)
        return before - self._unsent_bytes >= wanted
