"""Translates journal entries into live events: sent, arrived, delivered, failed …

Rule: pure and fast, since every entry is translated while anyone watches. Other modules decide who may see an event,
by the service at which it happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from postroad.core.model.delivery import FINAL
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import (
    DeliveriesAcknowledged,
    DeliveriesEnded,
    DeliveryAttempted,
    DeliveryResent,
    InvocationReturned,
    MessagePosted,
    MessageRefused,
)


class LiveEventKind(StrEnum):
    SENT = "sent"
    REFUSED = "refused"
    ARRIVED = "arrived"
    DELIVERED = "delivered"
    TRIED = "try failed"
    FAILED = "failed"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class LiveEvent(NamedTuple):
    what: LiveEventKind
    at_us: int
    service: str  # GCID of whose it is; empty where only the delivery's number says so
    number: int = 0  # of the delivery
    entry: MessagePosted | MessageRefused | None = None  # where nothing else is needed to tell of it
    detail: str = ""


def find_live_events(seq: int, entry: object) -> Iterator[LiveEvent]:
    """Yield the live events of an entry; none if the entry is not about messages."""
    found = _READERS.get(type(entry))
    return found(seq, entry) if found is not None else iter(())


def _posted(seq: int, entry: MessagePosted) -> Iterator[LiveEvent]:
    yield LiveEvent(LiveEventKind.SENT, entry.at_us, entry.sender, 0, entry)
    for ordinal, copy in enumerate(entry.copies):
        if not copy.code:
            yield LiveEvent(LiveEventKind.ARRIVED, entry.at_us, copy.hops[0].service, delivery_number(seq, ordinal))
    if entry.ends is not None and entry.ends.delivery:
        yield LiveEvent(LiveEventKind(entry.ends.state), entry.at_us, "", entry.ends.delivery, None, entry.ends.reason)
    elif entry.answers is not None:
        yield LiveEvent(LiveEventKind.DELIVERED, entry.at_us, entry.sender, entry.answers.delivery)


def _refused(seq: int, entry: MessageRefused) -> Iterator[LiveEvent]:
    yield LiveEvent(LiveEventKind.REFUSED, entry.at_us, entry.sender, 0, entry, entry.code)


def _returned(seq: int, entry: InvocationReturned) -> Iterator[LiveEvent]:
    yield LiveEvent(LiveEventKind.DELIVERED, entry.at_us, entry.by, entry.delivery)
    yield LiveEvent(LiveEventKind.ARRIVED, entry.at_us, entry.next, delivery_number(seq, 0))


def _acknowledged(seq: int, entry: DeliveriesAcknowledged) -> Iterator[LiveEvent]:
    return (LiveEvent(LiveEventKind.DELIVERED, entry.at_us, entry.by, number) for number in entry.deliveries)


def _attempted(seq: int, entry: DeliveryAttempted) -> Iterator[LiveEvent]:
    return (
        LiveEvent(LiveEventKind.TRIED, entry.at_us, entry.by, number, None, entry.reason) for number in entry.deliveries
    )


def _ended(seq: int, entry: DeliveriesEnded) -> Iterator[LiveEvent]:
    what = LiveEventKind(FINAL[entry.state].name.lower())
    return (LiveEvent(what, entry.at_us, "", number, None, entry.reason) for number in entry.deliveries)


def _resent(seq: int, entry: DeliveryResent) -> Iterator[LiveEvent]:
    yield LiveEvent(LiveEventKind.ARRIVED, entry.at_us, entry.next, delivery_number(seq, 0), None, "resent")


_READERS: dict[type, Callable[[int, Any], Iterator[LiveEvent]]] = {
    MessagePosted: _posted,
    MessageRefused: _refused,
    InvocationReturned: _returned,
    DeliveriesAcknowledged: _acknowledged,
    DeliveryAttempted: _attempted,
    DeliveriesEnded: _ended,
    DeliveryResent: _resent,
}
