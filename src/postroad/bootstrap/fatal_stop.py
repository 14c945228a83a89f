"""Stops the server in order when a background task finds an error that this process cannot continue after."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from postroad.errors import Misconfigured


class FatalStop:
    """Background tasks call ``stop``; the server waits in ``unless``, which then raises the error."""

    def __init__(self) -> None:
        self._error: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._error.add_done_callback(lambda error: error.exception())  # seen, also if the server is stopping already

    def stop(self, error: Misconfigured) -> None:
        """End the wait of ``unless`` with this error; the first one counts."""
        if not self._error.done():
            self._error.set_exception(error)

    async def unless(self, work: Coroutine[Any, Any, object]) -> None:
        """Run the work until it ends, is cancelled, or an error stops the server."""
        task = asyncio.get_running_loop().create_task(work)
        try:
            await asyncio.wait((task, self._error), return_when=asyncio.FIRST_COMPLETED)
            (self._error if self._error.done() else task).result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
