"""An open exchange: matches large messages off the event loop while bindings change.

Rules: the event loop never waits for a large message to be matched. A binding that changes meanwhile is applied
before the next message is matched.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from threading import Lock

from postroad.core.exchange.exchange import BoundExchange, SelectedBindings
from postroad.core.exchange.match.matcher import MatchableMessage
from postroad.core.model.exchange import Binding
from postroad.core.model.snapshot import Directory

AT_ONCE_BYTES = 32_768  # handing work to a thread costs more than matching this


class OpenExchange(BoundExchange):
    """An exchange that can be matched and changed concurrently."""

    def __init__(self, callables: Iterable[str] = ()) -> None:
        super().__init__(callables)
        self._busy = Lock()
        self._changes: deque[Callable[[], None]] = deque()

    def save(self, binding: Binding, directory: Directory) -> None:
        self._change(partial(super().save, binding, directory))

    def forget(self, key: str) -> None:
        self._change(partial(super().forget, key))

    def reroute(self, routing: str, directory: Directory) -> None:
        self._change(partial(super().reroute, routing, directory))

    def select(self, incoming: MatchableMessage) -> SelectedBindings:
        with self._busy:
            self._catch_up()
            return super().select(incoming)

    async def select_off_loop(self, incoming: MatchableMessage) -> SelectedBindings:
        """Return the selected bindings, computed off the event loop if that is slow or must wait."""
        if len(incoming.content) <= AT_ONCE_BYTES and not self._busy.locked():
            return self.select(incoming)
        return await asyncio.to_thread(self.select, incoming)

    def _change(self, change: Callable[[], None]) -> None:
        self._changes.append(change)
        if self._busy.acquire(blocking=False):
            try:
                self._catch_up()
            finally:
                self._busy.release()

    def _catch_up(self) -> None:
        while self._changes:
            self._changes.popleft()()
