"""Who decides about candidates in a worker of Spark: the server's own engines, in the confined processes that they have there.

Kept rules: queries and scripts are members' programs, so none of them runs in Spark's own process; theirs are started when the
first candidate comes, one for each engine, and end with the task. A message that nobody need be asked about never waits for one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from postroad.adapters.saxon.queries import SaxonQueries
from postroad.adapters.saxon.workers import SaxonWorkers
from postroad.adapters.scripts.scripts import StarlarkScripts
from postroad.adapters.scripts.workers import script_workers
from postroad.core.exchange.bound import Language, Selected
from postroad.core.model.message import Part
from postroad.services.callables import Callables, Routing
from postroad.services.matching import Items, Judges, Match, matches


class TaskJudges:
    """The engines of one task, asked from code that does not wait on an event loop."""

    def __init__(self, routings: Mapping[str, Routing]) -> None:
        self._pools = (SaxonWorkers(processes=1), script_workers(processes=1))
        self._judges: Judges = {
            Language.QUERY: SaxonQueries(self._pools[0]),
            Language.SCRIPT: StarlarkScripts(self._pools[1]),
            Language.CALLABLE: Callables(routings),
        }
        self._runner = asyncio.Runner()

    def matches(self, selected: Selected, content: Part, items: Items) -> list[Match]:
        if not selected.asked:
            return [Match(binding) for binding in selected.decided]
        return self._runner.run(matches(selected, content, items, self._judges))

    def end(self) -> None:
        for pool in self._pools:
            self._runner.run(pool.close())
        self._runner.close()
