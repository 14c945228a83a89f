"""Request sequences as generators: each yields a request or a pause and receives the outcome.

Rule: no I/O here, so that the blocking and the asynchronous client cannot differ. A conversation returns a model
value or raises ``Refused`` or ``Unavailable``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

from postroad.client import external_format, requests, responses
from postroad.client.chunk_post import Answer, ChunkPost, split_chunks
from postroad.client.compose import build_cancel
from postroad.client.received_message import Received
from postroad.client.retries import Retrying
from postroad.client.steps import ApiRequest, ApiResponse, NoResponse, RequestOutcome, RetryPause, Talk
from postroad.core.model.message import Message, PostResult
from postroad.core.model.polling import PollRequest, Settlement, SettlementResult
from postroad.errors import Refused

_Value = TypeVar("_Value")
Progress = Callable[[int], None]  # told how many messages have been answered so far
ANSWERED = "reference.answered"
IN_DOUBT = frozenset({502, 504})


def ignore_progress(done: int) -> None:
    """Ignore progress reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversations:
    """The request sequences; ``jitter`` returns 0 to 1, ``fresh_key`` a new Idempotency-Key."""

    retrying: Retrying
    jitter: Callable[[], float]
    fresh_key: Callable[[], str]

    def post(self, message: Message) -> Talk[PostResult]:
        outcome, _ = yield from self._persistently(requests.post(message, self.fresh_key()))
        return responses.parse_post(outcome)

    def post_wire(
        self, body: bytes, content_type: str, message: Message, headers: Mapping[str, str]
    ) -> Talk[PostResult]:
        request = external_format.post(body, content_type, message, headers, self.fresh_key())
        return (yield from self.ask(request, responses.parse_post))

    def reply(self, response: Message) -> Talk[PostResult]:
        """Post a response; if an earlier try arrived and its answer was lost, that counts as success."""
        outcome, tried = yield from self._persistently(requests.post(response, self.fresh_key()))
        try:
            return responses.parse_post(outcome)
        except Refused as refused:
            if refused.code == ANSWERED and tried > 1:
                return PostResult(session=refused.session, transaction="")
            raise

    def post_many(self, messages: Iterable[Message], progress: Progress) -> Talk[list[Answer]]:
        """Every message's own answer, in order."""
        answers: list[Answer] = []
        for chunk in split_chunks(messages):
            answers += yield from self._post_chunk(chunk)
            progress(len(answers))
        return answers

    def cancel(self, session: str) -> Talk[PostResult]:
        """Withdraw a message; the answer states for each recipient whether that succeeded."""
        return (yield from self.post(build_cancel(session)))

    def poll(self, request: PollRequest) -> Talk[list[Received]]:
        outcome, _ = yield from self._persistently(requests.poll(request))
        return responses.parse_poll(outcome)

    def settle(self, settlement: Settlement) -> Talk[SettlementResult]:
        outcome, _ = yield from self._persistently(requests.settle(settlement))
        return responses.parse_settlement(outcome)

    def ask(self, request: ApiRequest, understand: Callable[[RequestOutcome], _Value]) -> Talk[_Value]:
        """Send any other request, with its own parser for the answer."""
        outcome, _ = yield from self._persistently(request)
        return understand(outcome)

    def value(self, request: ApiRequest) -> Talk[Any]:
        return (yield from self.ask(request, responses.parse_value))

    def _post_chunk(self, chunk: Sequence[Message]) -> Talk[list[Answer]]:
        """Post a chunk; repeat it with the same key while messages are answered as busy."""
        posting = ChunkPost(chunk, self.fresh_key)
        for tried in count(1):
            outcome = yield from _once(posting.request())
            posting.take_response(outcome)
            if not posting.waiting or (tried >= self.retrying.tries and posting.complete):
                break
            pause_s = self.retrying.pause_s(tried, outcome, self.jitter())
            if pause_s is None and not _succeeded(outcome):
                raise responses.build_error(outcome)
            yield RetryPause(seconds=self.retrying.growing_s(tried, self.jitter()) if pause_s is None else pause_s)
        return posting.answers()

    def _persistently(self, request: ApiRequest) -> Talk[tuple[RequestOutcome, int]]:
        """Send a request with retries; returns the final outcome and the number of tries."""
        for tried in count(1):
            outcome = yield from _once(request)
            pause_s = self.retrying.pause_s(tried, outcome, self.jitter())
            if pause_s is None or (request.doubles and _in_doubt(outcome)):
                return outcome, tried
            yield RetryPause(seconds=pause_s, interruptible=request.interruptible)
        raise AssertionError("counting never ends")


def _once(request: ApiRequest) -> Talk[RequestOutcome]:
    outcome = yield request
    if not isinstance(outcome, ApiResponse | NoResponse):
        raise TypeError(f"a request comes back with a response or is lost, not with {outcome!r}")
    return outcome


def _in_doubt(outcome: RequestOutcome) -> bool:
    """Whether the request may have been carried out although its answer was lost."""
    return outcome.was_sent if isinstance(outcome, NoResponse) else outcome.status in IN_DOUBT


def _succeeded(outcome: RequestOutcome) -> bool:
    return isinstance(outcome, ApiResponse) and outcome.status == 200
