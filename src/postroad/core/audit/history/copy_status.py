"""The status of each copy in words: where it is, since when, and what happens next.

Rule: the text depends only on the history as the viewer may see it, and on the profiles of the services that it
names. Every state of a copy has its sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from postroad.core.delivery.release_schedule import kept_until_us
from postroad.core.delivery.windows import next_opening
from postroad.core.model.directory import DeliveryMode, Service
from postroad.core.model.history import UNDER_WAY, CopyHistory, HistoryEvent, MessageHistory, Stop
from postroad.core.model.snapshot import Directory

ENDS = {
    "rejected": "It was rejected at {service}.",
    "failed": "It could not be delivered to {service} and is kept as a dead letter.",
    "expired": "It expired before {service} took it.",
    "cancelled": "It was withdrawn before {service} took it.",
}
REFUSED = "It was refused: nothing was stored, and nothing was sent."
NEXT_STEP_REFUSED = "Fix it, and post it again."
HIDDEN_ENDS = {  # at a service that another party hides
    "delivered": "It has reached {recipient}.",
    "rejected": "It was rejected on its way to {recipient}.",
    "failed": "It could not be delivered to {recipient}.",
    "expired": "It expired on its way to {recipient}.",
    "cancelled": "It was withdrawn on its way to {recipient}.",
}
NEXT_STEPS = {
    "failed": "Fix what is wrong, then resend it; or drop it.",
    "expired": "Send it again if it is still wanted; give it longer, or ask {service} why it took nothing.",
    "rejected": "The reason states what the service does not accept.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyStatus:
    """The status of one copy."""

    recipient: str
    state: str
    where: str
    since_us: int
    why: str = ""  # as the reporting party worded it
    next: str = ""  # what happens, or what to do
    next_us: int = 0  # when, which ends the last sentence of ``next``; 0: unknown
    expires_us: int = 0  # when it is too late, as long as it waits; 0: never
    batch: str = ""  # id of the one that it waits in


class _StatusText(NamedTuple):
    """The sentences that describe a copy that is waiting."""

    where: str
    why: str = ""
    next: str = ""
    next_us: int = 0
    batch: str = ""


def list_copy_statuses(message: MessageHistory, directory: Directory, now_us: int) -> list[CopyStatus]:
    return [_of(message, copy, directory, now_us) for copy in message.copies]


def refused_post_status(code: str, detail: str, at_us: int) -> CopyStatus:
    """Return the status of a post that was rejected as a whole."""
    return CopyStatus(
        recipient="", state="refused", where=REFUSED, since_us=at_us, why=f"{code}: {detail}", next=NEXT_STEP_REFUSED
    )


def _of(message: MessageHistory, copy: CopyHistory, directory: Directory, now_us: int) -> CopyStatus:
    if copy.code:
        return CopyStatus(
            recipient=copy.recipient,
            state=copy.shown_state,
            where=f"It was not sent to {copy.recipient}.",
            since_us=message.at_us,
            why=f"{copy.code}: {copy.detail}",
        )
    if copy.is_out_of_sight:
        return _hidden_status(message, copy)
    stop = copy.stops[-1]
    if stop.state == "queued":
        return _waiting(message, copy, directory, now_us)
    return _ended(message, copy, stop)


def _hidden_status(message: MessageHistory, copy: CopyHistory) -> CopyStatus:
    if copy.state in HIDDEN_ENDS:
        where = HIDDEN_ENDS[copy.state].format(recipient=copy.recipient)
        return CopyStatus(recipient=copy.recipient, state=copy.shown_state, where=where, since_us=0)
    return CopyStatus(
        recipient=copy.recipient,
        state=copy.shown_state,
        where=f"It is on its way to {copy.recipient}.",
        since_us=copy.stops[-1].events[-1].at_us if copy.stops else message.at_us,
        expires_us=message.expires_at_us,
    )


def _ended(message: MessageHistory, copy: CopyHistory, stop: Stop) -> CopyStatus:
    last = stop.events[-1] if stop.events else None
    is_awaited = stop.state == "delivered" and copy.state == UNDER_WAY
    told = _delivered(stop, last, is_awaited) if stop.state == "delivered" else _not_delivered(stop, last)
    return CopyStatus(
        recipient=copy.recipient,
        state=copy.shown_state,
        where=told.where,
        since_us=last.at_us if last is not None else 0,
        why=told.why,
        next=told.next,
        expires_us=message.expires_at_us if is_awaited else 0,
    )


def _delivered(stop: Stop, last: HistoryEvent | None, is_awaited: bool) -> _StatusText:
    """Describe a delivered copy: what its service did, and whether a response is still expected."""
    if last is None or last.what != "answered":
        expected = f"{stop.service} is expected to answer." if is_awaited else ""
        return _StatusText(where=f"{stop.service} has it.", next=expected)
    going = ", ".join(filter(None, ("Its answer is on its way", last.detail)))
    return _StatusText(where=f"{stop.service} has answered it.", next=f"{going}." if is_awaited else "")


def _not_delivered(stop: Stop, last: HistoryEvent | None) -> _StatusText:
    return _StatusText(
        where=ENDS.get(stop.state, "It is at {service}.").format(service=stop.service),
        why=last.detail if last is not None else "",
        next=NEXT_STEPS.get(stop.state, "").format(service=stop.service),
    )


def _waiting(message: MessageHistory, copy: CopyHistory, directory: Directory, now_us: int) -> CopyStatus:
    stop = copy.stops[-1]
    last = stop.events[-1] if stop.events else None
    arrived_us = _arrived_us(message, copy, stop)
    service = directory.services.get(stop.gcid)
    told = (
        _batched(stop)
        or _paused(stop, last)
        or _tried(stop, last, now_us)
        or _held_back(stop)
        or _in_mailbox(stop, service, directory, now_us)
    )
    return CopyStatus(
        recipient=copy.recipient,
        state=copy.shown_state,
        where=told.where,
        since_us=last.at_us if last is not None else arrived_us,
        why=told.why,
        next=told.next,
        next_us=told.next_us,
        expires_us=_expires_us(message, service, arrived_us),
        batch=told.batch,
    )


def _expires_us(message: MessageHistory, service: Service | None, arrived_us: int) -> int:
    """The message's own time, or that for which the service keeps messages, whichever is over first."""
    kept = service.release.keep_s if service is not None and service.release is not None else 0
    ends = [message.expires_at_us, kept_until_us(kept, arrived_us) if kept else 0]
    return min([end for end in ends if end], default=0)


