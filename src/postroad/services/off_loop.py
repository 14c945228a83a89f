"""Work on large documents leaves the event loop, so that others' messages are not kept waiting by it.

Rule: what one organization has done in threads, for its hosted services or its requests, is done one after the other.
"""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from postroad.flow.heavy_work import HeavyWork
from postroad.flow.trial_turns import acting_for

AT_ONCE_BYTES = 32_768  # handing work to a thread costs more than parsing this

_Taken = ParamSpec("_Taken")
_Given = TypeVar("_Given")

_work: WeakKeyDictionary[AbstractEventLoop, HeavyWork] = WeakKeyDictionary()


async def off_loop(size: int, work: Callable[_Taken, _Given], *given: _Taken.args, **named: _Taken.kwargs) -> _Given:
    """The result of ``work``, done elsewhere when it is about that many bytes."""
    if size <= AT_ONCE_BYTES:
        return work(*given, **named)
    return await in_thread(work, *given, **named)


async def in_thread(work: Callable[_Taken, _Given], *given: _Taken.args, **named: _Taken.kwargs) -> _Given:
    """The result of ``work``, done in a thread in the turn of whoever this task acts for."""
    return await _work_here().run(acting_for(), partial(work, *given, **named), bounded=False)


def _work_here() -> HeavyWork:
    loop = asyncio.get_running_loop()
    if loop not in _work:
        _work[loop] = HeavyWork()
    return _work[loop]
