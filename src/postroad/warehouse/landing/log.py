"""The table ``log``: what the journal says, flat, one row per event.

Grain: one row per (seq, ordinal). An entry about several copies, deliveries, journeys, objects or records gives a row for each,
numbered from 0 in the order of the entry; ``about`` says which it is. Every entry gives at least one row.

    message.posted          copy (post when it has no copies): ``delivery`` is the one it makes at ``service``, unless ``code``
                            says why the copy was refused; ``recipient`` is the end of its route
    message.refused         post
    invocation.returned     copy: ``answers_delivery`` is the one answered ``by`` the in-transit service, ``delivery`` the one it
                            makes at ``service``, which is next
    delivery.leased, .returned, .attempted      delivery, at the service ``by``
    delivery.translated     delivery, at the service ``by``: ``detail`` says what ``format`` has no place for
    delivery.acknowledged, .ended               delivery; and journey for each copy that thereby came to its end
    batch.changed           delivery for each message that joined ``batch``; and batch for each that it tells of, as it is then
    interchange.answered    answer: what a partner says of the interchange of ``batch``; and of ``delivery``, where that differs
    delivery.released       release: all that waited for release at ``service`` goes; ``detail`` says how many deliveries
    configuration.changed   object
    crossreference.changed  record, relation
    access.recorded         access

Posts of interchanges, and acknowledgements and ends of all that was in a batch, have a row about the batch too, which is last.
``delivery`` therefore joins what made a delivery with what became of it. A column that means nothing for a row is null, never
empty. Rule: columns are only ever added, at the end and nullable; ``schema_version`` says which there were when a row was
made. No body, no credential and no one's personal data get here. No Spark in this module: workers import it for every batch.
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
    """A column of the table, and what its reference page says of it."""

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
        "copy, post, delivery, journey, round, object, record, relation, release, access, batch or answer",
    ),
    Column("at_us", pa.int64(), "when it happened, in microseconds since 1970 (UTC)"),
    Column("at", pa.timestamp("us", "UTC"), "the same as a timestamp"),
    Column("day", pa.date32(), "the same as a day (UTC)"),
    Column("session", pa.string(), "session of the message"),
    Column("transaction", pa.string(), "the session that began the exchange"),
    Column("message_seq", pa.int64(), "entry of the post; of `message.posted` its own"),
    Column("copy", pa.int32(), "which copy of the message, counted from 0"),
    Column("hop", pa.int32(), "which stop of the copy's route `service` is, counted from 0"),
    Column("delivery", pa.int64(), "number of the delivery that was made, or that it is about"),
    Column("journey", pa.int64(), "the copy whose journey it is, by the number of its first delivery"),
    Column("by", pa.string(), "who did it: GCID, e-mail address or `network`"),
    Column("sender", pa.string(), "GCID of the sending service"),
    Column("service", pa.string(), "GCID of the service at which the delivery is; of a reference, the map's owner"),
    Column("recipient", pa.string(), "GCID of the service at the end of the copy's route"),
    Column("named", pa.string(), "recipient as the poster wrote it; of a refused post all of them"),
    Column("type", pa.string(), "request, response, notification, acknowledgement or cancel"),
    Column("topic", pa.string(), "topic of the message"),
    Column("form", pa.string(), "wire form, or in its place bulk, push, network, python"),
    Column("handle", pa.string(), "the sender's own name for the message"),
    Column("possible_duplicate", pa.bool_(), "the poster's flag"),
    Column(
        "size",
        pa.int64(),
        "bytes that bills count: of documents and attachments; on the wire where `wire_bytes` is null",
    ),
    Column("body_bytes", pa.int64(), "bytes of documents and attachments, whether still kept or not"),
    Column("parts", pa.int32(), "number of documents and attachments"),
    Column("expires_at_us", pa.int64(), "when it expires; null = never"),
    Column("directory", pa.int64(), "version of the directory under which it was routed"),
    Column("hops", pa.list_(HOP), "the copy's route, the recipient last; of a return, only where rules changed it"),
    Column("logical", pa.list_(HOP), "services that take part in the route by their rules alone"),
    Column("routing", pa.string(), "static or dynamic, where the sender chose it"),
    Column("shown_sender", pa.string(), "GCID that the receiver sees as sender, where it is another"),
    Column("status_code", pa.string(), "status of a response, or of an error that an invoker absorbed"),
    Column("status_text", pa.string(), "the same in words"),
    Column("answers_delivery", pa.int64(), "the delivery that is answered, and thereby acknowledged"),
    Column("answers_session", pa.string(), "session of the request that is answered"),
    Column("answers_journey", pa.int64(), "journey of the request that is answered"),
    Column("ends_journey", pa.int64(), "the journey that an error response of the network ends"),
    Column("ends_delivery", pa.int64(), "the delivery at which that was"),
    Column("ends_state", pa.string(), "how it ended"),
    Column("ends_reason", pa.string(), "why"),
    Column("state", pa.string(), "final state of a delivery: delivered, expired, cancelled, failed or rejected"),
    Column("code", pa.string(), "stable code of a refusal"),
    Column("reason", pa.string(), "why; what an access was"),
    Column("detail", pa.string(), "the same in words"),
    Column("http_status", pa.int32(), "status of the HTTP answer to a push; 0 = there was none"),
    Column("duration_ms", pa.int64(), "how long a push took"),
    Column("delay_s", pa.float64(), "seconds until it is handed out again"),
    Column("lease_s", pa.float64(), "seconds for which it is handed out"),
    Column("object_kind", pa.string(), "kind of configuration object; `crossreference` for records and relations"),
    Column("object_key", pa.string(), "its key; of a reference the name of the map"),
    Column("object_version", pa.int64(), "its version, counted from 1"),
    Column("object_removed", pa.bool_(), "whether it was removed"),
    Column("object_value", pa.string(), "the object as JSON; only of kinds that hold nothing private"),
    Column("schema_version", pa.int32(), "which columns there were when the row was made"),
    Column("format", pa.string(), "format in which a translated delivery was handed out"),
    Column("batch", pa.string(), "id of the batch that it is about, or that a delivery joined or left"),
    Column("batch_move", pa.string(), "what happened to it: joined, closed, held, assembled, sent, suspended …"),
    Column("batch_state", pa.string(), "its state from then on: open, closed, assembled, sent, suspended, dropped …"),
    Column("batch_version", pa.int64(), "grows with every change of it"),
    Column("batch_key", pa.string(), "what its members have in common"),
    Column("document_type", pa.string(), "type of a member's document, or of a batch's first: 850, ORDERS …"),
    Column("opened_at_us", pa.int64(), "when its first message came"),
    Column("closed_at_us", pa.int64(), "when it was closed"),
    Column("closed_by", pa.string(), "the criterion that closed it: count, bytes, age, schedule …"),
    Column("members", pa.int64(), "messages in it"),
    Column("batch_bytes", pa.int64(), "bytes of their documents"),
    Column("interchange", pa.string(), "session of the interchange that was made of it"),
    Column("standard", pa.string(), "standard of an interchange: x12, edifact …"),
    Column(
        "control_numbers", pa.list_(pa.string()), "control numbers that it uses, as series:number or series:first-last"
    ),
    Column("verdict", pa.string(), "the partner's verdict on it: received, accepted, partly accepted, rejected …"),
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
    """The events of entries given as (seq, facts, length of the body or 0), in batches of one kind each.

    Batches are cut by kind because kinds share few columns: what a kind lacks is made null for a whole batch at once.
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