def _batched(stop: Stop) -> _StatusText | None:
    gathered = stop.gathered
    if gathered is None or gathered.state == "left":
        return None
    return _StatusText(
        where=f"{stop.service} has gathered it in a batch, which is {gathered.state}.",
        next="It is sent with its batch; the batch shows when that is, and why not yet.",
        batch=gathered.batch,
    )


def _paused(stop: Stop, last: HistoryEvent | None) -> _StatusText | None:
    """Describe a copy that waits because pushes to its receiver are paused; None if that is not the case."""
    pause = stop.paused
    if pause is None or stop.held is not None or (last is not None and last.what not in ("push failed", "given back")):
        return None
    return _StatusText(
        where=f"It waits at {stop.service}." if last is None else f"It waits at {stop.service}, which did not take it.",
        why=last.why if last is not None else "",
        next=f"Pushes to {stop.service} are paused because {pause.why}. The next push is tried.",
        next_us=pause.until_us,
    )


def _tried(stop: Stop, last: HistoryEvent | None, now_us: int) -> _StatusText | None:
    if last is None or last.what not in TRIED:
        return None
    ahead_us = last.until_us if last.until_us > now_us else 0
    if last.what == "handed out":
        where = f"{stop.service} has received it and has not settled it yet."
        return _StatusText(where=where, next=UNTIL_LEASE_ENDS if ahead_us else LEASE_IS_OVER, next_us=ahead_us)
    if last.what == "pushed":
        where = f"{stop.service} has been pushed it, and its receipt is still to come."
        return _StatusText(where=where, why=last.detail, next="Without a receipt it is pushed again.", next_us=ahead_us)
    where = f"It waits at {stop.service}, which did not take it the last time."
    return _StatusText(where=where, why=last.why, next="It is tried again.", next_us=ahead_us)


ATTEMPTS = ("handed out", "pushed", "push failed")
TRIED = (*ATTEMPTS, "given back")
UNTIL_LEASE_ENDS = "If it does not answer before its lease ends, the message is handed out again."
LEASE_IS_OVER = "Its lease is over: the next poll for that service receives it again."


def _held_back(stop: Stop) -> _StatusText | None:
    if stop.held is None:
        return None
    until_us = stop.held.until_us
    next_ = "It is pushed with everything else that waits." if until_us else "It goes when enough wait, or on request."
    return _StatusText(where=f"It is held back for {stop.service}.", next=next_, next_us=until_us)


def _in_mailbox(stop: Stop, service: Service | None, directory: Directory, now_us: int) -> _StatusText:
    where = f"It waits in the mailbox of {stop.service}."
    if service is None:
        return _StatusText(where=where)
    if directory.is_suspended(service):  # for what reason is between the operators and whose service it is
        why = "The service is suspended, and is handed nothing."
        return _StatusText(where=where, why=why, next="It waits until an operator ends that.")
    if service.delivery is not DeliveryMode.PUSH:
        return _StatusText(where=where, next=f"{stop.service} fetches its messages itself, and has not asked since.")
    opening_us = next_opening(service.windows, service.time_zone, now_us)
    if opening_us > now_us:
        return _StatusText(where=where, next="It is pushed when the delivery window opens.", next_us=opening_us)
    return _StatusText(where=where, next="It is pushed next, unless its receiver has failed a moment ago.")


def _arrived_us(message: MessageHistory, copy: CopyHistory, stop: Stop) -> int:
    before = [one for one in copy.stops[: copy.stops.index(stop)] if one.events]
    return before[-1].events[-1].at_us if before else message.at_us
