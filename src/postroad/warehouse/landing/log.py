"""The table ``log``: every event of the journal as one flat row.

Grain: one row per (seq, ordinal). An entry about several copies, deliveries, journeys, objects or records has a row for each,
numbered from 0 in the order of the entry; ``about`` is what the row is about. Every entry has at least one row.

    message.posted          copy (post if it has no copies): ``delivery`` is the one that it creates at ``service``, unless
                            ``code`` is why the copy was refused; ``recipient`` is the end of its route
    message.refused         post
    invocation.returned     copy: ``answers_delivery`` is the delivery that the in-transit service ``by`` answered, ``delivery``
                            the one that it creates at the next ``service``
    delivery.leased, .returned, .attempted      delivery, at the service ``by``
    delivery.translated     delivery, at the service ``by``: ``detail`` lists what ``format`` cannot express
    delivery.acknowledged, .ended               delivery; and journey for each copy whose journey ends with it
    batch.changed           delivery for each message that joined ``batch``; and batch for each changed batch, in its new state
    interchange.answered    answer: the partner's status of the interchange of ``batch``; and of ``delivery``, if that differs
    delivery.released       release: all deliveries waiting for ``service``; ``detail`` is their number
    configuration.changed   object
    invoice.issued, .credited, payment.recorded object: the invoice, credit note or payment
    secret.changed          object: who set or removed which version, never the secret
    crossreference.changed  record, relation
    access.recorded         access
    network.restored        restore: ``detail`` has the last entry that was restored

Posts of interchanges, and acknowledgments and ends of all deliveries of a batch, also have a row about the batch, which is the
last. So ``delivery`` joins the event that created a delivery with all later events of it. A column that does not apply to a row
is null, never empty.

Rules: columns are only added, at the end and nullable; ``schema_version`` is the number of the schema with which a row was made.
The table contains no bodies, credentials or personal data. This module does not import Spark, because workers import it for
every batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from postroad.core.model.journal import decode
from postroad.warehouse.landing.batch_events import BATCH_COLUMNS, batch_rows
from postroad.warehouse.landing.events import EVENTS

SCHEMA_VERSION = 5
ENTRIES_PER_BATCH = 16384

HOP = pa.struct(
    [
        pa.field("service", pa.string()),
        pa.field("invoker", pa.string()),
        pa.field("payer", pa.string()),
        pa.field("rule", pa.string()),
        pa.field("context", pa.int64()),
        pa.field("parent", pa.int64()),
    ]
)


class Column(NamedTuple):
    """A column of the table, and its meaning as the reference page shows it."""

    name: str
    type: pa.DataType
    meaning: str


COLUMNS: tuple[Column, ...] = (
    Column("seq", pa.int64(), "number of the journal entry"),
    Column("ordinal", pa.int32(), "which of the entry's events, counted from 0"),
    Column("kind", pa.string(), "kind of the entry"),
    Column(
        "about",
        pa.string(),
        "copy, post, delivery, journey, round, object, record, relation, release, access, batch, answer or restore",
    ),
    Column("at_us", pa.int64(), "time of the event, in microseconds since 1970 (UTC)"),
    Column("at", pa.timestamp("us", "UTC"), "`at_us` as a timestamp"),
    Column("day", pa.date32(), "`at_us` as a day (UTC)"),
    Column("session", pa.string(), "session of the message"),
    Column("transaction", pa.string(), "the session that began the exchange"),
    Column("message_seq", pa.int64(), "entry of the post; of `message.posted` its own"),
    Column("copy", pa.int32(), "which copy of the message, counted from 0"),
    Column("hop", pa.int32(), "which stop of the copy's route `service` is, counted from 0"),
    Column("delivery", pa.int64(), "number of the delivery that was created, or that the event is about"),
    Column("journey", pa.int64(), "number of the first delivery of the copy whose journey it is"),
    Column("by", pa.string(), "actor: GCID, e-mail address or `network`"),
    Column("sender", pa.string(), "GCID of the sending service"),
    Column("service", pa.string(), "GCID of the service at which the delivery is; of a reference, the map's owner"),
    Column("recipient", pa.string(), "GCID of the service at the end of the copy's route"),
    Column("named", pa.string(), "recipient as the poster wrote it; of a refused post all of them"),
    Column("type", pa.string(), "request, response, notification, acknowledgement or cancel"),
    Column("topic", pa.string(), "topic of the message"),
    Column("form", pa.string(), "wire form, or in its place bulk, push, network, python"),
    Column("handle", pa.string(), "the sender's own reference of the message"),
    Column("possible_duplicate", pa.bool_(), "the poster's flag"),
    Column(
        "size",
        pa.int64(),
        "bytes that bills count: of documents and attachments; on the wire where `wire_bytes` is null",
    ),
    Column("body_bytes", pa.int64(), "bytes of documents and attachments, even if they were dropped since"),
    Column("parts", pa.int32(), "number of documents and attachments"),
    Column("expires_at_us", pa.int64(), "time at which it expires; null = never"),
    Column("directory", pa.int64(), "version of the directory under which it was routed"),
    Column("hops", pa.list_(HOP), "the copy's route, the recipient last; of a return, only where rules changed it"),
    Column("logical", pa.list_(HOP), "services that take part in the route only by their rules"),
    Column("routing", pa.string(), "static or dynamic, if the sender specified it"),
    Column("shown_sender", pa.string(), "GCID that the receiver sees as sender, if it is another"),
    Column("status_code", pa.string(), "status of a response, or of an error that an invoker absorbed"),
    Column("status_text", pa.string(), "text of `status_code`"),
    Column("answers_delivery", pa.int64(), "the delivery to which this is the response, which acknowledges it"),
    Column("answers_session", pa.string(), "session of the request that is answered"),
    Column("answers_journey", pa.int64(), "journey of the request that is answered"),
    Column("ends_journey", pa.int64(), "the journey that an error response of the network ends"),
    Column("ends_delivery", pa.int64(), "the delivery at which it ended"),
    Column("ends_state", pa.string(), "its final state"),
    Column("ends_reason", pa.string(), "why it ended"),
    Column("state", pa.string(), "final state of a delivery: delivered, expired, cancelled, failed or rejected"),
    Column("code", pa.string(), "stable code of a refusal"),
    Column("reason", pa.string(), "why; of an access, its kind"),
    Column("detail", pa.string(), "details as text"),
    Column("http_status", pa.int32(), "status of the HTTP response to a push; 0 = no response"),
    Column("duration_ms", pa.int64(), "duration of a push"),
    Column("delay_s", pa.float64(), "seconds until the delivery is offered again"),
    Column("lease_s", pa.float64(), "seconds for which the delivery is leased"),
    Column("object_kind", pa.string(), "kind of configuration object; `crossreference` for records and relations"),
    Column("object_key", pa.string(), "its key; of a reference the name of the map"),
    Column("object_version", pa.int64(), "its version, counted from 1"),
    Column("object_removed", pa.bool_(), "whether it was removed"),
    Column("object_value", pa.string(), "the object as JSON; only for kinds without private data"),
    Column("schema_version", pa.int32(), "number of the schema with which the row was made"),
    Column("format", pa.string(), "format to which the delivery was translated"),
    Column("batch", pa.string(), "ID of the batch that the event is about, or that a delivery joined or left"),
    Column("batch_move", pa.string(), "change of the batch: joined, closed, held, assembled, sent, suspended …"),
    Column("batch_state", pa.string(), "new state of the batch: open, closed, assembled, sent, suspended, dropped …"),
    Column("batch_version", pa.int64(), "version of the batch, increased by every change"),
    Column("batch_key", pa.string(), "the key that its members have in common"),
    Column("document_type", pa.string(), "type of a member's document, or of a batch's first: 850, ORDERS …"),
    Column("opened_at_us", pa.int64(), "arrival of its first message"),
    Column("closed_at_us", pa.int64(), "time at which it was closed"),
    Column("closed_by", pa.string(), "the criterion that closed it: count, bytes, age, schedule …"),
    Column("members", pa.int64(), "number of its messages"),
    Column("batch_bytes", pa.int64(), "bytes of their documents"),
    Column("interchange", pa.string(), "session of the interchange that was assembled from it"),
    Column("standard", pa.string(), "standard of an interchange: x12, edifact …"),
    Column(
        "control_numbers", pa.list_(pa.string()), "control numbers that it uses, as series:number or series:first-last"
    ),
    Column("verdict", pa.string(), "status that the partner reported: received, accepted, partly accepted, rejected …"),
    Column("wire_bytes", pa.int64(), "bytes on the wire; 0 = made inside the network; null in rows of older entries"),
    Column(
        "reason_code", pa.string(), "code of `reason` or `ends_reason`: push.refused …; null in rows of older entries"
    ),
)

Rows = dict[tuple[str, tuple[str, ...]], list[tuple[Any, ...]]]  # by kind and the columns that they fill

SCHEMA: pa.Schema = pa.schema([pa.field(column.name, column.type) for column in COLUMNS])


def event_batches(
    records: Iterable[tuple[int, bytes, int]], entries_per_batch: int = ENTRIES_PER_BATCH
) -> Iterator[pa.RecordBatch]:
    """Yield the events of entries, given as (seq, facts, length of the body or 0), in batches of one kind each.

    Batches are divided by kind because kinds share few columns: missing columns are filled with nulls for a whole batch at once.
    """
    rows: Rows = {}
    count = 0
    for seq, facts, body_length in records:
        entry = decode(facts)
        kind, columns, rows_of = EVENTS[type(entry)]
        told = list(rows_of(seq, entry, body_length))
        if told:
            rows.setdefault((kind, columns), []).extend(told)
        of_batches = batch_rows(seq, entry, len(told))
        if of_batches:
            rows.setdefault((kind, BATCH_COLUMNS), []).extend(of_batches)
        count += 1
        if count >= entries_per_batch:
            yield from _batches(rows)
            rows, count = {}, 0
    yield from _batches(rows)


def _batches(rows: Rows) -> Iterator[pa.RecordBatch]:
    for (kind, columns), events in rows.items():
        yield _batch(kind, columns, events)


def _batch(kind: str, names: tuple[str, ...], events: list[tuple[Any, ...]]) -> pa.RecordBatch:
    values = dict(zip(names, zip(*events, strict=True), strict=True))
    given = {name: pa.array(column, SCHEMA.field(name).type) for name, column in values.items()}
    given["at"] = given["at_us"].cast(pa.timestamp("us", "UTC"))
    given["day"] = pc.cast(given["at"], pa.date32())
    given["kind"] = pa.repeat(pa.scalar(kind), len(events))
    given["schema_version"] = pa.repeat(pa.scalar(SCHEMA_VERSION, pa.int32()), len(events))
    arrays = [given[field.name] if field.name in given else pa.nulls(len(events), field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
