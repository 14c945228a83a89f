"""Journal entries as rows: the columns of each kind of entry, and one tuple per event.

Rule: pure and total, as the projection is: every kind of entry is known here, gives at least one row, and its rows depend on
nothing but the entry. ``landing/log.py`` says what the columns mean and adds those that follow from others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from postroad.core.model.delivery import is_followed
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import (
    AccessRecorded,
    BatchesChanged,
    ConfigurationChanged,
    Copy,
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
    Hop,
    InterchangeAnswered,
    InvocationReturned,
    MessagePosted,
    MessageRefused,
    ObjectChange,
)
from postroad.core.model.reason import Reason
from postroad.warehouse.landing import batch_events

Row = tuple[Any, ...]
Rows = Iterator[Row]

# Objects whose values are landed; those of any other kind, credentials and people among them, stay in the journal.
SHOWN_KINDS = frozenset({"organization", "service", "rule", "books", "tariff", "invoice", "payment"})
COMMON = ("seq", "ordinal", "about", "at_us")

_json = msgspec.json.Encoder(order="sorted").encode


class Events(NamedTuple):
    """The columns and the row function of one kind of entry."""

    kind: str
    columns: tuple[str, ...]
    rows: Callable[[int, Any, int], Rows]


POSTED_COLUMNS = (
    *("seq", "about", "at_us", "session", "transaction", "message_seq", "sender", "by", "type", "topic", "form"),
    *("handle", "possible_duplicate", "size", "body_bytes", "parts", "expires_at_us", "directory", "routing"),
    *("shown_sender", "status_code", "status_text", "answers_delivery", "answers_session", "answers_journey"),
    *("ends_journey", "ends_delivery", "ends_state", "ends_reason", "wire_bytes", "reason_code"),
    *("ordinal", "copy", "hop", "delivery", "journey", "service", "recipient", "named", "code", "detail"),
    *("hops", "logical"),
)


def _posted(seq: int, entry: MessagePosted, body_length: int) -> Rows:
    answers, ends = entry.answers, entry.ends
    shared = (
        *(seq, "copy" if entry.copies else "post", entry.at_us, entry.session, entry.transaction, seq, entry.sender),
        *(entry.sender, entry.type._value_, entry.topic or None, entry.form or None, entry.handle or None),
        *(entry.possible_duplicate, entry.size, body_length - _behind_parts(entry), len(entry.parts)),
        *(entry.expires_at_us or None, entry.directory, entry.routing or None, entry.shown_sender or None),
        *((entry.status.code, entry.status.text) if entry.status is not None else (None, None)),
        *((answers.delivery, answers.session, answers.journey or None) if answers is not None else (None, None, None)),
        *((ends.journey, ends.delivery or None, ends.state, ends.reason) if ends is not None else (None,) * 4),
        _on_the_wire(entry),
        _code(ends.why) if ends is not None else None,
    )
    if not entry.copies:
        yield (*shared, 0, *(None,) * 11)
    for ordinal, copy in enumerate(entry.copies):
        yield (*shared, *_copy(seq, ordinal, copy, entry))


def _code(why: Reason | None) -> str | None:
    return why.code if why is not None else None


def _on_the_wire(entry: MessagePosted | InvocationReturned | MessageRefused) -> int | None:
    return entry.wire_size if entry.wire_size >= 0 else None


def _behind_parts(entry: MessagePosted) -> int:
    """Bytes of the body that are no document: how the parts were wrapped, and how the message was routed."""
    return entry.explained + (entry.came.setting if entry.came is not None else 0)


def _copy(seq: int, ordinal: int, copy: Copy, entry: MessagePosted) -> Row:
    if copy.code or not copy.hops:
        recipient = copy.hops[-1].service if copy.hops else None
        refused = (copy.named, copy.code or None, copy.detail or None, _route(copy.hops), _route(copy.logical))
        return (ordinal, ordinal, None, None, None, None, recipient, *refused)
    delivery = delivery_number(seq, ordinal)
    journey = delivery if is_followed(entry, ordinal) else (entry.answers and entry.answers.journey) or None
    ends = (copy.hops[0].service, copy.hops[-1].service)
    return (
        *(ordinal, ordinal, 0, delivery, journey, *ends, copy.named, None, None),
        *(_route(copy.hops), _route(copy.logical)),
    )


def _route(hops: tuple[Hop, ...]) -> list[dict[str, Any]] | None:
    return [_hop(hop) for hop in hops] or None


def _hop(hop: Hop) -> dict[str, Any]:
    given: dict[str, Any] = {"service": hop.service, "invoker": hop.invoker or None}
    if hop.context is not None:
        given["payer"], given["rule"] = hop.context.payer or None, hop.context.rule or None
        given["context"], given["parent"] = hop.context.id, hop.context.parent
    return given


REFUSED_COLUMNS = (
    *(*COMMON, "session", "sender", "by", "code", "detail", "size", "form", "handle", "named"),
    *("type", "topic", "wire_bytes"),
)


def _refused(seq: int, entry: MessageRefused, _: int) -> Rows:
    sender = entry.sender or None
    what = (entry.code, entry.detail or None, entry.size, entry.form or None, entry.handle or None)
    message = (entry.type or None, entry.topic or None, _on_the_wire(entry))
    yield (seq, 0, "post", entry.at_us, entry.session, sender, sender, *what, ", ".join(entry.named) or None, *message)


INVOCATION_COLUMNS = (
    *(*COMMON, "session", "transaction", "message_seq", "copy", "hop", "delivery", "journey", "by", "service"),
    *("answers_delivery", "size", "body_bytes", "parts", "expires_at_us", "hops", "logical", "recipient", "directory"),
    *("status_code", "status_text", "wire_bytes"),
)


def _invocation(seq: int, entry: InvocationReturned, body_length: int) -> Rows:
    journey = entry.journey or delivery_number(entry.message, entry.copy)
    yield (
        *(seq, 0, "copy", entry.at_us, entry.session, entry.transaction, entry.message, entry.copy, entry.hop),
        *(delivery_number(seq, 0), journey, entry.by, entry.next, entry.delivery, entry.size),
        *(body_length - entry.explained - entry.setting, len(entry.parts), entry.expires_at_us or None),
        *(_route(entry.hops), _route(entry.logical), entry.hops[-1].service if entry.hops else None),
        entry.directory or None,
        *((entry.status.code, entry.status.text) if entry.status is not None else (None, None)),
        _on_the_wire(entry),
    )


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
        yield (*about, entry.fault or None, entry.delay_s, entry.status, entry.duration_ms, _code(entry.why))


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
        yield (seq, ordinal, about, entry.at_us, entry.by, delivery, journey, state, reason or None, batch, _code(why))


RESENT_COLUMNS = (
    *(
        *COMMON,
        "session",
        "transaction",
        "message_seq",
        "copy",
        "hop",
        "delivery",
        "journey",
        "by",
        "sender",
        "service",
    ),
    *("expires_at_us", "reason"),
)


def _resent(seq: int, entry: DeliveryResent, _: int) -> Rows:
    number = delivery_number(seq, 0)
    yield (
        *(seq, 0, "round", entry.at_us, entry.session, entry.transaction, entry.message, entry.copy, entry.hop, number),
        *(number if entry.followed else None, entry.by, entry.sender, entry.next, entry.expires_at_us or None),
        entry.reason or None,
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


def _events(entry: type, columns: tuple[str, ...], rows: Callable[[int, Any, int], Rows]) -> Events:
    kind: str = entry.__struct_config__.tag  # type: ignore[attr-defined]
    return Events(kind, columns, rows)


EVENTS: dict[type[Entry], Events] = {
    MessagePosted: _events(MessagePosted, POSTED_COLUMNS, _posted),
    MessageRefused: _events(MessageRefused, REFUSED_COLUMNS, _refused),
    InvocationReturned: _events(InvocationReturned, INVOCATION_COLUMNS, _invocation),
    DeliveriesLeased: _events(DeliveriesLeased, LEASED_COLUMNS, _leased),
    DeliveriesReturned: _events(DeliveriesReturned, RETURNED_COLUMNS, _returned),
    DeliveryAttempted: _events(DeliveryAttempted, ATTEMPTED_COLUMNS, _attempted),
    DeliveryTranslated: _events(DeliveryTranslated, TRANSLATED_COLUMNS, _translated),
    DeliveriesAcknowledged: _events(DeliveriesAcknowledged, SETTLED_COLUMNS, _acknowledged),
    DeliveriesEnded: _events(DeliveriesEnded, SETTLED_COLUMNS, _ended),
    DeliveryResent: _events(DeliveryResent, RESENT_COLUMNS, _resent),
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
}
