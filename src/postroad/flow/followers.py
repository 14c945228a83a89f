"""A follower: work that reads every journal entry once, in order, and continues after a restart where it stopped.

Rule: a follower's cursor is the head after a complete group, with the value of the hash chain. A journal that does not
contain the cursor was restored or replaced; the follower stops, instead of mixing two histories. Rule: the journal
never waits for a follower.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from postroad.errors import Misconfigured, Unavailable
from postroad.ports import FollowerCursors, JournalBatch, JournalHead

log = logging.getLogger(__name__)

BATCH_BYTES = 1 << 20
TRY_AGAIN_S = 5.0
PATIENCE_S = 0.2  # groups that are committed meanwhile are handled together, with one cursor


class FollowedJournal(Protocol):
    """The part of a journal that followers need."""

    async def read(self, after_seq: int, limit_bytes: int = ...) -> JournalBatch: ...

    async def head(self) -> JournalHead: ...


class CommitSignal:
    """Wakes one follower after commits; ``notify`` is cheap and is called after every group."""

    def __init__(self, *, patience_s: float = PATIENCE_S, look_again_s: float | None = None) -> None:
        self._patience_s = patience_s
        self._look_again_s = look_again_s  # None: every commit is announced
        self._committed = asyncio.Event()

    def notify(self, seq: int) -> None:
        self._committed.set()

    async def wait(self) -> None:
        """Return when there may be new entries."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._look_again_s):
                await self._committed.wait()
            await asyncio.sleep(self._patience_s)
        self._committed.clear()


class JournalFollower:
    """Reads the journal for one task, such as traces or notifications.

    ``handle`` receives each batch of entries; the cursor is saved after it returns, so a crash repeats at most one batch.
    ``arrived`` returns when there may be new entries. ``leads`` returns False while another node does this work.
    While ``is_needed`` returns False, entries are skipped without being read.
    """

    def __init__(
        self,
        name: str,
        journal: FollowedJournal,
        cursors: FollowerCursors,
        *,
        handle: Callable[[JournalBatch], Awaitable[None]],
        arrived: Callable[[], Awaitable[None]],
        leads: Callable[[], Awaitable[bool]],
        is_needed: Callable[[], bool] = lambda: True,
        batch_bytes: int = BATCH_BYTES,
        try_again_s: float = TRY_AGAIN_S,
    ) -> None:
        self.name = name
        self._journal = journal
        self._cursors = cursors
        self._handle = handle
        self._arrived = arrived
        self._leads = leads
        self._is_needed = is_needed
        self._batch_bytes = batch_bytes
        self._try_again_s = try_again_s
        self._verified: JournalHead | None = None  # a cursor that the journal contains
        self._stopped_by = ""

    async def run(self) -> None:
        """Follow the journal until cancelled. After an error the same batch is tried again.

        A follower of another journal stops; it continues when an operator has reset its cursor.
        """
        while True:
            try:
                await self.catch_up()
                self._stopped_by = ""
                await self._arrived()
            except Unavailable as error:
                log.warning("follower.waiting: the follower %s cannot continue now: %s", self.name, error)
                await asyncio.sleep(self._try_again_s)
            except Misconfigured as error:
                self._log_stop(str(error))
                await asyncio.sleep(self._try_again_s)
            except Exception:
                log.exception("follower.failed: the follower %s failed; trying again", self.name)
                await asyncio.sleep(self._try_again_s)

    async def catch_up(self) -> JournalHead | None:
        """Handle all entries that the journal has now; returns the new cursor, or None if another node leads.

        A new follower begins at the end of the journal. Raises Misconfigured if the journal does not contain the cursor.
        """
        if not await self._leads():
            return None
        cursor = await self._skip(await self._load_cursor())
        while (batch := await self._journal.read(cursor.seq, self._batch_bytes)).records:
            await self._handle(batch)
            await self._save_cursor(batch.head)
            if not await self._leads():
                return None
            cursor = await self._skip(batch.head)
        return cursor

    async def _skip(self, cursor: JournalHead) -> JournalHead:
        """Return the cursor, which is moved to the end of the journal if no one needs its entries."""
        if self._is_needed():
            return cursor
        head = await self._journal.head()
        if self._is_needed() or head == cursor:  # it may have become needed meanwhile
            return cursor
        await self._save_cursor(head)
        return head

    async def _load_cursor(self) -> JournalHead:
        cursor = await self._cursors.load(self.name)
        if cursor is None:
            cursor = await self._journal.head()
            await self._save_cursor(cursor)
        if cursor != self._verified:
            await self._verify(cursor)
        return cursor

    async def _save_cursor(self, cursor: JournalHead) -> None:
        await self._cursors.save(self.name, cursor)
        self._verified = cursor

    async def _verify(self, cursor: JournalHead) -> None:
        if cursor.seq and (await self._journal.read(cursor.seq - 1, 1)).head != cursor:
            raise Misconfigured(
                [
                    f"{self.name}: its position is entry {cursor.seq} of another journal, or of this one before a restore; "
                    f"run `postroad followers reset {self.name}` to continue at the end of this journal"
                ]
            )
        self._verified = cursor

    def _log_stop(self, error: str) -> None:
        if error != self._stopped_by:
            log.error("follower.stopped: the follower %s stopped: %s", self.name, error)
            self._stopped_by = error
