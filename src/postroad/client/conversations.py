"""What is said and in which order, as generators: each yields a request or a pause and is sent what came of it.

Kept rule: no I/O here, so that the blocking and the asynchronous client cannot differ. A conversation returns a value of the
model or raises ``Refused`` or ``Unavailable``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

from postroad.client import plain, requests, responses
from postroad.client.chunk_posting import Answer, ChunkPosting
from postroad.client.chunks import chunks
from postroad.client.compose import cancel
from postroad.client.exchange import Lost, Outcome, Pause, Request, Response, Talk
from postroad.client.received import Received
from postroad.client.retrying import Retrying
from postroad.core.model.message import Message, PostResult
from postroad.core.model.polling import PollRequest, Settlement, SettlementResult
from postroad.errors import Refused

_Value = TypeVar("_Value")
Progress = Callable[[int], None]  # told how many messages have been answered so far
ANSWERED = "reference.answered"
IN_DOUBT = frozenset({502, 504})


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversations:
    """``jitter`` gives a number from 0 to 1, ``fresh_key`` a new Idempotency-Key."""

    retrying: Retrying
    jitter: Callable[[], float]
    fresh_key: Callable[[], str]

    def post(self, message: Message) -> Talk[PostResult]:
        outcome, _ = yield from self._persistently(requests.post(message, self.fresh_key()))
        return responses.posted(outcome)

    def post_wire(
        self, body: bytes, content_type: str, message: Message, headers: Mapping[str, str]
    ) -> Talk[PostResult]:
        request = plain.post(body, content_type, message, headers, self.fresh_key())
        return (yield from self.ask(request, responses.posted))

    def reply(self, response: Message) -> Talk[PostResult]:
        """Like ``post``; but when the first try got through and only its answer was lost, that is success too."""
        outcome, tried = yield from self._persistently(requests.post(response, self.fresh_key()))
        try:
            return responses.posted(outcome)
        except Refused as refused:
            if refused.code == ANSWERED and tried > 1:
                return PostResult(session=refused.session, transaction="")
            raise

    def post_many(self, messages: Iterable[Message], progress: Progress) -> Talk[list[Answer]]:
        """Every message's own answer, in order."""
        answers: list[Answer] = []
        for chunk in chunks(messages):
            answers += yield from self._post_chunk(chunk)
            progress(len(answers))
        return answers

    def cancel(self, session: str) -> Talk[PostResult]:
        """Withdraw a message; the answer says for each recipient whether that was in time."""
        return (yield from self.post(cancel(session)))

    def poll(self, request: PollRequest) -> Talk[list[Received]]:
        outcome, _ = yield from self._persistently(requests.poll(request))
        return responses.polled(outcome)

    def settle(self, settlement: Settlement) -> Talk[SettlementResult]:
        outcome, _ = yield from self._persistently(requests.settle(settlement))
        return responses.settled(outcome)

    def ask(self, request: Request, understand: Callable[[Outcome], _Value]) -> Talk[_Value]:
        """Any other request, with its own way to understand the answer."""
        outcome, _ = yield from self._persistently(request)
        return understand(outcome)

    def value(self, request: Request) -> Talk[Any]:
        return (yield from self.ask(request, responses.value))

    def _post_chunk(self, chunk: Sequence[Message]) -> Talk[list[Answer]]:
        """A chunk in which messages found the network too busy is posted again with its key; the others keep their answer."""
        posting = ChunkPosting(chunk, self.fresh_key)
        for tried in count(1):
            outcome = yield from _once(posting.request())
            posting.hear(outcome)
            if not posting.waiting or (tried >= self.retrying.tries and posting.complete):
                break
            pause_s = self.retrying.pause_s(tried, outcome, self.jitter())
            if pause_s is None and not _succeeded(outcome):
                raise responses.error_of(outcome)
            yield Pause(seconds=self.retrying.growing_s(tried, self.jitter()) if pause_s is None else pause_s)
        return posting.answers()

    def _persistently(self, request: Request) -> Talk[tuple[Outcome, int]]:
        """The last word on a request, and how many tries it took."""
        for tried in count(1):
            outcome = yield from _once(request)
            pause_s = self.retrying.pause_s(tried, outcome, self.jitter())
            if pause_s is None or (request.doubles and _in_doubt(outcome)):
                return outcome, tried
            yield Pause(seconds=pause_s, interruptible=request.interruptible)
        raise AssertionError("counting never ends")


def _once(request: Request) -> Talk[Outcome]:
    outcome = yield request
    if not isinstance(outcome, Response | Lost):
        raise TypeError(f"a request comes back with a response or is lost, not with {outcome!r}")
    return outcome


def _in_doubt(outcome: Outcome) -> bool:
    """Whether it may have been carried out all the same: the answer was lost here, or between a proxy and the network."""
    return outcome.was_sent if isinstance(outcome, Lost) else outcome.status in IN_DOUBT


def _succeeded(outcome: Outcome) -> bool:
    return isinstance(outcome, Response) and outcome.status == 200
