"""Back-pressure, both ways: when a connection's input stops being read, and when its output has to wait.

The rule: each gate remembers since when it is shut, because time spent behind our own gate is never the client's fault.
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
        """Reads on; returns for how many seconds the gate was shut."""
        if self.is_open or self._transport.is_closing():
            return 0.0
        self.is_open = True
        self._transport.resume_reading()
        return self._loop.time() - self._shut_at_s


class WriteGate:
    __slots__ = ("_opened", "is_open")

    def __init__(self) -> None:
        self.is_open = True
        self._opened: asyncio.Event | None = None

    def shut(self) -> None:
        self.is_open, self._opened = False, asyncio.Event()

    def open(self) -> None:
        self.is_open = True
        if self._opened is not None:
            self._opened.set()

    async def passed(self) -> None:
        if not self.is_open and self._opened is not None:
            await self._opened.wait()
