"""The exchanges open on this node, with all their bindings, kept in step with the configuration.

Rules: an exchange is opened on first use, without delaying others however many bindings it has. From then on, the
cost of each change depends only on what has changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from postroad.core.model.journal import ObjectChange
from postroad.core.model.snapshot import Directory
from postroad.flow.registries.configuration import Configuration
from postroad.flow.registries.open_exchange import OpenExchange

AT_ONCE = 100  # bindings, before others have their turn


class ExchangeRegistry:
    """Opens exchanges on first use and applies binding changes to them."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._callables: frozenset[str] = frozenset()
        self._open: dict[str, OpenExchange] = {}
        self._opening: dict[str, asyncio.Task[OpenExchange]] = {}
        configuration.follow(self._follow)

    def install(self, callables: Iterable[str]) -> None:
        """Set the operator's callable routings, before the first exchange is opened."""
        self._callables = frozenset(callables)

    @property
    def callables(self) -> frozenset[str]:
        return self._callables

    async def load(self, gcid: str) -> OpenExchange:
        """Return the exchange with all its current bindings."""
        if gcid in self._open and gcid not in self._opening:
            return self._open[gcid]
        if gcid not in self._opening:
            self._open[gcid] = OpenExchange(self._callables)
            self._opening[gcid] = asyncio.get_running_loop().create_task(self._bind_all(gcid))
        return await asyncio.shield(self._opening[gcid])

    async def _bind_all(self, gcid: str) -> OpenExchange:
        exchange = self._open[gcid]
        try:
            for number, binding in enumerate(self._configuration.directory().bindings_of(gcid)):
                if number % AT_ONCE == AT_ONCE - 1:
                    await asyncio.sleep(0)
                directory = self._configuration.directory()
                if directory.binding(gcid, binding.name) is binding:  # others were handled by ``_follow``
                    exchange.save(binding, directory)
        except BaseException:
            self._open.pop(gcid, None)  # with some of its bindings it would lose messages
            raise
        finally:
            del self._opening[gcid]
        return exchange

    def _follow(self, directory: Directory, changes: Sequence[ObjectChange]) -> None:
        for change in changes:
            owner, _, rest = change.key.partition("/")
            exchange = self._open.get(owner)
            if exchange is None:
                continue
            if change.kind == "binding":
                binding = directory.bindings.get(change.key)
                if binding is None:
                    exchange.forget(change.key)
                else:
                    exchange.save(binding, directory)
            elif change.kind == "asset":
                exchange.reroute(rest.partition("/")[2], directory)
            elif change.kind == "service" and change.value is None:
                del self._open[owner]
