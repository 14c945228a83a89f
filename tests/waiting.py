"""Waiting for what other tasks, threads and processes do: until a condition holds, never for a time that is usually enough.

To prove that something does not happen, wait for a later thing that must come after it, and then look.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")
WITHIN_S = 60.0  # far more than the busiest machine needs: only a test that fails waits that long
LOOK_EVERY_S = 0.02
TOO_LATE = "it did not come true in time"


async def forever() -> None:
    """Wait until this task is cancelled."""
    await asyncio.Event().wait()


def eventually(
    condition: Callable[[], T], within_s: float = WITHIN_S, *, every_s: float = LOOK_EVERY_S, why: str = TOO_LATE
) -> T:
    """Return the first true value of the condition; fail when there is none in time."""
    deadline = time.monotonic() + within_s
    while not (found := condition()):
        assert time.monotonic() < deadline, f"{why}; at last it was {found!r}"
        time.sleep(every_s)
    assert not inspect.isawaitable(found), "an asynchronous condition needs eventually_async"
    return found


@overload
async def eventually_async(
    condition: Callable[[], Awaitable[T | None]], within_s: float = ..., *, every_s: float = ..., why: str = ...
) -> T: ...


@overload
async def eventually_async(
    condition: Callable[[], T | None], within_s: float = ..., *, every_s: float = ..., why: str = ...
) -> T: ...


async def eventually_async(
    condition: Callable[[], Any],
    within_s: float = WITHIN_S,
    *,
    every_s: float = LOOK_EVERY_S,
    why: str = TOO_LATE,
) -> Any:
    """Return the first true value of a condition, which may be asynchronous, while other tasks continue."""
    deadline = time.monotonic() + within_s
    while True:
        value = condition()
        found = await value if inspect.isawaitable(value) else value
        if found:
            return found
        assert time.monotonic() < deadline, f"{why}; at last it was {found!r}"
        await asyncio.sleep(every_s)
