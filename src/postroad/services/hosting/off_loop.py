"""Runs work on large documents off the event loop.

Rule: all threaded work of one organization, for its hosted services or its requests, runs one job after the other.
"""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from postroad.flow.concurrency.heavy_work import HeavyWork
from postroad.flow.concurrency.trial_limit import get_trial_organization

AT_ONCE_BYTES = 32_768  # starting work in a thread costs more than parsing this many bytes

_Taken = ParamSpec("_Taken")
_Given = TypeVar("_Given")

_work: WeakKeyDictionary[AbstractEventLoop, HeavyWork] = WeakKeyDictionary()


async def run_off_loop(
    size: int, work: Callable[_Taken, _Given], *given: _Taken.args, **named: _Taken.kwargs
) -> _Given:
    """Return the result of ``work``, run in a thread if it processes about that many bytes."""
    if size <= AT_ONCE_BYTES:
        return work(*given, **named)
    return await run_in_thread(work, *given, **named)


async def run_in_thread(work: Callable[_Taken, _Given], *given: _Taken.args, **named: _Taken.kwargs) -> _Given:
    """Return the result of ``work``, run in a thread within the limit of this task's organization."""
    return await _work_here().run(get_trial_organization(), partial(work, *given, **named), bounded=False)


def _work_here() -> HeavyWork:
    loop = asyncio.get_running_loop()
    if loop not in _work:
        _work[loop] = HeavyWork()
    return _work[loop]
