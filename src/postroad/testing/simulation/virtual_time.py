"""An event loop that never waits: when nothing is ready, its clock jumps to the next timer.

Rules: no thread, no socket, no real clock. Callbacks that are ready at the same time run in an order drawn from the seed,
like events from outside. Futures and tasks have numbers as hashes, so that sets of them have the same order in every run.
A loop that can make no progress, or in which time has stopped, raises ``SimulationStuck``.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from itertools import count
from random import Random
from typing import Any, TypeVarTuple, Unpack

from postroad.testing.clocks import EPOCH_US

Arguments = TypeVarTuple("Arguments")
MAX_CALLBACKS = 200_000  # steps at one moment; more mean that time has stopped

PROCESS: ContextVar[object | None] = ContextVar("PROCESS", default=None)  # the simulated process a task belongs to


class SimulationStuck(Exception):
    """The simulation cannot continue."""


class NumberedFuture(asyncio.Future[Any]):
    """A future whose hash is its number."""

    def __init__(self, number: int, loop: asyncio.AbstractEventLoop) -> None:
        self._number = number
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self._number


class NumberedTask(asyncio.Task[Any]):
    """A task whose hash is its number."""

    def __init__(
        self, number: int, work: Any, loop: asyncio.AbstractEventLoop, name: str | None, context: Context
    ) -> None:
        self._number = number
        super().__init__(work, loop=loop, name=name, context=context)

    def __hash__(self) -> int:
        return self._number


class VirtualLoop(asyncio.AbstractEventLoop):
    """An event loop in virtual time; ``chance`` draws the order of ready callbacks, which is asyncio's order without it."""

    def __init__(self, chance: Random | None = None) -> None:
        self._chance = chance
        self._now = 0.0
        self._ready: list[asyncio.Handle] = []
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._numbers = count(1)
        self._tasks: dict[asyncio.Task[Any], object | None] = {}
        self._running = False
        self.failures: list[str] = []  # errors that no one awaits

    # --- time and order ------------------------------------------------------------------------------------------

    def run_until_complete(self, work: Any) -> Any:
        """Run until the work is done, then cancel what is left."""
        task = self.create_task(work, name="simulation")
        self._running = True
        asyncio._set_running_loop(self)
        try:
            self._run_until(task)
            self._end_all()
        finally:
            asyncio._set_running_loop(None)
            self._running = False
        return task.result()

    def _run_until(self, task: asyncio.Task[Any]) -> None:
        callbacks = 0
        while not task.done():
            before = self._now
            self._jump()
            callbacks = callbacks + len(self._ready) if before == self._now else 0
            if callbacks > MAX_CALLBACKS:
                raise SimulationStuck(f"time has stopped at {self._now:.6f} s; pending: {self._pending()}")
            self._run_ready()

    def _jump(self) -> None:
        """Make due timers ready; if there are none, advance to the next timer."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        if not self._ready:
            if not self._timers:
                raise SimulationStuck(f"nothing can ever happen again at {self._now:.6f} s; pending: {self._pending()}")
            self._now = max(self._now, self._timers[0][0])
        while self._timers and self._timers[0][0] <= self._now:
            self._ready.append(heapq.heappop(self._timers)[2])

    def _run_ready(self) -> None:
        ready, self._ready = self._ready, []
        if self._chance is not None and len(ready) > 1:
            self._chance.shuffle(ready)
        for handle in ready:
            if not handle.cancelled():
                handle._run()

    def _pending(self) -> str:
        return ", ".join(task.get_name() for task in self._tasks if not task.done())

    # --- simulated processes -------------------------------------------------------------------------------------

    def kill(self, process: object) -> None:
        """End every task of a process; disconnect its storage first, so that their cleanup writes nothing."""
        for task, owner in list(self._tasks.items()):
            if owner is process:
                task.cancel()

    def _end_all(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        while self._ready:
            self._run_ready()

    # --- what asyncio asks of a loop -----------------------------------------------------------------------------

    def time(self) -> float:
        return self._now

    def call_soon(
        self, callback: Callable[[Unpack[Arguments]], object], *args: *Arguments, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Arguments]], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Arguments]], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._numbers), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Called by asyncio's handles; cancelled timers are dropped when they are due."""

    def create_future(self) -> asyncio.Future[Any]:
        return NumberedFuture(next(self._numbers), self)

    def create_task(self, coro: Any, *, name: str | None = None, context: Context | None = None) -> asyncio.Task[Any]:
        context = copy_context() if context is None else context
        task = NumberedTask(next(self._numbers), coro, self, name or coro.__qualname__, context)
        self._tasks[task] = context.get(PROCESS)
        task.add_done_callback(lambda done: self._tasks.pop(done, None), context=Context())
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.failures.append(f"{context.get('message')}: {context.get('exception')!r}")

    def is_running(self) -> bool:
        return self._running

    def is_closed(self) -> bool:
        return False

    def get_debug(self) -> bool:
        return False


def virtual_loop(chance: Random | None = None) -> VirtualLoop:
    """Return a new loop; like asyncio's own loops, it does not implement every abstract method."""
    return VirtualLoop(chance)  # type: ignore[abstract]


def random_for(seed: int, whose: str) -> Random:
    """Return a random generator for one user, independent of the draws of others."""
    return Random(f"{seed} {whose}")  # noqa: S311 - repeatable on purpose


class VirtualClock:
    """``ports.Clock`` over a loop's time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def now_us(self) -> int:
        return EPOCH_US + round(self._loop.time() * 1_000_000)

    def monotonic(self) -> float:
        return self._loop.time()


class SeededRandomness:
    """Repeatable randomness behind ``ports.Randomness``; only for simulations."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def bytes(self, count: int) -> bytes:
        return self._chance.randbytes(count)
