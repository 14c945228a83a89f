"""Interchanges that were sent: which numbers they have used, and what stands where in them.

Kept rule: the index knows, and is asked only when it has seen everything that is in the journal.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from postroad.core.interchange.answers import same_name
from postroad.core.interchange.numbering import SCOPES, Drawing, Sides
from postroad.core.model.interchange import Assembled
from postroad.core.model.journal import MessagePosted, decode
from postroad.core.projection.found_by import document_key
from postroad.core.projection.queries import MESSAGE, QUERIES
from postroad.core.projection.tables import TABLES
from postroad.ports import IndexReader

_HEADER = MESSAGE.index("header")
_SEQ, _BATCH = (TABLES["control_number"].index(name) for name in ("seq", "batch"))
_INTERCHANGE = TABLES["batch"].index("interchange")
_FOUND_SEQ, _FOUND_HEADER = (QUERIES["found"][1].index(name) for name in ("seq", "header"))
_NEWEST = 1 << 62
_PORTION = 10  # of interchanges that hold a document of the same name; mostly the newest is meant


class InterchangeBook:
    def __init__(self, index: IndexReader, indexed: Callable[[], Awaitable[None]]) -> None:
        self._index = index
        self._indexed = indexed

    async def caught_up(self) -> None:
        """Wait until the index has seen everything."""
        await self._indexed()

    async def drawing(self, sides: Sides) -> Drawing:
        """Numbers for one interchange, each the next one; whoever writes it down finds out whether others were quicker."""
        await self._indexed()
        return Drawing(sides, {scope: await self._latest(sides.series(scope)) for scope in SCOPES})

    async def sent(self, series: str, number: int) -> Assembled | None:
        """The interchange that uses a number; None when none does.

        Where it was assembled anew since, with the same numbers and without a member that has left, that one is meant.
        """
        for row in await self._index.query("control_number", series, number):
            return await self._as_it_is(await self._assembled("message_at", row[_SEQ]), row[_BATCH])
        return None

    async def holding(self, series: str, document: str) -> Assembled | None:
        """The newest interchange with a document of this name, of all that went the way of a series.

        The index must have caught up before.
        """
        key, before, wanted = document_key(series, document), _NEWEST, same_name(document)
        while rows := await self._index.query("found", key, before, _PORTION):
            for row in rows:
                found = _of_series(row[_FOUND_HEADER], series)
                if found is None or found.batch is None:
                    continue
                now = await self._as_it_is(found, found.batch.id)
                if now is not None and any(same_name(name) == wanted for one in now.filed for name in one.names):
                    return now
            before = rows[-1][_FOUND_SEQ]
        return None

    async def _as_it_is(self, drawn: Assembled | None, batch: str) -> Assembled | None:
        for row in await self._index.query("batch", batch):
            return await self._assembled("message", row[_INTERCHANGE]) or drawn
        return drawn

    async def _assembled(self, question: str, name: str | int) -> Assembled | None:
        for message in await self._index.query(question, name):
            entry = decode(message[_HEADER])
            return entry.assembled if isinstance(entry, MessagePosted) else None
        return None

    async def _latest(self, series: str) -> int:
        """The number that was drawn last; 0 when none was."""
        return next((row[0] for row in await self._index.query("latest_number", series) if row[0] is not None), 0)


def _of_series(header: bytes | None, series: str) -> Assembled | None:
    """The interchange that this post is, if it went between the same two sides."""
    entry = decode(header) if header is not None else None
    if not isinstance(entry, MessagePosted) or entry.assembled is None:
        return None
    sides = series.rpartition(":")[0]
    return entry.assembled if any(one.series.rpartition(":")[0] == sides for one in entry.assembled.numbers) else None
