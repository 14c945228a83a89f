"""Evaluates many queries or scripts against one message in a single round trip to a worker.

Rules: if a batch fails as a whole, its sources are evaluated one by one, so the culprit is found and the others get
their results. A source that has killed a worker is evaluated alone from then on, and after too many kills it is
refused for a while with an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from postroad.adapters.confined.frames import (
    UNREADABLE,
    AnswerKind,
    SourceAnswer,
    SourceAnswers,
    WorkerCall,
    WorkerOutcome,
)
from postroad.adapters.confined.pool import WorkerPool
from postroad.errors import Refused
from postroad.ports import QueryVerdict

AT_ONCE = 500  # so that compiling them in a fresh worker stays well within the deadline
MEDIA_TYPES: dict[AnswerKind, str] = {
    "xml": "application/xml",
    "entity": "application/xml-external-parsed-entity",
    "text": "text/plain; charset=utf-8",
    "json": "application/json",
    "html": "text/html; charset=utf-8",
}
_NO = QueryVerdict(goes=False)
_AS_IT_CAME = QueryVerdict(goes=True)

About = Callable[[Sequence[str]], WorkerCall]  # the call that asks these sources about the message


class SourceEvaluator:
    """Evaluates sources in the workers of a pool; ``what`` is the kind of source in error texts."""

    def __init__(self, workers: WorkerPool, what: str) -> None:
        self._workers = workers
        self._what = what

    async def verdicts(self, sources: Sequence[str], about: About) -> list[QueryVerdict]:
        """Returns one verdict for each source, in the order of the sources."""
        verdicts: dict[str, QueryVerdict] = {}
        unsuspected = [source for source in dict.fromkeys(sources) if not self._workers.penalties.suspects(source)]
        for start in range(0, len(unsuspected), AT_ONCE):
            verdicts.update(await self._together(unsuspected[start : start + AT_ONCE], about))
        for source in sources:
            if source not in verdicts:
                verdicts[source] = await self._alone(source, about)
        return [verdicts[source] for source in sources]

    async def _together(self, sources: list[str], about: About) -> dict[str, QueryVerdict]:
        """Runs the sources as one batch; empty if the batch failed, since the failing source is then unknown."""
        if len(sources) < 2:
            return {}
        answered = await self._workers.attempt(about(sources))
        if isinstance(answered, SourceAnswers):
            return dict(zip(sources, map(_verdict, answered.answers), strict=False))
        return dict.fromkeys(sources, _failed(answered)) if answered.code == UNREADABLE else {}

    async def _alone(self, source: str, about: About) -> QueryVerdict:
        try:
            self._workers.penalties.check(source, self._what)
        except Refused as fault:
            return QueryVerdict(goes=False, error=fault.detail)
        answered = await self._workers.attempt(about([source]))
        if isinstance(answered, WorkerOutcome):
            return _failed(answered)
        return _verdict(answered.answers[0]) if answered.answers else QueryVerdict(goes=False, error="it got no answer")


def _verdict(answer: SourceAnswer) -> QueryVerdict:
    if answer.kind == "no":
        return _NO
    if answer.kind == "same":
        return _AS_IT_CAME
    if answer.kind == "error":
        return QueryVerdict(goes=False, error=answer.text.decode())
    return QueryVerdict(goes=True, content=answer.text, media_type=answer.media_type or MEDIA_TYPES[answer.kind])


def _failed(outcome: WorkerOutcome) -> QueryVerdict:
    return QueryVerdict(goes=False, error=outcome.detail)
