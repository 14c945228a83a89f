"""Interchanges that were sent: which numbers they have used, and what stands where in them.

Kept rule: the index knows, and is asked only when it has seen everything that is in the journal.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from postroad.core.interchange.numbering import SCOPES, Drawing, series_of
from postroad.core.model.interchange import Assembled
from postroad.core.model.journal import MessagePosted, decode
from postroad.core.projection.queries import MESSAGE
from postroad.core.projection.tables import TABLES
from postroad.ports import IndexReader

_HEADER = MESSAGE.index("header")
_SEQ, _BATCH = (TABLES["control_number"].index(name) for name in ("seq", "batch"))
_INTERCHANGE = TABLES["batch"].index("interchange")


class InterchangeBook:
    def __init__(self, index: IndexReader, indexed: Callable[[], Awaitable[None]]) -> None:
        self._index = index
        self._indexed = indexed

    async def drawing(self, standard: str, sender: str, receiver: str) -> Drawing:
        """Numbers for one interchange, each the next one; whoever writes it down finds out whether others were quicker."""
        await self._indexed()
        latest = {scope: await self._latest(series_of(standard, sender, receiver, scope)) for scope in SCOPES}
        return Drawing(standard=standard, sender=sender, receiver=receiver, latest=latest)

    async def sent(self, series: str, number: int) -> Assembled | None:
        """The interchange that uses a number; None when none does.

        Where it was assembled anew since, with the same numbers and without a member that has left, that one is meant.
        """
        for row in await self._index.query("control_number", series, number):
            drawn = await self._assembled("message_at", row[_SEQ])
            for batch in await self._index.query("batch", row[_BATCH]):
                return await self._assembled("message", batch[_INTERCHANGE]) or drawn
            return drawn
        return None

    async def _assembled(self, question: str, name: str | int) -> Assembled | None:
        for message in await self._index.query(question, name):
            entry = decode(message[_HEADER])
            return entry.assembled if isinstance(entry, MessagePosted) else None
        return None

    async def latest(self, series: str) -> int:
        """The number that was drawn last; 0 when none was."""
        await self._indexed()
        return await self._latest(series)

    async def _latest(self, series: str) -> int:
        return next((row[0] for row in await self._index.query("latest_number", series) if row[0] is not None), 0)
