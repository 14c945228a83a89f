"""Wait until a step is durable, for stages that answer one caller at a time, and finish work whose caller has left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from postroad.errors import Unavailable
from postroad.ports import Committed, Conflict, Desk, JournalStep, StepOutcome

_Done = TypeVar("_Done")


async def run_to_completion(work: Coroutine[Any, Any, _Done]) -> _Done:
    """Await work that continues when the caller is cancelled."""
    return await asyncio.shield(asyncio.get_running_loop().create_task(work))


async def commit_step(desk: Desk, step: JournalStep) -> Committed | Conflict:
    """Submit a step and wait for its outcome; raises Unavailable when it could not be stored."""
    return await wait_until_stored(submit_step(desk, step))


def submit_step(desk: Desk, step: JournalStep) -> asyncio.Future[StepOutcome]:
    """Submit a step now, before any later one; returns a future with its outcome."""
    return future_of(partial(desk.submit, step))


def future_of(start: Callable[[Callable[[_Done], None]], object]) -> asyncio.Future[_Done]:
    """Start work that answers by a callback; returns a future with the answer, which may be cancelled meanwhile."""
    future: asyncio.Future[_Done] = asyncio.get_running_loop().create_future()
    start(lambda answer: None if future.done() else future.set_result(answer))
    return future


async def wait_until_stored(future: asyncio.Future[StepOutcome]) -> Committed | Conflict:
    """Return the outcome of a step; raises Unavailable if it could not be stored."""
    outcome = await future
    if isinstance(outcome, Unavailable):
        raise outcome
    return outcome
