"""Who decides about candidates in a worker of Spark: the server's own engines, in the confined processes that they have there.

Kept rules: queries and scripts are members' programs, so none of them runs in Spark's own process; theirs are started when the
first candidate comes, one for each engine, and end with the task. A message that nobody need be asked about never waits for one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from postroad.adapters.saxon.queries import SaxonQueries
from postroad.adapters.saxon.workers import SaxonWorkers
from postroad.adapters.scripts.scripts import StarlarkScripts
from postroad.adapters.scripts.workers import script_workers
from postroad.adapters.validation.workers import ValidationWorkers
from postroad.core.exchange.bound import BoundExchange, Language
from postroad.core.model.directory import Service
from postroad.core.model.message import Part
from postroad.core.model.snapshot import Directory
from postroad.ports import Validator
from postroad.services.callables import Callables, Routing
from postroad.services.matching import Items, Judges, Match, failures, incoming, is_unwanted, matches, require_readable
from postroad.services.validation import require_valid
from postroad.warehouse.bulk.remembering import Remembering


class Exchange(NamedTuple):
    """An exchange as a directory has it: the service, and what is bound to it."""

    service: Service
    directory: Directory
    bound: BoundExchange


class TaskJudges:
    """The engines of one task, asked from code that does not wait on an event loop."""

    def __init__(self, routings: Mapping[str, Routing]) -> None:
        self._validation = ValidationWorkers(processes=1)
        self._pools = (SaxonWorkers(processes=1), script_workers(processes=1), self._validation)
        self._judges: Judges = {
            Language.QUERY: Remembering(SaxonQueries(self._pools[0])),
            Language.SCRIPT: Remembering(StarlarkScripts(self._pools[1])),
            Language.CALLABLE: Remembering(Callables(routings)),
        }
        self._runner = asyncio.Runner()

    def matches(self, exchange: Exchange, content: Part, items: Items) -> list[Match]:
        """What the bindings say, as on a delivery: Refused where the exchange can do nothing with this content."""
        schema = exchange.service.validates
        if schema:
            tools = _ToValidate(exchange.service, exchange.directory, self._validation)
            self._runner.run(require_valid(content, schema, tools))
        looked_at = incoming(content, items)
        selected = exchange.bound.select(looked_at)
        found = [Match(binding) for binding in selected.decided] + failures(selected, content)
        if selected.asked:
            found = self._runner.run(matches(selected, content, items, self._judges))
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
