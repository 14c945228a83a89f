"""The mart ``batches``: one row per batch with what became of it, however the events about it were landed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from postroad.core.batching.moves import (
    add_member,
    close_batch,
    drop_batch,
    mark_assembled,
    mark_sent,
    open_batch,
    suspend_batch,
)
from postroad.core.model import ids
from postroad.core.model.batch import Batch, BatchMember, Criterion
from postroad.core.model.ids import delivery_number
from postroad.core.model.interchange import AnsweredMember, AssembledInterchange, DrawnNumber
from postroad.core.model.journal import (
    BatchesChanged,
    DeliveriesAcknowledged,
    DeliveriesEnded,
    DeliveriesLeased,
    DeliveryAttempted,
    Entry,
    InterchangeAnswered,
    MessagePosted,
    encode,
)
from postroad.core.model.message import MessageType
from postroad.core.model.part_facts import PartFacts
from postroad.core.model.route import Copy, Hop
from postroad.ports import NewRecord
from postroad.warehouse.landing.log import SCHEMA
from postroad.warehouse.landing.log_frame import with_all_columns
from postroad.warehouse.pipeline import TABLES, refresh
from postroad.warehouse.staging.days import touched_days
from postroad.warehouse.store.delta import DeltaStore
from tests.warehouse.conftest import landed
from tests.warehouse.pipeline.test_refresh import contents, land

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SENDER, PORT, PARTNER, SPLITTER = "a" * 16, "b" * 16, "c" * 16, "d" * 16
MONDAY_US = int(datetime(2026, 1, 5, 17, tzinfo=UTC).timestamp() * 1_000_000)
SECOND_US, HOUR_US = 1_000_000, 3_600_000_000
SOME = [table for table in TABLES if table.name in ("message_histories", "batches")]


def batch_id(at_us: int, number: int) -> str:
    return ids.short(at_us, bytes([number] * 4))


def posted(at_us: int, sender: str, to: str, made: AssembledInterchange | None = None) -> MessagePosted:
    session = ids.session(at_us, bytes(10))
    return MessagePosted(
        at_us=at_us, session=session, transaction=session, sender=sender, type=MessageType.NOTIFICATION, topic="orders",
        size=100, form="json", expires_at_us=0, directory=1, parts=(PartFacts("1", "text/plain", 90),),
        copies=(Copy(to, (Hop(to),)),), assembled=made,
    )  # fmt: skip


def gathered(batch: Batch, at_us: int, *deliveries: int) -> tuple[Batch, BatchesChanged]:
    members = tuple(BatchMember(number=number, bytes=90, kind="850") for number in deliveries)
    for member in members:
        batch = add_member(batch, member, at_us)
    batch = replace(batch, version=batch.version + 1)
    return batch, BatchesChanged(at_us, PORT, PORT, "joined", (batch,), batch.id, members)


def story() -> Iterator[Entry]:
    """Two messages go in the evening, after a push without success, and one is rejected the next day; a third is dropped."""
    first = replace(open_batch(batch_id(MONDAY_US, 1), ("group",), MONDAY_US, kind="850"), service=PORT)
    yield posted(MONDAY_US, SENDER, PORT)  # entry 1
    yield posted(MONDAY_US + 10 * SECOND_US, SENDER, PORT)
    first, entry = gathered(first, MONDAY_US, delivery_number(1, 0))
    yield entry
    first, entry = gathered(first, MONDAY_US + 10 * SECOND_US, delivery_number(2, 0))
    yield entry
    closing_us = MONDAY_US + 20 * SECOND_US
    first = close_batch(first, Criterion.SCHEDULE, "the schedule", closing_us)
    yield BatchesChanged(closing_us, PORT, PORT, "closed", (first,))
    first = mark_assembled(first, ids.session(closing_us, bytes(10)), closing_us)
    numbers = (DrawnNumber("x12:A:B:interchange", 5),)
    yield posted(closing_us, PORT, PARTNER, AssembledInterchange("x12", numbers, first))  # entry 6
    yield DeliveriesLeased(closing_us, PARTNER, 30.0, (delivery_number(6, 0),))
    yield DeliveryAttempted(closing_us, PARTNER, (delivery_number(6, 0),), 503, 10, "it answered 503", 4.0)
    yield DeliveriesLeased(closing_us, PARTNER, 30.0, (delivery_number(6, 0),))
    yield DeliveriesAcknowledged(closing_us + 6 * SECOND_US, PARTNER, (delivery_number(6, 0),))
    members = (delivery_number(1, 0), delivery_number(2, 0))
    yield DeliveriesAcknowledged(
        closing_us + 7 * SECOND_US, PORT, members, (), mark_sent(first, closing_us + 7 * SECOND_US)
    )
    second = replace(open_batch(batch_id(MONDAY_US + HOUR_US, 2), ("group",), MONDAY_US + HOUR_US), service=PORT)
    yield posted(MONDAY_US + HOUR_US, SENDER, PORT)  # entry 12
    second, entry = gathered(second, MONDAY_US + HOUR_US, delivery_number(12, 0))
    yield entry
    second = suspend_batch(second, "nobody ended it", MONDAY_US + 2 * HOUR_US, Criterion.UNFINISHED)
    yield BatchesChanged(MONDAY_US + 2 * HOUR_US, PORT, PORT, "suspended", (second,))
    rejected = (AnsweredMember(delivery_number(2, 0), "rejected", ("BEG",)),)
    yield InterchangeAnswered(MONDAY_US + 20 * HOUR_US, SPLITTER, "ff", "x12", first.id, "received")
    yield InterchangeAnswered(MONDAY_US + 21 * HOUR_US, SPLITTER, "fe", "x12", first.id, "partly accepted", rejected)
    late_us = MONDAY_US + 30 * HOUR_US
    gone = drop_batch(second, "dropped by ada", late_us)
    yield DeliveriesEnded(late_us, "ada@acme", "failed", "dropped by ada", (delivery_number(12, 0),), (), gone)


def records() -> list[NewRecord]:
    return [NewRecord(encode(entry), b"x" if isinstance(entry, MessagePosted) else None) for entry in story()]


def found(store: DeltaStore) -> list[dict[str, Any]]:
    return sorted(contents(store, "batches"), key=lambda row: int(row["opened_at_us"]))


@pytest.mark.req("B7", "P2")
def test_a_batch_is_a_row_with_all_that_became_of_it(spark: SparkSession, tmp_path: Path) -> None:
    store = DeltaStore(spark, tmp_path)
    land(store, spark, records())
    [renewed] = [one for one in refresh(store, SOME) if one.table == "batches"]
    assert renewed.days == (date(2026, 1, 5),)
    evening, unfinished = found(store)
    assert (evening["service"], evening["day"], evening["document_type"]) == (PORT, date(2026, 1, 5), "850")
    assert (evening["state"], evening["closed_by"], evening["members"], evening["bytes"]) == (
        "sent",
        "schedule",
        2,
        180,
    )
    assert (evening["gathering_us"], evening["member_waiting_us"]) == (20 * SECOND_US, 15 * SECOND_US)
    assert (evening["sending_us"], evening["attempts"]) == (7 * SECOND_US, 2)
    assert (evening["standard"], evening["control_numbers"]) == ("x12", ["x12:A:B:interchange:5"])
    assert evening["interchange"] == ids.session(evening["closed_at_us"], bytes(10))
    assert (evening["verdict"], evening["rejected_members"]) == ("partly accepted", 1)
    assert (unfinished["state"], unfinished["reason"]) == ("dropped", "dropped by ada")
    assert (unfinished["closed_by"], unfinished["over_at_us"]) == ("unfinished", MONDAY_US + 30 * HOUR_US)
    assert (unfinished["attempts"], unfinished["assembled_at_us"]) == (0, None)


@pytest.mark.req("P2")
def test_what_happens_the_next_day_touches_the_day_of_the_batch(spark: SparkSession) -> None:
    entries = records()
    touched = touched_days(landed(spark, entries[14:], 15), landed(spark, entries), None)
    assert touched.batches == {date(2026, 1, 5)}
    assert touched.first_batch_seq == 3  # by which the first of them was opened


def test_a_log_from_before_there_were_batches_has_none(spark: SparkSession) -> None:
    since = SCHEMA.names[SCHEMA.names.index("batch") :]
    old = with_all_columns(landed(spark, records()[:2]).drop(*since))
    assert old.columns == SCHEMA.names
    assert old.where("batch is not null").collect() == []
