"""Running a network from the command line: until a signal comes, and with its address where other commands look for it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Iterator
from errno import EACCES, EADDRINUSE, EADDRNOTAVAIL
from pathlib import Path
from socket import gaierror
from typing import Any

from postroad.bootstrap.settings import Settings
from postroad.cli.connection import URL_FILE
from postroad.errors import Misconfigured


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


@contextlib.contextmanager
def address_left_in(data: Path) -> Iterator[Callable[[str], None]]:
    """Gives a function that leaves the address in the data folder; it is gone again when the network is."""
    file = data / URL_FILE
    file.unlink(missing_ok=True)

    def leave(url: str) -> None:
        data.mkdir(parents=True, exist_ok=True)
        file.write_text(url + "\n")

    try:
        yield leave
    finally:
        file.unlink(missing_ok=True)


def cannot_listen(settings: Settings, error: OSError) -> OSError | Misconfigured:
    """What is wrong with which setting; the error itself when it is about something else."""
    where = f"{settings.host}:{settings.port}"
    if isinstance(error, gaierror):
        return Misconfigured([f"host: there is no host {settings.host}; give a name or an address of this machine"])
    faults = {
        EADDRINUSE: f"port: {where} is taken; stop the program that listens there, or choose another port with --port",
        EADDRNOTAVAIL: f"host: {settings.host} is no address of this machine; 127.0.0.1 always is, and 0.0.0.0 means all of them",
        EACCES: f"port: {where} is for administrators alone; choose one from 1024 on with --port",
    }
    return Misconfigured([faults[error.errno]]) if error.errno in faults else error
