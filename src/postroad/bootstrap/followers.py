"""Starts the followers of a network: tasks that read every journal entry once, such as notifications.

Rule: without a follower, a commit costs one function call more. On a shared network only the leader follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Protocol

from postroad.adapters.followers.cursors import FileCursors, MemoryCursors, PostgresCursors
from postroad.bootstrap.settings import Settings
from postroad.flow.followers import CommitSignal, JournalFollower
from postroad.ports import FollowerCursors, Journal, JournalBatch

CURSORS_FOLDER = "followers"
# a journal in files is read and hashed on the event loop, which 1 MiB would block for up to 26 ms
BATCH_BYTES = 128 << 10
LOOK_AGAIN_S = 5.0  # a node that becomes leader notices it without a commit


class CommitAnnouncements:
    """Calls its listeners with the number of the last entry after every committed group."""

    def __init__(self, *listeners: Callable[[int], None]) -> None:
        self._listeners = listeners

    def add(self, listener: Callable[[int], None]) -> None:
        self._listeners = (*self._listeners, listener)

    def notify(self, seq: int) -> None:
        for listener in self._listeners:
            listener(seq)


class FollowedStore(Protocol):
    """The parts of a network's stores that a follower needs."""

    @property
    def journal(self) -> Journal: ...

    @property
    def cursors(self) -> FollowerCursors: ...

    @property
    def commits(self) -> CommitAnnouncements: ...

    @property
    def leads(self) -> Callable[[], Awaitable[bool]]: ...


async def open_cursors(settings: Settings) -> FollowerCursors:
    """Open the cursors of all followers: in PostgreSQL on a shared network, else beside the journal."""
    if settings.acceptance == "shared":
        return await PostgresCursors.open(settings.postgres)
    return MemoryCursors() if settings.index == "memory" else FileCursors(cursors_folder(settings))


def cursors_folder(settings: Settings) -> Path:
    return settings.data / CURSORS_FOLDER


def start_follower(
    name: str,
    handle: Callable[[JournalBatch], Awaitable[None]],
    settings: Settings,
    store: FollowedStore,
    stack: AsyncExitStack,
    is_needed: Callable[[], bool] = lambda: True,
) -> None:
    """Follow the journal until the stack is closed; ``handle`` receives each batch of new entries on the leader.

    Entries are skipped while ``is_needed`` returns False.
    """
    signal = CommitSignal(look_again_s=LOOK_AGAIN_S if settings.acceptance == "shared" else None)
    store.commits.add(signal.notify)
    follower = JournalFollower(
        name,
        store.journal,
        store.cursors,
        handle=handle,
        arrived=signal.wait,
        leads=store.leads,
        is_needed=is_needed,
        batch_bytes=BATCH_BYTES,
    )
    task = asyncio.get_running_loop().create_task(follower.run(), name=f"follower {name}")
    stack.push_async_callback(_stop, task)


async def _stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
