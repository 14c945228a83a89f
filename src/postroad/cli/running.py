"""Running a network from the command line: until a signal comes, and with its address where other commands look for it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from postroad.cli.connection import OPERATOR_KEY_FILE, URL_FILE

OPERATOR_KEY = OPERATOR_KEY_FILE


def until_signalled(work: Coroutine[Any, Any, None]) -> None:
    """Run the work on uvloop; SIGINT and SIGTERM cancel it, which is its normal end."""
    import uvloop

    uvloop.run(_cancelled_by_signals(work))


async def _cancelled_by_signals(work: Coroutine[Any, Any, None]) -> None:
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task


def leave_address(data: Path, url: str) -> None:
    """A network whose stores are all elsewhere or in memory may have no data folder yet."""
    data.mkdir(parents=True, exist_ok=True)
    (data / URL_FILE).write_text(url + "\n")
