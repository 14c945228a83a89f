"""Which bindings each queue has, and those of each exchange in their order: known at once, however many there are.

Kept rule: a change costs what has changed. The order of an exchange's bindings is found when it is asked for, and kept until
one of them changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from postroad.core.model.exchange import Binding
from postroad.core.model.journal import ObjectChange
from postroad.core.model.snapshot import Directory
from postroad.flow.configure import Configuration

ORDERS_MOST = 8  # exchanges whose order is kept


class BindingBook:
    def __init__(self, configuration: Configuration) -> None:
        self._queue_of: dict[str, str] = {}  # by the binding's key
        self._by_queue: dict[str, set[str]] = {}
        self._orders: dict[str, tuple[Mapping[str, Any], list[Binding]]] = {}
        configuration.follow(self._follow)

    def of_queue(self, queue: str) -> frozenset[str]:
        """The keys of all bindings of a queue, at whatever exchange."""
        return frozenset(self._by_queue.get(queue, ()))

    def count(self, queue: str) -> int:
        return len(self._by_queue.get(queue, ()))

    def at(self, exchange: str, queues: Iterable[str]) -> list[str]:
        """The keys of the bindings that these queues have at one exchange."""
        return [key for queue in queues for key in self._by_queue.get(queue, ()) if key.startswith(f"{exchange}/")]

    def listed(self, exchange: str, directory: Directory) -> list[Binding]:
        """All bindings of an exchange, by name."""
        bindings = directory.bindings.of(exchange)
        known, order = self._orders.pop(exchange, ({}, []))
        if known is not bindings:
            order = directory.bindings_of(exchange)
        self._orders[exchange] = (bindings, order)
        if len(self._orders) > ORDERS_MOST:
            del self._orders[next(iter(self._orders))]
        return order

    def _follow(self, directory: Directory, changes: Sequence[ObjectChange]) -> None:
        for change in changes:
            if change.kind == "binding":
                self._forget(change.key)
                if change.value is not None:
                    queue = self._queue_of[change.key] = change.value["queue"]
                    self._by_queue.setdefault(queue, set()).add(change.key)

    def _forget(self, key: str) -> None:
        queue = self._queue_of.pop(key, None)
        if queue is None:
            return
        self._by_queue[queue].discard(key)
        if not self._by_queue[queue]:
            del self._by_queue[queue]
