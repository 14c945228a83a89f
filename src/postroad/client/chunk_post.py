"""One chunk of a bulk post: tracks unanswered messages and repeats them without duplicates.

Rule: a chunk has one Idempotency-Key, and every attempt sends the same messages with it. The network stores each
position of the chunk once, whichever attempt arrives first and however late another one arrives, and repeats its
earlier answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from postroad.client import requests, responses
from postroad.client.retries import LATER
from postroad.client.steps import ApiRequest, ApiResponse, RequestOutcome
from postroad.core.model.message import Message, PostResult
from postroad.core.model.refusals import REFUSALS
from postroad.errors import Refused, Unavailable

Answer = PostResult | Refused
MAX_MESSAGES = 1000
MAX_BYTES = 8 << 20
HEADER_BYTES = 512  # a generous guess at what a message weighs beside its parts


def split_chunks(
    messages: Iterable[Message], messages_most: int = MAX_MESSAGES, bytes_most: int = MAX_BYTES
) -> Iterator[list[Message]]:
    """Split many messages into calls by number and size, in order, with one chunk in memory at a time."""
    chunk: list[Message] = []
    chunk_bytes = 0
    for message in messages:
        size = HEADER_BYTES + sum(len(part.data) for part in message.parts)
        if chunk and (len(chunk) >= messages_most or chunk_bytes + size > bytes_most):
            yield chunk
            chunk, chunk_bytes = [], 0
        chunk.append(message)
        chunk_bytes += size
    if chunk:
        yield chunk


class ChunkPost:
    """The state of one chunk between attempts."""

    def __init__(self, messages: Sequence[Message], fresh_key: Callable[[], str]) -> None:
        self._request = requests.post_many(messages, fresh_key())
        self._answers: list[Answer | None] = [None] * len(messages)

    @property
    def waiting(self) -> bool:
        """Whether some messages have no answer, or one that a retry may improve."""
        return any(map(_may_pass, self._answers))

    @property
    def complete(self) -> bool:
        """Whether every message has an answer, including refusals."""
        return None not in self._answers

    def request(self) -> ApiRequest:
        return self._request

    def take_response(self, outcome: RequestOutcome) -> None:
        """Store the answers of an outcome; one without answers changes nothing, so the chunk can be posted again."""
        if not isinstance(outcome, ApiResponse) or outcome.status != 200:
            return
        found = responses.parse_posts(outcome)
        if len(found) != len(self._answers):
            raise Unavailable("answer.unreadable", f"{len(found)} results for {len(self._answers)} messages")
        self._answers = [new if _may_pass(old) else old for old, new in zip(self._answers, found, strict=True)]

    def answers(self) -> list[Answer]:
        return [answer for answer in self._answers if answer is not None]


def _may_pass(answer: Answer | None) -> bool:
    """Whether the answer is missing, or a retry may succeed."""
    if answer is None:
        return True
    return isinstance(answer, Refused) and answer.code in REFUSALS and REFUSALS[answer.code].status in LATER
