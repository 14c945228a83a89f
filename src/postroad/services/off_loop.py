"""Work on large documents leaves the event loop, so that others' messages are not kept waiting by it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

AT_ONCE_BYTES = 32_768  # handing work to a thread costs more than parsing this

_Taken = ParamSpec("_Taken")
_Given = TypeVar("_Given")


async def off_loop(size: int, work: Callable[_Taken, _Given], *given: _Taken.args, **named: _Taken.kwargs) -> _Given:
    """The result of ``work``, done elsewhere when it is about that many bytes."""
    if size <= AT_ONCE_BYTES:
        return work(*given, **named)
    return await asyncio.to_thread(work, *given, **named)
