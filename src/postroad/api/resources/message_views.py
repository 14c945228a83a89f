"""Builds the resources that show messages, their states and their histories."""

from __future__ import annotations

from typing import Any

from postroad.api.resources.context import time_or_none
from postroad.core.audit.history.builder import TRANSLATED
from postroad.core.audit.history.refused_post import refused_history
from postroad.core.audit.history.status_text import role_of, status_of
from postroad.core.codecs.lexical import write_time
from postroad.core.model.delivery import DeliveryState, PushPause
from postroad.core.model.history import (
    CopyHistory,
    History,
    HistoryEvent,
    InterchangeContents,
    MessageHistory,
    NumberRange,
    PartnerAnswer,
    Stop,
)
from postroad.core.model.journal import MessagePosted, MessageRefused
from postroad.core.model.sizes import content_size, wire_size
from postroad.core.model.snapshot import Directory
from postroad.core.resources.base import build_resource
from postroad.core.resources.histories import (
    ArrivalView,
    ContainedView,
    CopyView,
    DrawnView,
    EventView,
    GatheredView,
    HeldBackView,
    MessageView,
    PartnerAnswerView,
    PausedView,
    StopView,
    Trace,
)
from postroad.core.resources.messages import MessageStatus, MessageSummary, RecipientStatus
from postroad.core.visibility.isolation import visible_recipients

IN_WORDS = {
    "queued": "waiting in the mailbox of {service}",
    "delivered": "delivered to {service}",
    "rejected": "rejected at {service}",
    "failed": "failed at {service} and kept as a dead letter",
    "expired": "expired before {service} received it",
    "cancelled": "cancelled before {service} received it",
}


# Of a message that a batcher has gathered, by its own state and that of its batch.
IN_BATCHES = {
    ("queued", "open"): "gathered by {service} in batch {batch}, which is still open",
    ("queued", "closed"): "gathered by {service} in batch {batch}, which is complete",
    ("queued", "assembled"): "on its way from {service} in the interchange of batch {batch}",
    ("queued", "suspended"): "gathered by {service} in batch {batch}, which is suspended",
    ("delivered", "sent"): "sent by {service} in the interchange of batch {batch}",
}


def summary(box: str, row: dict[str, Any], directory: Directory) -> MessageSummary:
    message: MessagePosted | None = row.get("message")
    if message is None:
        return _refused_summary(row, directory)
    received = box == "received"
    return MessageSummary(
        session=message.session,
        box="received" if received else "sent",
        at=write_time(message.at_us),
        sender=directory.address_of(message.sender),
        recipients=[directory.address_of(row["recipient"])] if received else visible_recipients(message, directory),
        type=message.type.value,
        topic=message.topic,
        handle=message.handle,
        size=content_size(message),
        wire_size=0 if received else wire_size(message),
        state=DeliveryState(row["state"]).name.lower() if received else "accepted",
        code="",
    )


def _refused_summary(row: dict[str, Any], directory: Directory) -> MessageSummary:
    refusal: MessageRefused = row["refusal"]
    return MessageSummary(
        session=row["session"],
        box="refused",
        at=write_time(row["at_us"]),
        sender=directory.address_of(row["sender"]),
        recipients=list(refusal.named),
        type=refusal.type,
        topic=refusal.topic,
        handle=row["handle"],
        size=content_size(refusal),
        wire_size=wire_size(refusal),
        state="refused",
        code=row["code"],
    )


def status_view(message: MessageHistory) -> MessageStatus:
    recipients = [_recipient_status(copy) for copy in message.copies]
    at = write_time(message.at_us)
    return build_resource(MessageStatus, message, state="accepted", at=at, recipients=recipients, code="", detail="")


def refused_view(row: dict[str, Any], directory: Directory) -> MessageStatus:
    copies = refused_history(row["seq"], row["refusal"], directory).messages[0].copies
    recipients = [_recipient_status(copy) for copy in copies]
    known = _refused_summary(row, directory)
    return build_resource(MessageStatus, known, recipients=recipients, detail=row["detail"])


def _recipient_status(copy: CopyHistory) -> RecipientStatus:
    if copy.code:
        state, words = "refused", f"never queued: {copy.detail}"
    elif copy.is_out_of_sight:
        ended = copy.state in IN_WORDS
        words = f"{copy.state} on the way to {copy.recipient}" if ended else f"on its way to {copy.recipient}"
        state = copy.state if ended else "queued"
    else:
        state, words = copy.stops[-1].state, _in_words(copy.stops[-1])
    return RecipientStatus(recipient=copy.recipient, state=state, in_words=words, code=copy.code, route=copy.route)


def _in_words(last: Stop) -> str:
    words = IN_WORDS.get(last.state, last.state).format(service=last.service)
    if last.gathered is not None and (last.state, last.gathered.state) in IN_BATCHES:
        return IN_BATCHES[last.state, last.gathered.state].format(service=last.service, batch=last.gathered.batch)
    if last.held is not None:
        return f"waiting for release at {last.service}"
    if last.state == "queued" and (moves := _moves(last)):
        words += f"; last {moves[-1].what}"
    return words


def _moves(stop: Stop) -> list[HistoryEvent]:
    """Return what moved the message there, with its translation."""
    return [event for event in stop.events if event.what != TRANSLATED]


def trace_view(history: History, *, shows_counters: bool) -> Trace:
    """``shows_counters``: whether numbers of journal entries are shown, which count the traffic of the whole network."""
    messages = [_message_view(item) for item in history.messages]
    if not shows_counters:
        for message in messages:
            message.seq = message.directory = 0
            for event in (event for copy in message.copies for stop in copy.stops for event in stop.events):
                event.seq = 0
    return Trace(transaction=history.transaction, messages=messages)


def _message_view(message: MessageHistory) -> MessageView:
    return build_resource(
        MessageView,
        message,
        at=write_time(message.at_us),
        copies=[_copy_view(copy) for copy in message.copies],
        came=build_resource(ArrivalView, message.came) if message.came is not None else None,
        contained=_contained_view(message.contained) if message.contained is not None else None,
    )


def _copy_view(copy: CopyHistory) -> CopyView:
    return build_resource(CopyView, copy, stops=[_stop_view(stop) for stop in copy.stops])


def _stop_view(stop: Stop) -> StopView:
    return build_resource(
        StopView,
        stop,
        role=role_of(stop).value,
        status=status_of(stop),
        events=[_event_view(event) for event in stop.events],
        gathered=build_resource(GatheredView, stop.gathered) if stop.gathered is not None else None,
        held=HeldBackView(until=time_or_none(stop.held.until_us)) if stop.held is not None else None,
        paused=_paused_view(stop.paused) if stop.paused is not None else None,
    )


def _event_view(event: HistoryEvent) -> EventView:
    """Build an event without ``build_resource``: a history has thousands, and this takes two thirds of its time."""
    return EventView(seq=event.seq, at=write_time(event.at_us), what=event.what, by=event.by, detail=event.detail)


def _paused_view(pause: PushPause) -> PausedView:
    return build_resource(PausedView, pause, until=write_time(pause.until_us))


# ---- of batches and interchanges


def _contained_view(contained: InterchangeContents) -> ContainedView:
    numbers = [drawn_view(one) for one in contained.numbers]
    answers = [answer_view(one) for one in contained.answers]
    return build_resource(ContainedView, contained, numbers=numbers, answers=answers)


def drawn_view(drawn: NumberRange) -> DrawnView:
    return build_resource(DrawnView, drawn)


def answer_view(answered: PartnerAnswer) -> PartnerAnswerView:
    return build_resource(PartnerAnswerView, answered, at=write_time(answered.at_us))
