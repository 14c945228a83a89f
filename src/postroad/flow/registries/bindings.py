"""Bindings by queue and by exchange, in memory, kept in step with the configuration.

Rule: the cost of a change depends only on what has changed. The order of an exchange's bindings is computed on first
use, and kept until one of them changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from postroad.core.model.exchange import Binding
from postroad.core.model.journal import ObjectChange
from postroad.core.model.snapshot import Directory
from postroad.flow.registries.configuration import Configuration

MAX_ORDERS = 8  # exchanges whose order is kept


class BindingRegistry:
    """Looks up bindings without a scan, however many there are."""

    def __init__(self, configuration: Configuration) -> None:
        self._by_exchange: dict[str, dict[str, Binding]] = {}  # each by its key
        self._by_queue: dict[str, set[str]] = {}
        self._orders: dict[str, list[Binding]] = {}
        configuration.follow(self._follow)

    def of_queue(self, queue: str) -> frozenset[str]:
        """Return the keys of all bindings of a queue, at any exchange."""
        return frozenset(self._by_queue.get(queue, ()))

    def count(self, exchange: str) -> int:
        """Return how many bindings an exchange has."""
        return len(self._by_exchange.get(exchange, ()))

    def at(self, exchange: str, queues: Iterable[str]) -> list[Binding]:
        """Return the bindings of these queues at one exchange."""
        mine = self._by_exchange.get(exchange, {})
        return [mine[key] for queue in queues for key in self._by_queue.get(queue, ()) if key in mine]

    def concerning(self, service: str) -> list[Binding]:
        """Return all bindings of which the service is the exchange or the queue."""
        found = dict(self._by_exchange.get(service, {}))
        for key in self._by_queue.get(service, ()):
            found[key] = self._by_exchange[key.partition("/")[0]][key]
        return list(found.values())

    def list_bindings(self, exchange: str) -> list[Binding]:
        """Return all bindings of an exchange, sorted by name."""
        order = self._orders.pop(exchange, None)
        if order is None:
            bindings = self._by_exchange.get(exchange, {})
            order = sorted(bindings.values(), key=lambda binding: binding.name.casefold())
        self._orders[exchange] = order
        if len(self._orders) > MAX_ORDERS:
            del self._orders[next(iter(self._orders))]
        return order

    def _follow(self, directory: Directory, changes: Sequence[ObjectChange]) -> None:
        for change in changes:
            if change.kind == "binding":
                self._forget(change.key)
                if (binding := directory.bindings.get(change.key)) is not None:
                    self._by_exchange.setdefault(binding.exchange, {})[change.key] = binding
                    self._by_queue.setdefault(binding.queue, set()).add(change.key)

    def _forget(self, key: str) -> None:
        exchange = key.partition("/")[0]
        self._orders.pop(exchange, None)
        bindings = self._by_exchange.get(exchange, {})
        binding = bindings.pop(key, None)
        if binding is None:
            return
        if not bindings:
            del self._by_exchange[exchange]
        keys = self._by_queue[binding.queue]
        keys.discard(key)
        if not keys:
            del self._by_queue[binding.queue]
