"""Queries of exchanges, in the workers: many about one message in one round trip.

Kept rules: a batch that fails as a whole is asked again one by one, so the guilty one is found and nobody else loses an answer. A
query that has cost a worker its life is asked alone from then on, and after too many sits in the penalty box, where its answer
is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postroad.adapters.saxon.frames import (
    LARGEST_SOURCE_BYTES,
    UNREADABLE,
    Answer,
    AnswerKind,
    Answers,
    Batch,
    Outcome,
    Work,
    output_limit,
)
from postroad.adapters.saxon.items import typed_items
from postroad.adapters.saxon.workers import SaxonWorkers
from postroad.core.codecs.xml import to_utf8
from postroad.errors import Refused
from postroad.ports import ItemValue, Verdict

AT_ONCE = 500  # so that compiling them in a fresh worker stays well within the deadline
MEDIA_TYPES: dict[AnswerKind, str] = {
    "xml": "application/xml",
    "entity": "application/xml-external-parsed-entity",
    "text": "text/plain; charset=utf-8",
    "json": "application/json",
    "html": "text/html; charset=utf-8",
}
_NO = Verdict(goes=False)
_AS_IT_CAME = Verdict(goes=True)


class SaxonQueries:
    """The query engine over a pool of workers; closing is the pool's."""

    def __init__(self, workers: SaxonWorkers) -> None:
        self._workers = workers

    async def check(self, query: str) -> None:
        _check_size(query)
        outcome = await self._workers.attempt(Work(task="compile", source=query))
        if isinstance(outcome, Outcome) and outcome.code:
            place = f"line {outcome.line}" if outcome.line else ""
            place += f", column {outcome.column}" if outcome.column else ""
            detail = f"{place}: {outcome.detail}" if place else outcome.detail
            raise Refused("query.invalid", f"The query does not compile: {detail}", pointer=place)

    async def evaluate(
        self, queries: Sequence[str], content: bytes, media_type: str, items: Mapping[str, ItemValue]
    ) -> list[Verdict]:
        is_json = _is_json(media_type)
        try:
            document = content.removeprefix(b"\xef\xbb\xbf") if is_json else to_utf8(content)
        except Refused as fault:
            return [Verdict(goes=False, error=fault.detail)] * len(queries)
        limit = output_limit(len(document))
        about = Batch(queries=(), document=document, is_json=is_json, items=typed_items(items), output_limit=limit)
        return await self._all(queries, about)

    async def _all(self, queries: Sequence[str], about: Batch) -> list[Verdict]:
        verdicts: dict[str, Verdict] = {}
        unsuspected = [query for query in dict.fromkeys(queries) if not self._workers.penalties.suspects(query)]
        for start in range(0, len(unsuspected), AT_ONCE):
            verdicts.update(await self._together(unsuspected[start : start + AT_ONCE], about))
        for query in queries:
            if query not in verdicts:
                verdicts[query] = await self._alone(query, about)
        return [verdicts[query] for query in queries]

    async def _together(self, queries: list[str], about: Batch) -> dict[str, Verdict]:
        """What they answer as a batch; nothing if that failed, and it is not known by whose fault."""
        if len(queries) < 2:
            return {}
        answered = await self._workers.attempt(_about(about, queries))
        if isinstance(answered, Answers):
            return dict(zip(queries, map(_verdict, answered.answers), strict=False))
        return dict.fromkeys(queries, _failed(answered)) if answered.code == UNREADABLE else {}

    async def _alone(self, query: str, about: Batch) -> Verdict:
        try:
            self._workers.penalties.check(query, "query")
        except Refused as fault:
            return Verdict(goes=False, error=fault.detail)
        answered = await self._workers.attempt(_about(about, [query]))
        if isinstance(answered, Outcome):
            return _failed(answered)
        return _verdict(answered.answers[0]) if answered.answers else Verdict(goes=False, error="it got no answer")


def _about(about: Batch, queries: Sequence[str]) -> Batch:
    return Batch(
        queries=tuple(queries),
        document=about.document,
        is_json=about.is_json,
        items=about.items,
        output_limit=about.output_limit,
    )


def _verdict(answer: Answer) -> Verdict:
    if answer.kind == "no":
        return _NO
    if answer.kind == "same":
        return _AS_IT_CAME
    if answer.kind == "error":
        return Verdict(goes=False, error=answer.text.decode())
    return Verdict(goes=True, content=answer.text, media_type=MEDIA_TYPES[answer.kind])


def _failed(outcome: Outcome) -> Verdict:
    return Verdict(goes=False, error=outcome.detail)


def _is_json(media_type: str) -> bool:
    name = media_type.partition(";")[0].strip().lower()
    return name.endswith(("/json", "+json"))


def _check_size(query: str) -> None:
    try:
        size = len(query.encode())
    except UnicodeEncodeError:
        raise Refused("query.invalid", "The text is not Unicode; send it in UTF-8") from None
    if size > LARGEST_SOURCE_BYTES:
        raise Refused(
            "query.invalid", f"The query has {size} bytes and may have {LARGEST_SOURCE_BYTES}; ask for less in one"
        )
