"""Starts and stops the ASGI application by the lifespan protocol.

Rule: if the application reports a failed startup, the server does not start; an application without lifespan support
is served without it.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from postroad.api.http.front import AsgiApp, Event
from postroad.errors import Misconfigured


class Lifespan:
    def __init__(self, app: AsgiApp) -> None:
        self._app = app
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._answers: asyncio.Queue[Event] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self.state: dict[str, Any] = {}

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run())
        answer = await self._ask("lifespan.startup")
        if answer["type"] == "lifespan.startup.failed":
            raise Misconfigured([f"the application could not start: {answer.get('message', '')}"])

    async def stop(self) -> None:
        if self._task is not None and not self._task.done():
            await self._ask("lifespan.shutdown")
            await asyncio.gather(self._task, return_exceptions=True)

    async def _ask(self, kind: str) -> Event:
        await self._events.put({"type": kind})
        return await self._answers.get()

    async def _run(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": self.state}
        with contextlib.suppress(Exception):  # by the protocol: an application that raises here knows no lifespan
            await self._app(scope, self._events.get, self._answers.put)
        await self._answers.put({"type": "lifespan.unsupported"})
