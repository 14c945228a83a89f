"""Response bodies for messages, their states and their histories."""

from __future__ import annotations

from typing import Any

from postroad.api.resources.batch_history_views import contained_view, gathered_view
from postroad.api.resources.context import time_or_none
from postroad.core.audit.history.builder import TRANSLATED
from postroad.core.audit.history.refused_post import refused_history
from postroad.core.audit.history.role_status import role_of, status_of
from postroad.core.codecs.lexical import write_time
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.history import ArrivalNotes, CopyHistory, History, HistoryEvent, MessageHistory, Stop
from postroad.core.model.journal import MessagePosted, MessageRefused
from postroad.core.model.push_pause import PushPause
from postroad.core.model.sizes import content_size, wire_size
from postroad.core.model.snapshot import Directory
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


def summary(box: str, row: dict[str, Any], directory: Directory) -> dict[str, Any]:
    message: MessagePosted | None = row.get("message")
    if message is None:
        return _refused_summary(row, directory)
    return {
        "session": message.session,
        "box": box,
        "at": write_time(message.at_us),
        "from": directory.address_of(message.sender),
        "recipients": [directory.address_of(row["recipient"])]
        if box == "received"
        else visible_recipients(message, directory),
        "type": message.type.value,
        "topic": message.topic,
        "handle": message.handle,
        "size": content_size(message),
        "wireSize": wire_size(message) if box == "sent" else 0,
        "state": DeliveryState(row["state"]).name.lower() if box == "received" else "accepted",
        "code": "",
    }


def _refused_summary(row: dict[str, Any], directory: Directory) -> dict[str, Any]:
    refusal: MessageRefused = row["refusal"]
    return {
        "session": row["session"],
        "box": "refused",
        "at": write_time(row["at_us"]),
        "from": directory.address_of(row["sender"]),
        "recipients": list(refusal.named),
        "type": refusal.type,
        "topic": refusal.topic,
        "handle": row["handle"],
        "size": content_size(refusal),
        "wireSize": wire_size(refusal),
        "state": "refused",
        "code": row["code"],
    }


def status_view(message: MessageHistory) -> dict[str, Any]:
    return {
        "session": message.session,
        "state": "accepted",
        "at": write_time(message.at_us),
        "from": message.sender,
        "type": message.type,
        "topic": message.topic,
        "handle": message.handle,
        "size": message.size,
        "wireSize": message.wire_size,
        "recipients": [_recipient_status(copy) for copy in message.copies],
        "code": "",
        "detail": "",
    }


def refused_view(row: dict[str, Any], directory: Directory) -> dict[str, Any]:
    known = _refused_summary(row, directory)
    names = ("session", "state", "at", "from", "type", "topic", "handle", "size", "wireSize", "code")
    copies = refused_history(row["seq"], row["refusal"], directory).messages[0].copies
    recipients = [_recipient_status(copy) for copy in copies]
    return {name: known[name] for name in names} | {"recipients": recipients, "detail": row["detail"]}


def _recipient_status(copy: CopyHistory) -> dict[str, Any]:
    if copy.code:
        return {
            "recipient": copy.recipient,
            "state": "refused",
            "inWords": f"never queued: {copy.detail}",
            "code": copy.code,
            "route": copy.route,
        }
    if copy.is_out_of_sight:
        ended = copy.state in IN_WORDS
        words = f"{copy.state} on the way to {copy.recipient}" if ended else f"on its way to {copy.recipient}"
        state = copy.state if ended else "queued"
        return {"recipient": copy.recipient, "state": state, "inWords": words, "code": "", "route": copy.route}
    last = copy.stops[-1]
    words = IN_WORDS.get(last.state, last.state).format(service=last.service)
    if last.gathered is not None and (last.state, last.gathered.state) in IN_BATCHES:
        words = IN_BATCHES[last.state, last.gathered.state].format(service=last.service, batch=last.gathered.batch)
    elif last.held is not None:
        words = f"waiting for release at {last.service}"
    elif last.state == "queued" and (moves := _moves(last)):
        words += f"; last {moves[-1].what}"
    return {"recipient": copy.recipient, "state": last.state, "inWords": words, "code": "", "route": copy.route}


def _moves(stop: Stop) -> list[HistoryEvent]:
    """Return what moved the message there, with its translation."""
    return [event for event in stop.events if event.what != TRANSLATED]


def trace_view(history: History, *, shows_counters: bool) -> dict[str, Any]:
    """``shows_counters``: whether numbers of journal entries are shown, which count the traffic of the whole network."""
    messages = [_message_view(item) for item in history.messages]
    if not shows_counters:
        for message in messages:
            message |= {"seq": 0, "directory": 0}
            for event in (event for copy in message["copies"] for stop in copy["stops"] for event in stop["events"]):
                event["seq"] = 0
    return {"transaction": history.transaction, "messages": messages}


def _message_view(message: MessageHistory) -> dict[str, Any]:
    return {
        "seq": message.seq,
        "session": message.session,
        "at": write_time(message.at_us),
        "type": message.type,
        "from": message.sender,
        "topic": message.topic,
        "handle": message.handle,
        "size": message.size,
        "wireSize": message.wire_size,
        "form": message.form,
        "directory": message.directory,
        "answers": message.answers,
        "forwards": message.forwards,
        "copies": [
            {
                "recipient": copy.recipient,
                "code": copy.code,
                "detail": copy.detail,
                "state": copy.state,
                "route": copy.route,
                "stops": [_stop_view(stop) for stop in copy.stops],
            }
            for copy in message.copies
        ],
        "code": message.code,
        "detail": message.detail,
        "came": _arrival_view(message.came) if message.came is not None else None,
        "contained": contained_view(message.contained) if message.contained is not None else None,
    }


def _arrival_view(came: ArrivalNotes) -> dict[str, Any]:
    return {"notes": came.notes, "messageId": came.message_id, "mic": came.mic, "layers": came.layers}


def _stop_view(stop: Stop) -> dict[str, Any]:
    return {
        "delivery": stop.delivery,
        "service": stop.service,
        "gcid": stop.gcid,
        "inTransit": stop.in_transit,
        "role": role_of(stop).value,
        "status": status_of(stop),
        "state": stop.state,
        "size": stop.size,
        "invoker": stop.invoker,
        "rule": stop.rule,
        "events": [
            {"seq": item.seq, "at": write_time(item.at_us), "what": item.what, "by": item.by, "detail": item.detail}
            for item in stop.events
        ],
        "gathered": gathered_view(stop.gathered) if stop.gathered is not None else None,
        "held": {"until": time_or_none(stop.held.until_us)} if stop.held is not None else None,
        "paused": _paused(stop.paused),
    }


def _paused(pause: PushPause | None) -> dict[str, Any] | None:
    return None if pause is None else {"until": write_time(pause.until_us), "failed": pause.failed, "of": pause.of}
