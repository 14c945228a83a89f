"""Converts journal entries to rows: the columns of each kind of entry, and one tuple per event.

Rule: pure and total, as the projection is. Every kind of entry is listed here and has at least one row, and its rows depend on
the entry alone. ``landing/log.py`` documents the columns and adds those that are computed from others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from postroad.core.model.billing_entries import (
    FIRST_VERSION,
    BillingJournalEntry,
    InvoiceCredited,
    InvoiceIssued,
    PaymentRecorded,
    record_value,
)
from postroad.core.model.journal import (
    AccessRecorded,
    BatchesChanged,
    ConfigurationChanged,
    CrossReferenceChanged,
    DeliveriesAcknowledged,
    DeliveriesDropped,
    DeliveriesEnded,
    DeliveriesLeased,
    DeliveriesReleased,
    DeliveriesReturned,
    DeliveryAttempted,
    DeliveryResent,
    DeliveryTranslated,
    Entry,
    InterchangeAnswered,
    InvocationReturned,
    MessagePosted,
    MessageRefused,
    NetworkRestored,
    ObjectChange,
)
from postroad.core.model.reason import Reason
from postroad.core.model.secret_entries import SECRET, SecretChanged, secret_object
from postroad.warehouse.landing import batch_events, message_events
from postroad.warehouse.landing.message_events import Rows, code_of

# Objects whose values are landed; those of any other kind, credentials and people among them, stay in the journal.
SHOWN_KINDS = frozenset({"organization", "service", "rule", "books", "tariff", "invoice", "payment"})
COMMON = ("seq", "ordinal", "about", "at_us")

_json = msgspec.json.Encoder(order="sorted").encode


class Events(NamedTuple):
    """The columns and the row function of one kind of entry."""

    kind: str
    columns: tuple[str, ...]
    rows: Callable[[int, Any, int], Rows]


LEASED_COLUMNS = (*COMMON, "by", "service", "delivery", "lease_s")


def _leased(seq: int, entry: DeliveriesLeased, _: int) -> Rows:
    for ordinal, delivery in enumerate(entry.deliveries or (None,)):
        yield (seq, ordinal, "delivery", entry.at_us, entry.by, entry.by, delivery, entry.lease_s)


RETURNED_COLUMNS = (*COMMON, "by", "service", "delivery", "reason", "delay_s")


def _returned(seq: int, entry: DeliveriesReturned, _: int) -> Rows:
    for ordinal, delivery in enumerate(entry.deliveries or (None,)):
        yield (seq, ordinal, "delivery", entry.at_us, entry.by, entry.by, delivery, entry.reason or None, entry.delay_s)


ATTEMPTED_COLUMNS = (*RETURNED_COLUMNS, "http_status", "duration_ms", "reason_code")


def _attempted(seq: int, entry: DeliveryAttempted, _: int) -> Rows:
    for ordinal, delivery in enumerate(entry.deliveries or (None,)):
        about = (seq, ordinal, "delivery", entry.at_us, entry.by, entry.by, delivery)
        yield (*about, entry.fault or None, entry.delay_s, entry.status, entry.duration_ms, code_of(entry.why))


TRANSLATED_COLUMNS = (*COMMON, "by", "service", "delivery", "form", "format", "detail")


def _translated(seq: int, entry: DeliveryTranslated, _: int) -> Rows:
    about = (seq, 0, "delivery", entry.at_us, entry.by, entry.by, entry.delivery)
    yield (*about, entry.form or None, entry.format, "; ".join(entry.dropped) or None)


SETTLED_COLUMNS = (*COMMON, "by", "delivery", "journey", "state", "reason", "batch", "reason_code")


def _acknowledged(seq: int, entry: DeliveriesAcknowledged, _: int) -> Rows:
    return _settled(seq, entry, "delivered", "acknowledged", None)


def _ended(seq: int, entry: DeliveriesEnded, _: int) -> Rows:
    return _settled(seq, entry, entry.state, entry.reason, entry.why)


def _settled(
    seq: int, entry: DeliveriesAcknowledged | DeliveriesEnded, state: str, reason: str, why: Reason | None
) -> Rows:
    things: list[tuple[str, int | None, int | None]] = [("delivery", number, None) for number in entry.deliveries]
    things += [("journey", None, number) for number in entry.journeys]
    batch = entry.batch.id if entry.batch is not None else None
    for ordinal, (about, delivery, journey) in enumerate(things or [("delivery", None, None)]):
        yield (
            seq,
            ordinal,
            about,
            entry.at_us,
            entry.by,
            delivery,
            journey,
            state,
            reason or None,
            batch,
            code_of(why),
        )


DROPPED_COLUMNS = (*COMMON, "by", "delivery", "reason")


def _dropped(seq: int, entry: DeliveriesDropped, _: int) -> Rows:
    for ordinal, delivery in enumerate(entry.deliveries or (None,)):
        yield (seq, ordinal, "delivery", entry.at_us, entry.by, delivery, entry.reason or None)


RELEASED_COLUMNS = (*COMMON, "by", "service", "reason", "detail")


def _released(seq: int, entry: DeliveriesReleased, _: int) -> Rows:
    how_many = f"{entry.waiting} deliveries, up to {entry.up_to}"
    yield (seq, 0, "release", entry.at_us, entry.by, entry.service, entry.reason or None, how_many)


OBJECT_COLUMNS = (
    *(*COMMON, "by", "reason", "object_kind", "object_key", "object_version", "object_removed", "object_value"),
)


def _configuration(seq: int, entry: ConfigurationChanged, _: int) -> Rows:
    what = (entry.at_us, entry.by, entry.reason or None)
    if not entry.objects:
        yield (seq, 0, "object", *what, *(None,) * 5)
    for ordinal, change in enumerate(entry.objects):
        shown = (change.kind, change.key, change.version, change.value is None, _object_value(change))
        yield (seq, ordinal, "object", *what, *shown)


def _object_value(change: ObjectChange) -> str | None:
    if change.value is None or change.kind not in SHOWN_KINDS:
        return None
    return _json(change.value).decode()


def _billed(seq: int, entry: BillingJournalEntry, _: int) -> Rows:
    """Yield a billing record as it was landed when it was configuration, so that one query finds all of them."""
    kind, key, value = record_value(entry)
    yield (seq, 0, "object", entry.at_us, entry.by, None, kind, key, FIRST_VERSION, False, _json(value).decode())


def _secret(seq: int, entry: SecretChanged, _: int) -> Rows:
    """Yield that a secret was set or removed; its record contains no secret."""
    key, value = secret_object(entry)
    what = (entry.at_us, entry.by, f"secret {entry.what}", SECRET, key, entry.version, value is None)
    yield (seq, 0, "object", *what, None if value is None else _json(value).decode())


REFERENCE_COLUMNS = (*COMMON, "by", "service", "session", "object_kind", "object_key", "object_value")


def _cross_reference(seq: int, entry: CrossReferenceChanged, _: int) -> Rows:
    where = (entry.at_us, entry.by, entry.owner, entry.session or None, "crossreference", entry.map)
    things: list[tuple[str, str | None]] = [("record", _json(record).decode()) for record in entry.records]
    things += [("relation", _json(relation).decode()) for relation in entry.relations]
    for ordinal, (about, value) in enumerate(things or [("record", None)]):
        yield (seq, ordinal, about, *where, value)


ACCESS_COLUMNS = (*COMMON, "by", "reason", "detail")


def _access(seq: int, entry: AccessRecorded, _: int) -> Rows:
    yield (seq, 0, "access", entry.at_us, entry.by, entry.what, entry.detail or None)


def _restored(seq: int, entry: NetworkRestored, _: int) -> Rows:
    cut = f"cut after entry {entry.cut} of {entry.backup or entry.cut}; skipped numbers: {entry.skip_numbers}"
    yield (seq, 0, "restore", entry.at_us, entry.by, entry.reason or None, cut)


def _events(entry: type, columns: tuple[str, ...], rows: Callable[[int, Any, int], Rows]) -> Events:
    kind: str = entry.__struct_config__.tag  # type: ignore[attr-defined]
    return Events(kind, columns, rows)


EVENTS: dict[type[Entry], Events] = {
    MessagePosted: _events(MessagePosted, message_events.POSTED_COLUMNS, message_events.posted_rows),
    MessageRefused: _events(MessageRefused, message_events.REFUSED_COLUMNS, message_events.refused_rows),
    InvocationReturned: _events(InvocationReturned, message_events.INVOCATION_COLUMNS, message_events.invocation_rows),
    DeliveriesLeased: _events(DeliveriesLeased, LEASED_COLUMNS, _leased),
    DeliveriesReturned: _events(DeliveriesReturned, RETURNED_COLUMNS, _returned),
    DeliveryAttempted: _events(DeliveryAttempted, ATTEMPTED_COLUMNS, _attempted),
    DeliveryTranslated: _events(DeliveryTranslated, TRANSLATED_COLUMNS, _translated),
    DeliveriesAcknowledged: _events(DeliveriesAcknowledged, SETTLED_COLUMNS, _acknowledged),
    DeliveriesEnded: _events(DeliveriesEnded, SETTLED_COLUMNS, _ended),
    DeliveryResent: _events(DeliveryResent, message_events.RESENT_COLUMNS, message_events.resent_rows),
    DeliveriesDropped: _events(DeliveriesDropped, DROPPED_COLUMNS, _dropped),
    DeliveriesReleased: _events(DeliveriesReleased, RELEASED_COLUMNS, _released),
    BatchesChanged: _events(BatchesChanged, batch_events.JOINED_COLUMNS, batch_events.joined_rows),
    InterchangeAnswered: _events(InterchangeAnswered, batch_events.ANSWERED_COLUMNS, batch_events.answered_rows),
    ConfigurationChanged: _events(ConfigurationChanged, OBJECT_COLUMNS, _configuration),
    CrossReferenceChanged: _events(CrossReferenceChanged, REFERENCE_COLUMNS, _cross_reference),
    AccessRecorded: _events(AccessRecorded, ACCESS_COLUMNS, _access),
    InvoiceIssued: _events(InvoiceIssued, OBJECT_COLUMNS, _billed),
    InvoiceCredited: _events(InvoiceCredited, OBJECT_COLUMNS, _billed),
    PaymentRecorded: _events(PaymentRecorded, OBJECT_COLUMNS, _billed),
    NetworkRestored: _events(NetworkRestored, ACCESS_COLUMNS, _restored),
    SecretChanged: _events(SecretChanged, OBJECT_COLUMNS, _secret),
}
