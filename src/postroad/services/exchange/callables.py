"""Routings written in Python by the operator, with the interface of the query engine.

A routing is a function of the content, its media type and the header's items. ``True`` sends the message unchanged,
``False`` and ``None`` do not send it, and bytes or text replace the content. An exception is an error of the binding
that uses the routing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from postroad.errors import Refused
from postroad.ports import ItemValue, QueryVerdict

Routing = Callable[[bytes, str, Mapping[str, ItemValue]], object]

TEXT = "text/plain; charset=utf-8"

log = logging.getLogger(__name__)


class Callables:
    """Runs the operator's routings in threads, one after the other for each message."""

    def __init__(self, routings: Mapping[str, Routing]) -> None:
        self._routings = routings

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._routings)

    async def check(self, query: str) -> None:
        if query not in self._routings:
            raise Refused("routing.unknown", f"The operator has not registered the routing {query[:80]!r}")

    async def evaluate(
        self, queries: Sequence[str], content: bytes, media_type: str, items: Mapping[str, ItemValue]
    ) -> list[QueryVerdict]:
        return await asyncio.to_thread(lambda: [self._ask(name, content, media_type, items) for name in queries])

    def _ask(self, name: str, content: bytes, media_type: str, items: Mapping[str, ItemValue]) -> QueryVerdict:
        try:
            answer = self._routings[name](content, media_type, items)
        except Exception as error:
            log.warning("exchange.routing_raised: routing %s raised %s", name, type(error).__name__)
            return QueryVerdict(goes=False, error=f"{type(error).__name__}: {error}")
        match answer:
            case bool() | None:
                return QueryVerdict(goes=bool(answer))
            case bytes():
                return QueryVerdict(goes=True, content=answer, media_type=media_type)
            case str():
                return QueryVerdict(goes=True, content=answer.encode(), media_type=TEXT)
        return QueryVerdict(
            goes=False, error=f"it returned {type(answer).__name__}; return a boolean, bytes, text or None"
        )
