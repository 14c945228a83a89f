"""From journal entries to events.

Rule: a notification is never about a notification. Deliveries of the network's own notifications are known by their numbers, and
neither their failed pushes nor their ends make events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from postroad.core.delivery.dead_letters import MEANING, Cause, cause_of
from postroad.core.identity.expiry import INVITATION
from postroad.core.model.batch import BatchState
from postroad.core.model.billing_entries import InvoiceCredited, InvoiceIssued
from postroad.core.model.delivery import Queued
from postroad.core.model.directory import DeliveryMode, Service, is_same_organization
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import (
    BY_NETWORK,
    BatchesChanged,
    ConfigurationChanged,
    DeliveriesEnded,
    Entry,
    JourneyEnding,
    MessagePosted,
    ObjectChange,
)
from postroad.core.model.snapshot import Directory
from postroad.core.notifications.event import NotifiableEvent

FAILED = "failed"
# Entries of other kinds make no events. Of posts, only those that contain one of ``POST_MARKS`` are read.
READ_KINDS = frozenset(
    (
        b"delivery.ended",
        b"delivery.attempted",
        b"delivery.acknowledged",
        b"delivery.resent",
        b"batch.changed",
        b"configuration.changed",
        b"invoice.issued",
        b"invoice.credited",
    )
)
POSTED = b"message.posted"
_ARRAY_16 = 0xDC


def entry_kind(facts: bytes) -> bytes:
    """Return the kind of an encoded entry without decoding it: the first text in a msgpack array."""
    start = 3 if facts[0] == _ARRAY_16 else 1
    return facts[start + 1 : start + 1 + (facts[start] & 0x1F)]


def makes_events(facts: bytes, sender: bytes) -> bool:
    """Whether an entry has to be decoded; ``sender`` is the GCID of the network's notification service, or empty."""
    kind = entry_kind(facts)
    if kind == POSTED:
        return b"network" in facts or (bool(sender) and sender in facts)
    return kind in READ_KINDS


def find_failed_deliveries(entry: Entry) -> tuple[int, ...]:
    """Return the deliveries that became dead letters with this entry."""
    match entry:
        case DeliveriesEnded(state=state, deliveries=deliveries) if state == FAILED:
            return deliveries
        case MessagePosted(ends=ends) if ends is not None and ends.state == FAILED:
            return (ends.delivery,)
    return ()


def find_own_deliveries(seq: int, entry: Entry, sender: str) -> tuple[int, ...]:
    """Return the deliveries that a notification begins."""
    if isinstance(entry, MessagePosted) and entry.sender == sender:
        return tuple(delivery_number(seq, ordinal) for ordinal in range(len(entry.copies)))
    return ()


class FailedDelivery(NamedTuple):
    """What is needed to notify both sides of a dead letter."""

    service: str  # GCID of the service where it failed
    sender: str = ""  # GCID of the message's sender
    named: str = ""  # the recipient, as the sender wrote it

    @classmethod
    def of(cls, queued: Queued) -> FailedDelivery:
        return cls(queued.recipient, queued.message.sender, queued.message.copies[queued.copy].named)


def make_entry_events(
    entry: Entry, directory: Directory, failed: Mapping[int, FailedDelivery]
) -> Iterator[NotifiableEvent]:
    """Yield the events of one entry; ``failed`` has the failed deliveries that count, by number."""
    match entry:
        case DeliveriesEnded():
            yield from _dead_letters(entry, entry.at_us, directory, failed)
        case MessagePosted(ends=ends) if ends is not None:
            yield from _dead_letters(ends, entry.at_us, directory, failed)
        case BatchesChanged():
            yield from _batches(entry, directory)
        case ConfigurationChanged():
            for change in entry.objects:
                yield from _changed(entry, change, directory)
        case InvoiceIssued() | InvoiceCredited():
            issued = entry.document
            text = f"{issued.total} {issued.currency} for {issued.period}"
            yield NotifiableEvent("invoice.issued", issued.organization, issued.number, entry.at_us, text)


def _dead_letters(
    end: DeliveriesEnded | JourneyEnding, at_us: int, directory: Directory, failed: Mapping[int, FailedDelivery]
) -> Iterator[NotifiableEvent]:
    """Yield the events for the service where a delivery failed, and for the sender if that is another organization."""
    if end.state != FAILED:
        return
    cause = cause_of(end.why.code if end.why is not None else "", end.reason)
    numbers = end.deliveries if isinstance(end, DeliveriesEnded) else (end.delivery,)
    for found in (failed[number] for number in numbers if number in failed):
        service, sender = directory.services.get(found.service), directory.services.get(found.sender)
        if service is not None:
            subject = f"{service.address}, {cause.value}"
            yield NotifiableEvent("dead-letter", service.organization, subject, at_us, MEANING[cause])
        if sender is not None and not (service and is_same_organization(sender.organization, service.organization)):
            yield _for_sender(sender, found, cause, at_us, directory)


def _for_sender(
    sender: Service, found: FailedDelivery, cause: Cause, at_us: int, directory: Directory
) -> NotifiableEvent:
    """Return the sender's event; the cause is its business only if the recipient that it named has failed."""
    recipient = directory.service(found.named)
    is_known = recipient is not None and recipient.gcid == found.service
    subject = f"{sender.address} to {found.named}, {cause.value if is_known else 'failed on the way'}"
    return NotifiableEvent("dead-letter", sender.organization, subject, at_us, MEANING[cause] if is_known else "")


def _batches(entry: BatchesChanged, directory: Directory) -> Iterator[NotifiableEvent]:
    service = directory.services.get(entry.service)
    if service is None:
        return
    for batch in entry.batches:
        subject = f"{service.address}, batch {batch.id}"
        if batch.state is not BatchState.SUSPENDED:
            yield NotifiableEvent("batch.suspended", service.organization, subject, entry.at_us, recovered=True)
        elif entry.what == "suspended":
            text = f"{batch.count} messages"
            yield NotifiableEvent("batch.suspended", service.organization, subject, entry.at_us, text)


def _changed(entry: ConfigurationChanged, change: ObjectChange, directory: Directory) -> Iterator[NotifiableEvent]:
    value = change.value
    if value is None:
        return
    match change.kind:
        case "service":
            yield from _service(entry, value["organization"], f"{value['organization']}/{value['name']}", value)
        case "credential" if value["label"] == INVITATION and value["person"]:
            person = directory.person(value["person"])
            if person is not None and person.organization:
                text = f"invited by {entry.by}"
                yield NotifiableEvent("member.invited", person.organization, person.email, entry.at_us, text)
        case "support":
            yield from _support(entry, value)


def _service(
    entry: ConfigurationChanged, organization: str, address: str, value: dict[str, object]
) -> Iterator[NotifiableEvent]:
    if value.get("push") is None:
        return
    pushes = value.get("delivery") == DeliveryMode.PUSH.value
    if pushes or entry.by == BY_NETWORK:
        text = "" if pushes else "its messages wait until they are polled"
        yield NotifiableEvent("push.switched-off", organization, address, entry.at_us, text, recovered=pushes)


def _support(entry: ConfigurationChanged, value: dict[str, object]) -> Iterator[NotifiableEvent]:
    notes = value["notes"]
    last = notes[-1] if isinstance(notes, list) and notes else None
    if last is not None:
        name = "support.answered" if last.get("operator") else "support.asked"
        yield NotifiableEvent(name, str(value["organization"]), f"{value['subject']} ({value['id']})", entry.at_us)
