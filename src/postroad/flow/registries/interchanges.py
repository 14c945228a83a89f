"""Interchanges that were sent: the control numbers they used and the documents they contain.

Rule: the answers come from the index, which is queried only after it has caught up with the journal.
"""

from __future__ import annotations

from postroad.core.interchange.acknowledgements import normalize_name
from postroad.core.interchange.numbering import SCOPES, NumberDrawing, NumberingParties
from postroad.core.model.interchange import AssembledInterchange
from postroad.core.model.journal import MessagePosted, decode
from postroad.core.model.restore import skip_numbers_after_restores
from postroad.core.projection.queries import MESSAGE, QUERIES
from postroad.core.projection.search_keys import document_key
from postroad.core.projection.tables import TABLES
from postroad.flow.plumbing import Plumbing

_HEADER = MESSAGE.index("header")
_SEQ, _BATCH = (TABLES["control_number"].index(name) for name in ("seq", "batch"))
_INTERCHANGE = TABLES["batch"].index("interchange")
_FOUND_SEQ, _FOUND_HEADER = (QUERIES["found"][1].index(name) for name in ("seq", "header"))
_NEWEST = 1 << 62
_PORTION = 10  # of interchanges that hold a document of the same name; mostly the newest is meant


class InterchangeRegistry:
    """Finds sent interchanges by number or document, and draws new control numbers."""

    def __init__(self, plumbing: Plumbing) -> None:
        self._index, self._wait_until_indexed = plumbing.index, plumbing.wait_until_indexed
        self._directory = plumbing.directory

    async def caught_up(self) -> None:
        """Wait until the index has seen everything."""
        await self._wait_until_indexed()

    async def drawing(self, sides: NumberingParties) -> NumberDrawing:
        """Return the next control numbers for one interchange; a conflict when it is stored means they are taken."""
        await self._wait_until_indexed()
        return NumberDrawing(sides, {scope: await self._latest(sides.series(scope)) for scope in SCOPES})

    async def find_sent(self, series: str, number: int) -> AssembledInterchange | None:
        """Return the interchange that uses a number; None if there is none.

        If it was assembled again since, with the same numbers and without a member that has left, returns that one.
        """
        for row in await self._index.query("control_number", series, number):
            return await self._as_it_is(await self._assembled("message_at", row[_SEQ]), row[_BATCH])
        return None

    async def holding(self, series: str, document: str) -> AssembledInterchange | None:
        """Return the newest interchange of a series that contains a document with this name.

        Requires an index that has caught up with the journal.
        """
        key, before, wanted = document_key(series, document), _NEWEST, normalize_name(document)
        while rows := await self._index.query("found", key, before, _PORTION):
            for row in rows:
                found = _of_series(row[_FOUND_HEADER], series)
                if found is None or found.batch is None:
                    continue
                now = await self._as_it_is(found, found.batch.id)
                if now is not None and any(normalize_name(name) == wanted for one in now.filed for name in one.names):
                    return now
            before = rows[-1][_FOUND_SEQ]
        return None

    async def _as_it_is(self, drawn: AssembledInterchange | None, batch: str) -> AssembledInterchange | None:
        for row in await self._index.query("batch", batch):
            return await self._assembled("message", row[_INTERCHANGE]) or drawn
        return drawn

    async def _assembled(self, question: str, name: str | int) -> AssembledInterchange | None:
        for message in await self._index.query(question, name):
            entry = decode(message[_HEADER])
            return entry.assembled if isinstance(entry, MessagePosted) else None
        return None

    async def _latest(self, series: str) -> int:
        """Return the number that the series continues after: the last one that was drawn, plus those that restores skip."""
        rows = await self._index.query("latest_number", series)
        number, used_by = rows[0] if rows else (0, 0)
        return skip_numbers_after_restores(number, used_by, self._directory().restores.values())


def _of_series(header: bytes | None, series: str) -> AssembledInterchange | None:
    """The interchange that this post is, if it went between the same two sides."""
    entry = decode(header) if header is not None else None
    if not isinstance(entry, MessagePosted) or entry.assembled is None:
        return None
    sides = series.rpartition(":")[0]
    return entry.assembled if any(one.series.rpartition(":")[0] == sides for one in entry.assembled.numbers) else None
