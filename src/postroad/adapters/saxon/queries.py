"""Evaluates the queries of exchanges in workers; checks what can be refused before a worker is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postroad.adapters.confined.frames import LARGEST_SOURCE_BYTES, WorkerOutcome, output_limit
from postroad.adapters.confined.source_evaluator import SourceEvaluator
from postroad.adapters.saxon.frames import QueryBatch, SaxonCall
from postroad.adapters.saxon.items import to_typed_items
from postroad.adapters.saxon.workers import SaxonWorkers
from postroad.core.codecs.xml import to_utf8
from postroad.errors import Refused
from postroad.ports import ItemValue, QueryVerdict


class SaxonQueries:
    """The query engine over a pool of workers; closing is the pool's."""

    def __init__(self, workers: SaxonWorkers) -> None:
        self._workers = workers
        self._asking = SourceEvaluator(workers, "query")

    async def check(self, query: str) -> None:
        _check_size(query)
        outcome = await self._workers.attempt(SaxonCall(task="compile", source=query))
        if isinstance(outcome, WorkerOutcome) and outcome.code:
            place = f"line {outcome.line}" if outcome.line else ""
            place += f", column {outcome.column}" if outcome.column else ""
            detail = f"{place}: {outcome.detail}" if place else outcome.detail
            raise Refused("query.invalid", f"The query does not compile: {detail}", pointer=place)

    async def evaluate(
        self, queries: Sequence[str], content: bytes, media_type: str, items: Mapping[str, ItemValue]
    ) -> list[QueryVerdict]:
        is_json = _is_json(media_type)
        try:
            document = content.removeprefix(b"\xef\xbb\xbf") if is_json else to_utf8(content)
        except Refused as fault:
            return [QueryVerdict(goes=False, error=fault.detail)] * len(queries)
        typed, limit = to_typed_items(items), output_limit(len(document))

        def about(asked: Sequence[str]) -> QueryBatch:
            return QueryBatch(queries=tuple(asked), document=document, is_json=is_json, items=typed, output_limit=limit)

        return await self._asking.verdicts(queries, about)


def _is_json(media_type: str) -> bool:
    name = media_type.partition(";")[0].strip().lower()
    return name.endswith(("/json", "+json"))


def _check_size(query: str) -> None:
    try:
        size = len(query.encode())
    except UnicodeEncodeError:
        raise Refused("query.invalid", "The text is not Unicode; send it in UTF-8") from None
    if size > LARGEST_SOURCE_BYTES:
        raise Refused("query.invalid", f"The query has {size} bytes; at most {LARGEST_SOURCE_BYTES} are allowed")
