"""Runs one worker per matching service; starts, restarts and stops workers as the directory changes.

Rule: no worker is left running; ``close`` returns when every worker that was started has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

from postroad.core.model.snapshot import Directory
from postroad.flow.registries.configuration import Configuration


class ServiceWorker(Protocol):
    """A worker that starts when it is created."""

    async def end(self) -> None:
        """Stop taking work, and return when everything in progress is done or given back."""
        ...


Task = TypeVar("Task")  # the configuration of a worker; a worker whose task has changed is replaced
Worker = TypeVar("Worker", bound=ServiceWorker)


class ServiceWorkers(Generic[Task, Worker]):
    """Keeps one worker for each service that needs one."""

    def __init__(self, wanted: Callable[[Directory], Mapping[str, Task]], begin: Callable[[Task], Worker]) -> None:
        self._wanted = wanted  # the tasks that a directory asks for, by GCID
        self._begin = begin
        self._working: dict[str, tuple[Task, Worker]] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._closed = False

    def start(self, configuration: Configuration) -> None:
        configuration.on_change(self._follow)

    def get(self, gcid: str) -> Worker | None:
        """Return the service's worker, or None."""
        working = self._working.get(gcid)
        return working[1] if working is not None else None

    def workers(self) -> list[Worker]:
        """Return all workers."""
        return [worker for _, worker in self._working.values()]

    async def close(self) -> None:
        self._closed = True
        for gcid in tuple(self._working):
            self._dismiss(gcid)
        await asyncio.gather(*self._leaving)

    def _follow(self, directory: Directory) -> None:
        if self._closed:
            return
        wanted = self._wanted(directory)
        for gcid, (task, _) in tuple(self._working.items()):
            now = wanted.get(gcid)
            if now is not task and now != task:  # most are the very same, and comparing the rest costs more
                self._dismiss(gcid)
        for gcid, task in wanted.items():
            if gcid not in self._working:
                self._working[gcid] = task, self._begin(task)

    def _dismiss(self, gcid: str) -> None:
        _, worker = self._working.pop(gcid)
        leaving = asyncio.get_running_loop().create_task(worker.end())
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)
