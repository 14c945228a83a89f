"""Evaluates the queries of exchanges in workers; checks what can be refused before a worker is asked.

Rule: header items are passed as XQuery sees them: the name of a simple type and the value's text, or an element for a
list. Only names that are valid variable names are passed on; other header items cannot be queried, and are not an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from html import escape

from postroad.adapters.confined.frames import LARGEST_SOURCE_BYTES, WorkerOutcome, output_limit
from postroad.adapters.confined.source_evaluator import SourceEvaluator
from postroad.adapters.saxon.frames import QueryBatch, SaxonCall
from postroad.adapters.saxon.workers import SaxonWorkers
from postroad.core.codecs.xml import to_utf8
from postroad.errors import Refused
from postroad.ports import ItemValue, QueryVerdict

_NAME = re.compile(r"[^\W\d][\w.\-]*")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REPLACEMENT = "\ufffd"
_SPECIAL = {"inf": "INF", "-inf": "-INF", "nan": "NaN"}


def to_typed_items(items: Mapping[str, ItemValue]) -> dict[str, tuple[str, str]]:
    return {name: _typed(value) for name, value in items.items() if _NAME.fullmatch(name) and name != "msg"}


def _typed(value: ItemValue) -> tuple[str, str]:
    match value:
        case str():
            return "string", _NOT_XML.sub(_REPLACEMENT, value)
        case bool():
            return "boolean", "true" if value else "false"
        case int():
            return "integer", str(value)
        case Decimal():
            return "decimal", format(value, "f")
        case float():
            return "double", _SPECIAL.get(repr(value), repr(value))
        case datetime():
            return "dateTime", value.isoformat()
        case date():
            return "date", value.isoformat()
        case _:
            return "xml", _element(value)


def _element(value: ItemValue) -> str:
    """Return an array as ``<array>``, a sequence (a tuple) as ``<sequence>``, with an ``<item>`` for each; they may be nested."""
    if isinstance(value, str) or not isinstance(value, list | tuple):
        return escape(_typed(value)[1], quote=False)
    name = "sequence" if isinstance(value, tuple) else "array"
    return f"<{name}>" + "".join(f"<item>{_element(one)}</item>" for one in value) + f"</{name}>"


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
