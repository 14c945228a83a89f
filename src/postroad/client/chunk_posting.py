"""One chunk of a bulk on its way: which messages still wait for an answer, and how they are posted again without doubling.

Rule: a chunk has one Idempotency-Key, and every try sends the same messages with it. The network stores each place of the chunk
once, whichever try arrives first and however late another one arrives, and repeats the answers it gave before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from postroad.client import requests, responses
from postroad.client.exchange import Outcome, Request, Response
from postroad.client.retrying import LATER
from postroad.core.model.message import Message, PostResult
from postroad.core.model.refusals import REFUSALS
from postroad.errors import Refused, Unavailable

Answer = PostResult | Refused


class ChunkPosting:
    def __init__(self, messages: Sequence[Message], fresh_key: Callable[[], str]) -> None:
        self._request = requests.post_many(messages, fresh_key())
        self._answers: list[Answer | None] = [None] * len(messages)

    @property
    def waiting(self) -> bool:
        """Whether some messages have no answer, or one that may be better next time."""
        return any(map(_may_pass, self._answers))

    @property
    def complete(self) -> bool:
        """Whether every message has an answer, be it a bad one."""
        return None not in self._answers

    def request(self) -> Request:
        return self._request

    def hear(self, outcome: Outcome) -> None:
        """Take the answers in; raises nothing for an outcome without any, after which the chunk can be posted again."""
        if not isinstance(outcome, Response) or outcome.status != 200:
            return
        found = responses.posted_many(outcome)
        if len(found) != len(self._answers):
            raise Unavailable("answer.unreadable", f"{len(found)} answers came to {len(self._answers)} messages")
        self._answers = [new if _may_pass(old) else old for old, new in zip(self._answers, found, strict=True)]

    def answers(self) -> list[Answer]:
        return [answer for answer in self._answers if answer is not None]


def _may_pass(answer: Answer | None) -> bool:
    """Missing, or busy now and perhaps not later."""
    if answer is None:
        return True
    return isinstance(answer, Refused) and answer.code in REFUSALS and REFUSALS[answer.code].status in LATER
