"""Runs a network from the command line: signals, the published address, and the log on standard error."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from errno import EACCES, EADDRINUSE, EADDRNOTAVAIL
from pathlib import Path
from socket import gaierror
from typing import Any

from postroad.bootstrap.settings import Settings
from postroad.cli.framework.connection import URL_FILE
from postroad.cli.framework.operator_log import WORDS, JsonLines, OperatorLog
from postroad.errors import Misconfigured


def run_until_signalled(work: Coroutine[Any, Any, None]) -> None:
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
def published_address(data: Path, name: str = URL_FILE) -> Iterator[Callable[[str], None]]:
    """Yield a function that writes an address to the data folder; the file is removed when the network stops."""
    file = data / name
    file.unlink(missing_ok=True)

    def leave(url: str) -> None:
        data.mkdir(parents=True, exist_ok=True)
        file.write_text(url + "\n")

    try:
        yield leave
    finally:
        file.unlink(missing_ok=True)


def describe_listen_error(settings: Settings, error: OSError) -> OSError | Misconfigured:
    """Return the error as a wrong setting, or the error itself when it has another cause."""
    where = f"{settings.host}:{settings.port}"
    if isinstance(error, gaierror):
        return Misconfigured([f"host: {settings.host} does not exist; use a name or an address of this machine"])
    faults = {
        EADDRINUSE: f"port: {where} is in use; stop the program that listens there, or choose another port with --port",
        EADDRNOTAVAIL: f"host: {settings.host} is not an address of this machine; use 127.0.0.1 or 0.0.0.0 (all addresses)",
        EACCES: f"port: {where} requires administrator rights; choose 1024 or higher with --port",
    }
    return Misconfigured([faults[error.errno]]) if error.errno in faults else error


def log_to_stderr(level: str, *, as_json: bool) -> None:
    lines = OperatorLog(with_priorities="JOURNAL_STREAM" in os.environ)
    lines.setFormatter(JsonLines() if as_json else logging.Formatter(WORDS))
    logging.basicConfig(level=level.upper(), handlers=[lines], force=True)
    logging.getLogger("httpx2").setLevel("WARNING")  # it would log every request of the demo's own clients
