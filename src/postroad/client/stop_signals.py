"""Stop a consumer by SIGINT, SIGTERM or a call; blocking and with asyncio.

Rules: the current message is finished and settled, unless Ctrl-C is pressed twice. Only waiting (a long poll, a pause
between retries) is interrupted, because that loses nothing: messages that the network handed out at that moment are
redelivered after their lease. A stop that is requested before a consumer has started counts; it is cleared when the
consumer ends, never when it starts.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Coroutine, Iterator
from types import FrameType
from typing import Any, TypeVar

from postroad.client.steps import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM)
_Value = TypeVar("_Value")


class Stopping:
    """The stop flag of a consumer; calling it returns whether to stop."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._waiting = False
        self._signals = 0

    def __call__(self) -> bool:
        return self._asked.is_set()

    def ask(self) -> None:
        self._asked.set()

    def wait(self, seconds: float) -> None:
        """Sleep until the time is over or a stop is requested."""
        self._asked.wait(seconds)

    @contextlib.contextmanager
    def by_signals(self) -> Iterator[None]:
        """Stop on signals within the block; works only in the main thread."""
        is_main = threading.current_thread() is threading.main_thread()
        before = {number: signal.signal(number, self._on_signal) for number in SIGNALS} if is_main else {}
        try:
            yield
        finally:
            for number, action in before.items():
                signal.signal(number, action)
            self._asked.clear()
            self._signals = 0

    @contextlib.contextmanager
    def interruptible(self, waiting: bool) -> Iterator[None]:
        """Interrupt the block when a stop is requested, also if that was before it began."""
        self._waiting = waiting
        try:
            if waiting and self._asked.is_set():
                raise Interrupted
            yield
        finally:
            self._waiting = False

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.ask()
        self._signals += 1
        if self._waiting:
            self._waiting = False
            raise Interrupted
        if self._signals > 1 and number == signal.SIGINT:
            raise KeyboardInterrupt  # the function does not end; its message comes again after its lease


class AsyncStopping:
    """The stop flag on an event loop, where a signal only wakes the waiting task."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._consumers = 0

    def __call__(self) -> bool:
        return self._asked.is_set()

    def ask(self) -> None:
        self._asked.set()

    @contextlib.contextmanager
    def by_signals(self) -> Iterator[None]:
        is_main = threading.current_thread() is threading.main_thread()
        self._consumers += 1
        try:
            with _LISTENING.joined_by(self) if is_main else contextlib.nullcontext():
                yield
        finally:
            self._consumers -= 1
            if not self._consumers:
                self._asked.clear()

    async def unless_asked(self, work: Coroutine[Any, Any, _Value]) -> _Value:
        """Return the work's result, or ``Interrupted`` if a stop is requested first."""
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


class _Listening:
    """The consumers that a signal stops: one handler per process for all consumers on its loop.

    The last consumer restores the signal handlers that the first one replaced.
    """

    def __init__(self) -> None:
        self._consumers: list[AsyncStopping] = []
        self._signals = 0
        self._before: dict[int, Any] = {}

    @contextlib.contextmanager
    def joined_by(self, stopping: AsyncStopping) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        if not self._consumers:
            self._before = {number: signal.getsignal(number) for number in SIGNALS}
        self._consumers.append(stopping)
        for number in SIGNALS:
            loop.add_signal_handler(number, self._ask_all, number)
        try:
            yield
        finally:
            self._consumers.remove(stopping)
            if not self._consumers:
                self._leave(loop)

    def _ask_all(self, number: int) -> None:
        for stopping in self._consumers:
            stopping.ask()
        self._signals += 1
        if self._signals > 1 and number == signal.SIGINT:
            raise KeyboardInterrupt

    def _leave(self, loop: asyncio.AbstractEventLoop) -> None:
        self._signals = 0
        for number, action in self._before.items():
            loop.remove_signal_handler(number)
            if action is not None:  # None: it was not set from Python, and cannot be set back from there
                signal.signal(number, action)


_LISTENING = _Listening()


async def _end(task: asyncio.Future[Any]) -> None:
    task.cancel()
    await asyncio.wait((task,))
