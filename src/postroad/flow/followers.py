"""A follower: work that reads every journal entry once, in order, and continues after a restart where it stopped.

Rule: a follower's cursor is the head after a complete group, with the value of the hash chain. A journal that does not
contain the cursor was restored or replaced; the follower stops, instead of mixing two histories.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from postroad.errors import Misconfigured, Unavailable
from postroad.ports import FollowerCursors, Journal, JournalBatch, JournalHead

log = logging.getLogger(__name__)

BATCH_BYTES = 1 << 20
TRY_AGAIN_S = 5.0


class JournalFollower:
    """Reads the journal for one task, such as traces or notifications.

    ``handle`` receives each batch of entries; the cursor is saved after it returns, so a crash repeats at most one batch.
    ``arrived`` returns when there may be new entries. ``leads`` returns False while another node does this work.
    """

    def __init__(
        self,
        name: str,
        journal: Journal,
        cursors: FollowerCursors,
        *,
        handle: Callable[[JournalBatch], Awaitable[None]],
        arrived: Callable[[], Awaitable[None]],
        leads: Callable[[], Awaitable[bool]],
    ) -> None:
        self.name = name
        self._journal = journal
        self._cursors = cursors
        self._handle = handle
        self._arrived = arrived
        self._leads = leads

    async def run(self) -> None:
        """Follow the journal until cancelled. Errors are logged and the same batch is tried again; returns if the journal
        is not the one that was followed."""
        while True:
            try:
                if await self._leads():
                    await self.catch_up()
                await self._arrived()
            except Unavailable as error:
                log.warning("the follower %s cannot continue now: %s", self.name, error)
                await asyncio.sleep(TRY_AGAIN_S)
            except Misconfigured as error:
                log.error("the follower %s stopped: %s", self.name, error)
                return
            except Exception:
                log.exception("the follower %s failed; trying again", self.name)
                await asyncio.sleep(TRY_AGAIN_S)

    async def catch_up(self) -> JournalHead:
        """Handle all entries that the journal has now; returns the new cursor. A new follower begins at the journal's end."""
        cursor = await self._cursors.load(self.name)
        if cursor is None:
            cursor = await self._journal.head()
            await self._cursors.save(self.name, cursor)
        if cursor.seq and (await self._journal.read(cursor.seq - 1, 1)).head != cursor:
            raise Misconfigured(
                [
                    f"{self.name}: its position is entry {cursor.seq} of another journal, or of this one before a restore; "
                    f"run `postroad followers reset {self.name}` to continue at the end of this journal"
                ]
            )
        while (batch := await self._journal.read(cursor.seq, BATCH_BYTES)).records:
            await self._handle(batch)
            cursor = batch.head
            await self._cursors.save(self.name, cursor)
        return cursor
