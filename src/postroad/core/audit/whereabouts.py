"""Where a message is, in plain words: where, since when, and what happens next and when.

Kept rule: made of the history alone, as the asking party may know it, and of the profiles of services that it names; every state
in which a copy can be has its sentence.
"""

from __future__ import annotations

from dataclasses import dataclass

from postroad.core.audit.story import CopyHistory, Event, MessageHistory, Stop
from postroad.core.delivery.windows import next_opening
from postroad.core.model.directory import DeliveryMode, Service
from postroad.core.model.snapshot import Directory

ENDS = {
    "delivered": "{service} has it.",
    "rejected": "It was rejected at {service}.",
    "failed": "It could not be delivered to {service} and is kept as a dead letter.",
    "expired": "It expired before {service} took it.",
    "cancelled": "It was withdrawn before {service} took it.",
}
AFTER = {
    "failed": "Mend what is wrong, then resend it; or drop it.",
    "expired": "Send it again if it is still wanted; give it longer, or ask {service} why it took nothing.",
    "rejected": "The reason says what the service does not want.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """Of one copy."""

    recipient: str
    state: str
    where: str
    since_us: int
    why: str = ""  # in the words of whoever said so
    next: str = ""  # what happens, or what to do
    next_us: int = 0  # when; 0: nobody can say


def whereabouts(message: MessageHistory, directory: Directory, now_us: int) -> list[Whereabouts]:
    return [_of(message, copy, directory, now_us) for copy in message.copies]


def _of(message: MessageHistory, copy: CopyHistory, directory: Directory, now_us: int) -> Whereabouts:
    if copy.code:
        return Whereabouts(
            recipient=copy.recipient,
            state="refused",
            where=f"It was not sent to {copy.recipient}.",
            since_us=message.at_us,
            why=f"{copy.code}: {copy.detail}",
        )
    if not copy.stops:
        return Whereabouts(recipient=copy.recipient, state=copy.state, where="It is under way.", since_us=message.at_us)
    stop = copy.stops[-1]
    if stop.state == "queued":
        return _waiting(message, copy, stop, directory, now_us)
    return _ended(copy, stop)


def _ended(copy: CopyHistory, stop: Stop) -> Whereabouts:
    last = stop.events[-1] if stop.events else None
    where = ENDS.get(stop.state, "It is at {service}.").format(service=stop.service)
    next_ = AFTER.get(stop.state, "").format(service=stop.service)
    if stop.state == "delivered" and copy.state == "under way":
        next_ = f"{stop.service} is expected to answer."
    return Whereabouts(
        recipient=copy.recipient,
        state=stop.state if copy.state == "under way" else copy.state or stop.state,
        where=where,
        since_us=last.at_us if last is not None else 0,
        why=last.detail if last is not None and stop.state != "delivered" else "",
        next=next_,
    )


def _waiting(message: MessageHistory, copy: CopyHistory, stop: Stop, directory: Directory, now_us: int) -> Whereabouts:
    last = stop.events[-1] if stop.events else None
    since_us = last.at_us if last is not None else _arrived_us(message, copy, stop)
    service = directory.services.get(stop.gcid)
    told = _batched(stop) or _tried(stop, last) or _in_mailbox(stop, service, now_us)
    where, why, next_, next_us = told
    return Whereabouts(
        recipient=copy.recipient,
        state="waiting",
        where=where,
        since_us=since_us,
        why=why,
        next=next_,
        next_us=next_us,
    )


Told = tuple[str, str, str, int]


def _batched(stop: Stop) -> Told | None:
    gathered = stop.gathered
    if gathered is None:
        return None
    where = f"{stop.service} has gathered it in batch {gathered.batch}, which is {gathered.state}."
    return where, "", "It goes when the batch goes; the batch's page says when that is, and why not yet.", 0


def _tried(stop: Stop, last: Event | None) -> Told | None:
    if last is None or last.what == "gathered":
        return None
    if last.what == "handed out":
        return (
            f"{stop.service} has been handed it and has not said what became of it.",
            "",
            "If it says nothing before its lease ends, it is handed out again.",
            0,
        )
    where = f"It waits at {stop.service}, which did not take it the last time."
    return where, last.detail, "It is tried again.", 0


def _in_mailbox(stop: Stop, service: Service | None, now_us: int) -> Told:
    where = f"It waits in the mailbox of {stop.service}."
    if service is None:
        return where, "", "", 0
    if service.suspended:
        return where, f"The service is suspended: {service.suspended}", "It waits until an operator ends that.", 0
    if service.delivery is not DeliveryMode.PUSH:
        return where, "", f"{stop.service} fetches its messages itself, and has not asked since.", 0
    opening_us = next_opening(service.windows, service.time_zone, now_us)
    if opening_us > now_us:
        return where, "", "It is pushed when the delivery window opens.", opening_us
    return where, "", "It is pushed next, unless it is held back or its receiver has failed a moment ago.", 0


def _arrived_us(message: MessageHistory, copy: CopyHistory, stop: Stop) -> int:
    before = [one for one in copy.stops[: copy.stops.index(stop)] if one.events]
    return before[-1].events[-1].at_us if before else message.at_us
