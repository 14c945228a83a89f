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

_FACTS = MESSAGE.index("header")
_SEQ = TABLES["control_number"].index("seq")


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
        """The interchange that has used a number; None when none has."""
        for row in await self._index.query("control_number", series, number):
            for message in await self._index.query("message_at", row[_SEQ]):
                entry = decode(message[_FACTS])
                return entry.assembled if isinstance(entry, MessagePosted) else None
        return None

    async def latest(self, series: str) -> int:
        """The number that was drawn last; 0 when none was."""
        await self._indexed()
        return await self._latest(series)

    async def _latest(self, series: str) -> int:
        return next((row[0] for row in await self._index.query("latest_number", series) if row[0] is not None), 0)
