"""Query and script engines in a Spark worker, with the results for the last message cached.

The cache serves what-if, which matches a message with the bindings of two configurations, most of which are the same.
The engines are the server's own, in confined processes.

Rules: queries and scripts are members' programs, so none of them runs in Spark's own process. Their processes are
started for the first candidate, one for each engine, and end with the task. A message without candidates never waits
for one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from postroad.adapters.saxon.queries import SaxonQueries
from postroad.adapters.saxon.workers import SaxonWorkers
from postroad.adapters.scripts.scripts import ScriptWorkers, StarlarkScripts
from postroad.adapters.validation.workers import ValidationWorkers
from postroad.core.exchange.exchange import BoundExchange, DeciderLanguage
from postroad.core.model.directory import Service
from postroad.core.model.message import Part
from postroad.core.model.snapshot import Directory
from postroad.ports import ItemValue, QueryEngine, QueryVerdict, Validator
from postroad.services.exchange.binding_matches import (
    BindingEngines,
    BindingMatch,
    Items,
    build_incoming,
    find_failures,
    find_matches,
    is_unwanted,
    require_readable,
)
from postroad.services.exchange.callables import Callables, Routing
from postroad.services.validation import require_valid

About = tuple[bytes, str, str]


class CachedQueryEngine:
    """A query engine that caches the results of the last message only."""

    def __init__(self, engine: QueryEngine) -> None:
        self._engine = engine
        self._about: About | None = None
        self._verdicts: dict[str, QueryVerdict] = {}

    async def check(self, query: str) -> None:
        await self._engine.check(query)

    async def evaluate(
        self, queries: Sequence[str], content: bytes, media_type: str, items: Mapping[str, ItemValue]
    ) -> list[QueryVerdict]:
        about = (content, media_type, repr(items))  # to Python, true is 1; to a query it is not
        if about != self._about:
            self._about, self._verdicts = about, {}
        new = [query for query in dict.fromkeys(queries) if query not in self._verdicts]
        if new:
            told = await self._engine.evaluate(new, content, media_type, items)
            self._verdicts.update(zip(new, told, strict=True))
        return [self._verdicts[query] for query in queries]


class MatchedExchange(NamedTuple):
    """An exchange with its bindings, as a directory has them."""

    service: Service
    directory: Directory
    bound: BoundExchange


class TaskEngines:
    """The engines of one task, called synchronously."""

    def __init__(self, routings: Mapping[str, Routing]) -> None:
        self._validation = ValidationWorkers(processes=1)
        self._pools = (SaxonWorkers(processes=1), ScriptWorkers(processes=1), self._validation)
        self._judges: BindingEngines = {
            DeciderLanguage.QUERY: CachedQueryEngine(SaxonQueries(self._pools[0])),
            DeciderLanguage.SCRIPT: CachedQueryEngine(StarlarkScripts(self._pools[1])),
            DeciderLanguage.CALLABLE: CachedQueryEngine(Callables(routings)),
        }
        self._runner = asyncio.Runner()

    def matches(self, exchange: MatchedExchange, content: Part, items: Items) -> list[BindingMatch]:
        """Return the matching bindings, like on a delivery; raises Refused if the exchange cannot handle this content."""
        schema = exchange.service.validates
        if schema:
            tools = _ToValidate(exchange.service, exchange.directory, self._validation)
            self._runner.run(require_valid(content, schema, tools))
        looked_at = build_incoming(content, items)
        selected = exchange.bound.select(looked_at)
        found = [BindingMatch(binding) for binding in selected.decided] + find_failures(selected, content)
        if selected.asked:
            found = self._runner.run(find_matches(selected, content, items, self._judges))
        if is_unwanted(found, exchange.bound):
            require_readable(looked_at, content)
        return found

    def end(self) -> None:
        for pool in self._pools:
            self._runner.run(pool.close())
        self._runner.close()


class _ToValidate(NamedTuple):
    service: Service
    directory: Directory
    validator: Validator
