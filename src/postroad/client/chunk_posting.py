"""One chunk of a bulk on its way: which messages still wait for an answer, and how they are posted again without doubling.

Kept rule: a bulk carries no Idempotency-Key, so each message has a handle (its own or a fresh one). After an answer was lost
the rest is posted as possible duplicates, and the network's "that handle came before, as session …" is then the answer that
was lost. Handles must therefore name one message each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from postroad.client import requests, responses
from postroad.client.exchange import Outcome, Request, Response
from postroad.client.retrying import LATER
from postroad.core.model.message import Message, PostResult
from postroad.core.model.refusals import REFUSALS
from postroad.errors import Refused, Unavailable

Answer = PostResult | Refused
DUPLICATE = "message.duplicate"


class ChunkPosting:
    def __init__(self, messages: Sequence[Message], fresh_handle: Callable[[], str]) -> None:
        self._messages = [_named(message, fresh_handle) for message in messages]
        self._answers: list[Answer | None] = [None] * len(messages)
        self._waiting = list(range(len(messages)))
        self._in_doubt = False

    @property
    def waiting(self) -> bool:
        """Whether some messages have no answer, or one that may be better next time."""
        return bool(self._waiting)

    @property
    def complete(self) -> bool:
        """Whether every message has an answer, be it a bad one."""
        return None not in self._answers

    def request(self) -> Request:
        messages = [self._messages[number] for number in self._waiting]
        return requests.post_many([_again(message) for message in messages] if self._in_doubt else messages)

    def hear(self, outcome: Outcome) -> None:
        """Take the answers in; raises nothing for an outcome without any, which leaves the messages in doubt."""
        if not isinstance(outcome, Response) or outcome.status != 200:
            self._in_doubt = True
            return
        found = responses.posted_many(outcome)
        if len(found) != len(self._waiting):
            raise Unavailable("answer.unreadable", f"{len(found)} answers came to {len(self._waiting)} messages")
        for number, answer in zip(self._waiting, found, strict=True):
            self._answers[number] = self._meaning(answer)
        self._waiting = [number for number in self._waiting if _may_pass(self._answers[number])]

    def answers(self) -> list[Answer]:
        return [answer for answer in self._answers if answer is not None]

    def _meaning(self, answer: Answer) -> Answer:
        if self._in_doubt and isinstance(answer, Refused) and answer.code == DUPLICATE:
            return PostResult(session=answer.session, transaction=answer.session)
        return answer


def _named(message: Message, fresh_handle: Callable[[], str]) -> Message:
    return message if message.handle else msgspec.structs.replace(message, handle=fresh_handle())


def _again(message: Message) -> Message:
    return msgspec.structs.replace(message, possible_duplicate=True)


def _may_pass(answer: Answer | None) -> bool:
    """Busy now, perhaps not later."""
    return isinstance(answer, Refused) and answer.code in REFUSALS and REFUSALS[answer.code].status in LATER
