"""The consumer loop: poll, call the function, then acknowledge, reply or give back, until stopped.

Rules: a message is acknowledged only after the function has returned. If the function raises, or returns a value that
cannot be sent, the message is given back and redelivered later, each time after a longer wait. Messages that were not
started when the consumer stops are given back at once, so that another consumer gets them without waiting for the
lease to end. A message that would outlast its lease is not started (``ConsumerPace``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from traceback import extract_tb
from typing import Any

import msgspec

from postroad.client.compose import PropertyValue, build_response
from postroad.client.conversations import Conversations
from postroad.client.documents import make_parts, replace_documents
from postroad.client.received_message import Received
from postroad.client.retries import Retrying
from postroad.client.steps import FunctionCall, FunctionRaised, FunctionReturned, Interrupted, Talk
from postroad.core.model.message import Delivered, Message, MessageType, Status
from postroad.core.model.polling import Outcome, PollRequest, Settlement
from postroad.errors import PostroadError

_log = logging.getLogger("postroad.client")

GIVING_BACK = Retrying(first_s=1.0, most_s=300.0)
STOPPING = "the consumer is stopping"
TOO_SLOW = "%d of %d messages could not be begun within their lease of %g s and come again; fewer are taken next time"
Clock = Callable[[], float]  # seconds, from whenever


class ConsumerPace:
    """Adapts the number of leased messages to how long they take.

    Rules: a message that would outlast its lease is not started, because another consumer may have it by then. A consumer
    that received more messages than it could start leases fewer next time, because every hand-out counts as one of a
    delivery's attempts.
    """

    def __init__(self, polling: PollRequest, clock: Clock) -> None:
        self._polling = polling
        self._clock = clock
        self._lease_s = polling.lease_s or inf  # the network's own, which is not known here
        self._most = polling.max
        self._begun_s = self._last_s = 0.0
        self._slowest_s = 0.0
        self._in_time = 0

    def polling(self) -> PollRequest:
        return msgspec.structs.replace(self._polling, max=self._most)

    def handed_out(self) -> None:
        self._begun_s = self._last_s = self._clock()
        self._slowest_s = 0.0
        self._in_time = 0

    def has_time(self) -> bool:
        """Whether the lease lasts for one more message that is as slow as the slowest so far."""
        return self._clock() + self._slowest_s < self._begun_s + self._lease_s

    def record_message(self) -> None:
        now_s = self._clock()
        self._slowest_s = max(self._slowest_s, now_s - self._last_s)
        self._last_s = now_s
        self._in_time += now_s < self._begun_s + self._lease_s

    def settle_on(self, taken: int) -> None:
        """Lease fewer next time if time ran out, more if half of it was enough."""
        if self._in_time < taken:
            self._most = max(1, self._in_time)
        elif taken == self._most and self._last_s - self._begun_s < self._lease_s / 2:
            self._most = min(self._polling.max, self._most * 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The return value of a handler that sends several documents, properties or an error status.

    The documents of an in-transit service replace those of the message; ``properties`` are for its invoker.
    """

    documents: Sequence[Any] = ()
    status: Status | None = None
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)
    traceparent: str = ""  # the W3C trace context in which the reply is made
    tracestate: str = ""


IsStopped = Callable[[], bool]


def consume(conversations: Conversations, polling: PollRequest, stopped: IsStopped, clock: Clock) -> Talk[int]:
    """Handle messages until ``stopped``; returns how many were handled."""
    handled = 0
    pace = ConsumerPace(polling, clock)
    while not stopped():
        try:
            messages = yield from conversations.poll(pace.polling())
        except Interrupted:
            break
        pace.handed_out()
        for number, message in enumerate(messages):
            if stopped():
                yield from _give_back(conversations, messages[number:], 0.0, STOPPING)
                break
            if not pace.has_time():
                _log.warning(TOO_SLOW, len(messages) - number, len(messages), polling.lease_s)
                break
            yield from _handle(conversations, message)
            pace.record_message()
            handled += 1
        pace.settle_on(len(messages))
    return handled


def _handle(conversations: Conversations, message: Received) -> Talk[None]:
    outcome = yield FunctionCall(message)
    if not isinstance(outcome, FunctionRaised | FunctionReturned):
        raise TypeError(f"a call returns or raises, but this came back: {outcome!r}")
    due = _due(message, outcome)
    try:
        if isinstance(due, Exception):
            yield from _try_again(conversations, message, due)
        else:
            yield from _finish(conversations, message, due)
    except PostroadError as error:
        _log.warning("message %s: could not be settled: %s", message.session, error)


def _due(message: Received, outcome: FunctionReturned | FunctionRaised) -> Message | Exception | None:
    """Return the answer to send, the error in it, or None if none is due."""
    if isinstance(outcome, FunctionRaised):
        _log.warning("message %s: the function raised %s", message.session, describe_error(outcome.error))
        _log.debug("message %s:", message.session, exc_info=outcome.error)
        return outcome.error
    if not message.in_transit and (message.type is not MessageType.REQUEST or outcome.value is None):
        return None
    try:
        return build_answer(message, outcome.value)
    except Exception as error:  # a value that cannot be written is the function's fault as much as an exception
        kind = type(outcome.value).__name__
        _log.warning("message %s: the function returned a %s that cannot be sent: %s", message.session, kind, error)
        return error


def describe_error(error: Exception) -> str:
    """Return the error's type and the line of the user's function; never its text, which may quote a message."""
    frames = extract_tb(error.__traceback__)[1:2]  # the first is where the client calls the function
    return type(error).__name__ + "".join(f" ({frame.filename}, line {frame.lineno})" for frame in frames)


def _finish(conversations: Conversations, message: Delivered, answer: Message | None) -> Talk[None]:
    """Reply where an answer is due; a reply acknowledges too."""
    if answer is not None:
        try:
            yield from conversations.reply(answer)
        except PostroadError as error:
            yield from _try_again(conversations, message, error)
            raise
    else:
        result = yield from conversations.settle(Settlement(tokens=(message.token,)))
        for settled in result.settled:
            if settled.code:
                _log.warning("message %s: could not be acknowledged: %s", message.session, settled.detail)


def build_answer(message: Delivered, value: Any) -> Message:
    """Return the response message; None from a service in transit leaves the message unchanged."""
    reply = value if isinstance(value, Reply) else Reply(documents=[] if value is None else [value])
    documents = reply.documents
    if not message.in_transit or not documents:
        parts = make_parts(documents)
    elif reply is value:
        parts = replace_documents(message, documents)
    else:
        rest = [part for part in message.parts if not part.attachment][1:]
        parts = replace_documents(message, [*documents, *rest])
    return build_response(
        message,
        parts,
        status=reply.status,
        properties=reply.properties,
        traceparent=reply.traceparent,
        tracestate=reply.tracestate,
    )


def _try_again(conversations: Conversations, message: Delivered, error: Exception) -> Talk[None]:
    delay_s = GIVING_BACK.growing_s(min(message.attempt, 20), conversations.jitter())
    reason = type(error).__name__  # never its text, which may quote what only this receiver should know
    yield from _give_back(conversations, [message], delay_s, reason)


def _give_back(conversations: Conversations, messages: Sequence[Delivered], delay_s: float, reason: str) -> Talk[None]:
    tokens = tuple(message.token for message in messages)
    yield from conversations.settle(Settlement(tokens=tokens, outcome=Outcome.NACK, delay_s=delay_s, reason=reason))
