"""Keeps an index up to date with its journal inside this process, for indexes without a separate process.

The embedded SQLite index has a separate process (``adapters.index.process``), because projecting beside a busy event loop
would slow the loop down; memory and PostgreSQL indexes are followed here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from postroad.core.model.level import LevelTooHigh
from postroad.errors import Unavailable
from postroad.flow.indexing import catch_up, follow
from postroad.ports import Index, Journal, JournalHead

log = logging.getLogger(__name__)

GIVE_UP_S = 10.0
LOOK_AGAIN_S = 0.5  # other nodes of a shared network write without telling us
PATIENCE_S = 0.2  # delay in which entries are collected for one transaction; no caller waits for it


class LeadershipLost(Exception):
    """Another node keeps the index now."""


async def is_always_leader() -> bool:
    return True


class FollowedIndex:
    """``leads`` returns whether this node updates the index; of several nodes that share one, only one does."""

    def __init__(
        self,
        journal: Journal,
        index: Index,
        leads: Callable[[], Awaitable[bool]] = is_always_leader,
        *,
        patience_s: float = 0.0,
        look_again_s: float | None = LOOK_AGAIN_S,
        on_unreadable: Callable[[LevelTooHigh], None] = lambda error: log.critical(
            "network.level_unreadable: %s", error
        ),
    ) -> None:
        self._journal = journal
        self._index = index
        self._leads = leads
        self._patience_s = patience_s
        self._look_again_s = look_again_s  # None: every entry is announced by ``notify``
        self._on_unreadable = on_unreadable  # the network was raised to a level that this version cannot read
        self._arrived = asyncio.Event()
        self._wanted = asyncio.Event()  # set while someone waits for an entry
        self._waiting = 0
        self._moved = asyncio.Event()  # replaced after each step; waiters hold the one that will be set
        self._seq = 0
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Catch up, then keep up."""
        if await self._leads():
            await catch_up(self._journal, self._index, self._progress)
        self._seq = (await self._index.position()).seq
        self._task = asyncio.get_running_loop().create_task(self._run(), name="index")

    def notify(self, seq: int) -> None:
        """Something was appended."""
        self._arrived.set()

    async def wait_for(self, seq: int) -> None:
        """Return when the index has applied that entry."""
        if self._seq >= seq:
            return
        self._waiting += 1
        self._arrived.set()
        self._wanted.set()
        try:
            async with asyncio.timeout(GIVE_UP_S):
                while self._seq < seq:
                    await self._moved.wait()
        except TimeoutError:
            raise index_behind_error() from None
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._wanted.clear()

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            try:
                while not await self._leads():
                    self._seq = (await self._index.position()).seq
                    await self._wait()
                await follow(self._journal, self._index, arrived=self._wait_as_leader, on_progress=self._progress)
            except LeadershipLost:
                continue
            except Unavailable as unavailable:
                log.warning("index.waiting: the index cannot be kept up now: %s", unavailable)
            except LevelTooHigh as error:
                self._on_unreadable(error)
                return
            except Exception:
                log.exception("index.failed: the index could not be kept up; trying again")
            await asyncio.sleep(LOOK_AGAIN_S)

    async def _wait_as_leader(self) -> None:
        await self._wait()
        if not await self._leads():
            raise LeadershipLost

    async def _wait(self) -> None:
        self._wake()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._look_again_s):
                await self._arrived.wait()
            async with asyncio.timeout(self._patience_s):
                await self._wanted.wait()
        self._arrived.clear()

    def _progress(self, head: JournalHead) -> None:
        """Reports progress after each batch, since under load the end of the journal is never reached."""
        self._seq = head.seq
        self._wake()

    def _wake(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()


def index_behind_error() -> Unavailable:
    return Unavailable("network.unavailable", "The index has not caught up with the journal yet; try again in a moment")
