"""A consumer's life: poll, call the user's function, then acknowledge, reply or give back; until told to stop.

Kept rules: a message is acknowledged only after the function returned; one whose function raised is given back and comes
again later, each time after a longer wait; what was handed out and not begun when the consumer stops is given back at once,
so that another one gets it without waiting for the lease to end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from postroad.client.compose import PropertyValue, response
from postroad.client.conversations import Conversations
from postroad.client.documents import changed_parts, parts
from postroad.client.exchange import Call, Interrupted, Raised, Returned, Talk
from postroad.client.received import Received
from postroad.client.retrying import Retrying
from postroad.core.model.message import Delivered, Message, MessageType, Status
from postroad.core.model.polling import Outcome as Wish
from postroad.core.model.polling import PollRequest, Settlement
from postroad.errors import PostroadError

_log = logging.getLogger("postroad.client")

GIVING_BACK = Retrying(first_s=1.0, most_s=300.0)
STOPPING = "the consumer is stopping"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a function may return when one document is not enough: several, properties, or the status of a failure.

    The documents of a service in transit are all that go on; ``properties`` are for whoever brought it in.
    """

    documents: Sequence[Any] = ()
    status: Status | None = None
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)


Stopped = Callable[[], bool]


def consume(conversations: Conversations, polling: PollRequest, stopped: Stopped) -> Talk[int]:
    """Runs until ``stopped``; returns how many messages were handled."""
    handled = 0
    while not stopped():
        try:
            messages = yield from conversations.poll(polling)
        except Interrupted:
            break
        for number, message in enumerate(messages):
            if stopped():
                yield from _give_back(conversations, messages[number:], 0.0, STOPPING)
                break
            yield from _handle(conversations, message)
            handled += 1
    return handled


def _handle(conversations: Conversations, message: Received) -> Talk[None]:
    outcome = yield Call(message)
    if not isinstance(outcome, Raised | Returned):
        raise TypeError(f"a call returns or raises, but this came back: {outcome!r}")
    try:
        if isinstance(outcome, Raised):
            _log.warning("message %s: the function raised %s", message.session, type(outcome.error).__name__)
            yield from _try_again(conversations, message, outcome.error)
        else:
            yield from _finish(conversations, message, outcome.value)
    except PostroadError as error:
        _log.warning("message %s: could not be settled: %s", message.session, error)


def _finish(conversations: Conversations, message: Delivered, value: Any) -> Talk[None]:
    """Reply where an answer is due and there is one; a reply acknowledges too."""
    if message.in_transit or (message.type is MessageType.REQUEST and value is not None):
        try:
            yield from conversations.reply(answer_to(message, value))
        except PostroadError as error:
            yield from _try_again(conversations, message, error)
            raise
    else:
        yield from conversations.settle(Settlement(tokens=(message.token,)))


def answer_to(message: Delivered, value: Any) -> Message:
    """A service in transit that returns nothing lets the message go on unchanged; one document takes the first one's place."""
    reply = value if isinstance(value, Reply) else Reply(documents=[] if value is None else [value])
    documents = reply.documents
    if not message.in_transit or not documents:
        return response(message, parts(documents), status=reply.status, properties=reply.properties)
    if reply is not value:
        documents = [*documents, *[part for part in message.parts if not part.attachment][1:]]
    return response(message, changed_parts(message, documents), status=reply.status, properties=reply.properties)


def _try_again(conversations: Conversations, message: Delivered, error: Exception) -> Talk[None]:
    delay_s = GIVING_BACK.growing_s(min(message.attempt, 20), conversations.jitter())
    reason = type(error).__name__  # never its text, which may quote what only this receiver should know
    yield from _give_back(conversations, [message], delay_s, reason)


def _give_back(conversations: Conversations, messages: Sequence[Delivered], delay_s: float, reason: str) -> Talk[None]:
    tokens = tuple(message.token for message in messages)
    yield from conversations.settle(Settlement(tokens=tokens, outcome=Wish.NACK, delay_s=delay_s, reason=reason))
