"""The way a message has come, for those who ask for it when they poll; nobody else pays for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from postroad.core.audit.passing import passed
from postroad.core.model.delivery import Queued
from postroad.core.model.journal import InvocationReturned, decode
from postroad.core.model.message import Delivered
from postroad.core.model.snapshot import Directory
from postroad.core.projection.queries import CONTENT
from postroad.ports import IndexReader

FACTS = CONTENT.index("facts")


class TrailStage:
    def __init__(self, index: IndexReader, indexed: Callable[[], Awaitable[None]]) -> None:
        self._index = index
        self._indexed = indexed

    async def traced(
        self, claimed: Sequence[Queued], delivered: Sequence[Delivered], directory: Directory
    ) -> list[Delivered]:
        """The deliveries, each with the stops that it has passed."""
        if any(queued.hop for queued in claimed):
            await self._indexed()
        return [
            replace(message, trace=passed(queued, await self._returned(queued), directory)) if queued.hop else message
            for queued, message in zip(claimed, delivered, strict=True)
        ]

    async def _returned(self, queued: Queued) -> list[InvocationReturned]:
        """What the services before this one have answered, oldest first."""
        rows = await self._index.query("transaction_contents", queued.message.transaction)
        entries = [decode(row[FACTS]) for row in rows]
        mine = (queued.message_seq, queued.copy)
        return [one for one in entries if isinstance(one, InvocationReturned) and (one.message, one.copy) == mine]
