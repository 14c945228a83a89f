"""How a consumer is asked to stop: SIGINT, SIGTERM or a call from anywhere; blocking and with asyncio.

Kept rule: the message at hand is always finished and settled. Only waiting (a long poll, a pause between tries) is broken off,
because nothing is lost by that: what the network handed out in that very moment comes again after its lease.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Coroutine, Iterator
from types import FrameType
from typing import Any, TypeVar

from postroad.client.exchange import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM)
_Value = TypeVar("_Value")


class Stopping:
    """Whether to stop; calling it asks."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._waiting = False

    def __call__(self) -> bool:
        return self._asked.is_set()

    def ask(self) -> None:
        self._asked.set()

    def wait(self, seconds: float) -> None:
        """Sleep, but no longer than until somebody asks."""
        self._asked.wait(seconds)

    @contextlib.contextmanager
    def by_signals(self) -> Iterator[None]:
        """Stop on signals while inside; only the main thread of a program can listen to them."""
        self._asked.clear()
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        try:
            yield
        finally:
            for number, action in before.items():
                signal.signal(number, action)

    @contextlib.contextmanager
    def interruptible(self, waiting: bool) -> Iterator[None]:
        """Break off what happens inside when somebody asks, or has asked since anyone last looked."""
        self._waiting = waiting
        try:
            if waiting and self._asked.is_set():
                raise Interrupted
            yield
        finally:
            self._waiting = False

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.ask()
        if self._waiting:
            self._waiting = False
            raise Interrupted


class AsyncStopping:
    """The same on an event loop, where a signal never breaks into anything: it only wakes whoever waits."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()

    def __call__(self) -> bool:
        return self._asked.is_set()

    def ask(self) -> None:
        self._asked.set()

    @contextlib.contextmanager
    def by_signals(self) -> Iterator[None]:
        self._asked.clear()
        loop = asyncio.get_running_loop()
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        for number in SIGNALS:
            loop.add_signal_handler(number, self.ask)
        try:
            yield
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)

    async def unless_asked(self, work: Coroutine[Any, Any, _Value]) -> _Value:
        """The work's result, or ``Interrupted`` when somebody asks first."""
        working = asyncio.ensure_future(work)
        asked = asyncio.ensure_future(self._asked.wait())
        try:
            await asyncio.wait((working, asked), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise Interrupted
            return working.result()
        finally:
            await _end(working)
            await _end(asked)


async def _end(task: asyncio.Future[Any]) -> None:
    task.cancel()
    await asyncio.wait((task,))
