"""Entries become rows: every kind, every event of it, and nothing that does not belong in a warehouse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from postroad.core.batching.moves import add_member, close_batch, mark_assembled, mark_sent, open_batch
from postroad.core.model.batch import Batch, BatchMember, Criterion
from postroad.core.model.ids import delivery_number
from postroad.core.model.interchange import AnsweredMember, AssembledInterchange, DrawnNumber
from postroad.core.model.journal import (
    KINDS,
    AccessRecorded,
    AnsweredDelivery,
    BatchesChanged,
    ConfigurationChanged,
    Context,
    Copy,
    DeliveriesAcknowledged,
    DeliveriesEnded,
    DeliveriesLeased,
    DeliveriesReleased,
    DeliveryAttempted,
    DeliveryTranslated,
    Entry,
    Hop,
    InterchangeAnswered,
    InvocationReturned,
    JourneyEnding,
    MessagePosted,
    MessageRefused,
    ObjectChange,
    encode,
)
from postroad.core.model.message import MessageType, Status
from postroad.core.model.part_facts import MessageArrival, PartFacts
from postroad.core.model.reason import Reason
from postroad.testing.random_journals.journals import random_journals
from postroad.warehouse.landing.events import EVENTS
from postroad.warehouse.landing.log import SCHEMA, SCHEMA_VERSION, event_batches

A, B, C = "a" * 16, "b" * 16, "c" * 16
AT_US = 1_790_000_000_123_456


def rows_of(entries: Sequence[Entry], body_length: int = 0, first_seq: int = 1) -> list[dict[str, Any]]:
    """The rows without what is null, in order."""
    records = [(seq, encode(entry), body_length) for seq, entry in enumerate(entries, first_seq)]
    rows = [row for batch in event_batches(records) for row in batch.to_pylist()]
    return [
        {name: value for name, value in row.items() if value is not None}
        for row in sorted(rows, key=lambda row: (row["seq"], row["ordinal"]))
    ]


def posted(*copies: Copy, **more: Any) -> MessagePosted:
    given: dict[str, Any] = {
        "at_us": AT_US, "session": "5e55", "transaction": "7a5c", "sender": A, "type": MessageType.REQUEST,
        "topic": "orders", "size": 1300, "form": "json", "expires_at_us": 0, "directory": 4,
        "parts": (PartFacts("p", "text/xml", 90),), "copies": copies,
    }  # fmt: skip
    return MessagePosted(**(given | more))


def test_every_kind_of_entry_has_rows() -> None:
    assert {events.kind for events in EVENTS.values()} == set(KINDS)
    for events in EVENTS.values():
        assert set(events.columns) <= set(SCHEMA.names)
        assert len(set(events.columns)) == len(events.columns)


def test_a_post_gives_a_row_per_copy() -> None:
    paid = Context(id=2, parent=1, payer=C, rule=f"{C}/check")
    copies = (
        Copy("acme/orders", (Hop(C, (), A, paid), Hop(B)), logical=(Hop(A),)),
        Copy("nobody", code="recipient.unknown", detail="The recipient does not exist"),
    )
    first, second = rows_of([posted(*copies, handle="h-1", explained=10)], body_length=100, first_seq=7)
    assert first["kind"] == "message.posted"
    assert (first["seq"], first["ordinal"], first["about"], first["message_seq"], first["copy"]) == (7, 0, "copy", 7, 0)
    assert first["at"] == datetime.fromtimestamp(AT_US // 1_000_000, UTC).replace(microsecond=123_456)
    assert first["day"] == first["at"].date()
    assert (first["service"], first["recipient"], first["named"]) == (C, B, "acme/orders")
    assert first["delivery"] == first["journey"] == delivery_number(7, 0)
    assert (first["size"], first["body_bytes"], first["parts"]) == (1300, 90, 1)
    assert first["hops"] == [
        {"service": C, "invoker": A, "payer": C, "rule": f"{C}/check", "context": 2, "parent": 1},
        {"service": B, "invoker": None, "payer": None, "rule": None, "context": None, "parent": None},
    ]
    assert [hop["service"] for hop in first["logical"]] == [A]
    assert "expires_at_us" not in first
    assert "code" not in first
    assert (second["ordinal"], second["code"], second["detail"]) == (
        1,
        "recipient.unknown",
        "The recipient does not exist",
    )
    assert "delivery" not in second
    assert second["handle"] == "h-1"
    assert second["schema_version"] == SCHEMA_VERSION


def test_a_notification_straight_to_its_recipient_has_no_journey() -> None:
    [row] = rows_of([posted(Copy("b", (Hop(B),)), type=MessageType.NOTIFICATION)])
    assert "journey" not in row


def test_a_response_names_what_it_answers_and_belongs_to_the_requests_journey() -> None:
    response = posted(
        Copy("a", (Hop(A),)), type=MessageType.RESPONSE, sender=B, answers=AnsweredDelivery(65536, "5e50", "h", 65536),
        status=Status("42", "out of stock"),
    )  # fmt: skip
    [row] = rows_of([response], first_seq=9)
    assert (row["answers_delivery"], row["answers_session"], row["answers_journey"]) == (65536, "5e50", 65536)
    assert (row["delivery"], row["journey"]) == (delivery_number(9, 0), 65536)
    assert (row["status_code"], row["status_text"]) == ("42", "out of stock")


def test_an_error_response_of_the_network_says_what_it_ends() -> None:
    ending = JourneyEnding(65536, 65537, "expired", "nobody took it", Reason("route.expired"))
    [row] = rows_of([posted(Copy("a", (Hop(A),)), ends=ending)])
    assert (row["ends_journey"], row["ends_delivery"]) == (65536, 65537)
    assert (row["ends_state"], row["ends_reason"]) == ("expired", "nobody took it")
    assert row["reason_code"] == "route.expired"


def test_a_return_answers_one_delivery_and_makes_the_next() -> None:
    entry = InvocationReturned(
        AT_US, 65536, "5e55", "7a5c", C, 1, 0, 1, B, 1400, 0, (PartFacts("p", "text/xml", 90),), (), 65536
    )
    [row] = rows_of([entry], body_length=90, first_seq=2)
    assert (row["by"], row["answers_delivery"]) == (C, 65536)
    assert (row["service"], row["delivery"], row["hop"], row["message_seq"]) == (B, delivery_number(2, 0), 1, 1)
    assert "hops" not in row


def test_deliveries_and_journeys_that_end_are_rows_of_their_own() -> None:
    acknowledged, ended = (
        DeliveriesAcknowledged(AT_US, B, (1, 2), (1,)),
        DeliveriesEnded(AT_US, "network", "expired", "", (3,), why=Reason("delivery.expired")),
    )
    rows = rows_of([acknowledged, ended])
    told = [(row["about"], row.get("delivery"), row.get("journey"), row["state"]) for row in rows]
    assert told == [
        ("delivery", 1, None, "delivered"),
        ("delivery", 2, None, "delivered"),
        ("journey", None, 1, "delivered"),
        ("delivery", 3, None, "expired"),
    ]
    assert [row.get("reason_code") for row in rows] == [None, None, None, "delivery.expired"]


def test_pushes_and_refusals_keep_their_figures() -> None:
    push = DeliveryAttempted(AT_US, B, (65536,), 503, 120, "it answered 503", 4.0, Reason("push.server-error"))
    refusal = MessageRefused(AT_US, "5e55", "", "authentication.required", "Send a key", 10, "json", "", ("x", "y"))
    tried, refused = rows_of([push, refusal])
    assert (tried["http_status"], tried["duration_ms"], tried["delay_s"], tried["service"]) == (503, 120, 4.0, B)
    assert (tried["reason"], tried["reason_code"]) == ("it answered 503", "push.server-error")
    assert (refused["code"], refused["named"], refused["size"]) == ("authentication.required", "x, y", 10)
    assert "sender" not in refused


def test_a_translation_says_from_what_to_what_and_what_it_left_out() -> None:
    dropped = ("the preamble", "the options of record 2")
    [row] = rows_of([DeliveryTranslated(AT_US, B, 65536, "dime", "mime", dropped)])
    assert (row["kind"], row["about"], row["delivery"]) == ("delivery.translated", "delivery", 65536)
    assert (row["by"], row["service"], row["form"], row["format"]) == (B, B, "dime", "mime")
    assert row["detail"] == "the preamble; the options of record 2"


def test_a_release_says_of_whom_why_and_how_many() -> None:
    [row] = rows_of([DeliveriesReleased(AT_US, "ada@acme", B, "on request", 65536, 3)])
    assert (row["kind"], row["about"], row["by"], row["service"]) == ("delivery.released", "release", "ada@acme", B)
    assert (row["reason"], row["detail"]) == ("on request", "3 deliveries, up to 65536")
    assert "delivery" not in row


def batch_of(*members: BatchMember) -> Batch:
    batch = replace(open_batch("b1", ("group", "850"), AT_US, kind="850"), service=B)
    for member in members:
        batch = add_member(batch, member, AT_US)
    return batch


def test_those_who_join_a_batch_are_rows_and_the_batch_is_told_whole() -> None:
    members = (BatchMember(number=65536, bytes=90, kind="850"), BatchMember(number=131072, bytes=10, kind="860"))
    batch = close_batch(batch_of(*members), Criterion.COUNT, "2 of 2 messages", AT_US + 5)
    first, second, whole = rows_of([BatchesChanged(AT_US, B, B, "joined", (batch,), "b1", members)])
    assert (first["about"], first["delivery"], first["batch"], first["size"]) == ("delivery", 65536, "b1", 90)
    assert (second["document_type"], second["batch_move"], second["service"]) == ("860", "joined", B)
    assert (whole["about"], whole["ordinal"], whole["kind"], whole["batch"]) == ("batch", 2, "batch.changed", "b1")
    assert (whole["members"], whole["batch_bytes"], whole["batch_state"]) == (2, 100, "closed")
    assert (whole["opened_at_us"], whole["closed_at_us"], whole["closed_by"]) == (AT_US, AT_US + 5, "count")
    assert (whole["reason"], whole["batch_key"], whole["service"]) == ("2 of 2 messages", "group/850", B)


def test_an_interchange_and_its_fate_tell_of_the_batch() -> None:
    batch = close_batch(batch_of(BatchMember(number=65536, bytes=90)), Criterion.COUNT, "", AT_US)
    made = mark_assembled(batch, "5e55", AT_US)
    numbers = (DrawnNumber("x12:A:B:interchange", 7), DrawnNumber("x12:A:B:group", 9), DrawnNumber("x12:A:B:group", 10))
    entries: list[Entry] = [
        posted(Copy("b", (Hop(C),)), assembled=AssembledInterchange("x12", numbers, made)),
        DeliveriesAcknowledged(AT_US + 9, B, (65536,), (), mark_sent(made, AT_US + 9)),
        DeliveriesEnded(AT_US, B, "failed", "taken out", (65536,), (), batch),
    ]
    copy, told, member, over, left, remaining = rows_of(entries)
    assert (copy["about"], told["about"], told["batch_state"], told["interchange"]) == (
        "copy",
        "batch",
        "assembled",
        "5e55",
    )
    assert "batch" not in copy
    assert (told["standard"], told["session"], told["kind"]) == ("x12", "5e55", "message.posted")
    assert told["control_numbers"] == ["x12:A:B:interchange:7", "x12:A:B:group:9-10"]
    assert (member["about"], member["batch"], member["state"]) == ("delivery", "b1", "delivered")
    assert (over["about"], over["batch_state"], over["batch_move"], over["at_us"]) == (
        "batch",
        "sent",
        "sent",
        AT_US + 9,
    )
    assert (left["batch"], left["state"], remaining["batch_move"]) == ("b1", "failed", "left")


def test_a_partners_answer_is_about_the_whole_and_about_who_differs() -> None:
    rejected = AnsweredMember(65536, "rejected", ("segment BEG", "code 7"))
    whole, one = rows_of([InterchangeAnswered(AT_US, C, "5e99", "x12", "b1", "partly accepted", (rejected,), "997 12")])
    assert (whole["about"], whole["batch"], whole["verdict"], whole["detail"]) == (
        "answer",
        "b1",
        "partly accepted",
        "997 12",
    )
    assert "delivery" not in whole
    assert (one["delivery"], one["verdict"], one["detail"], one["session"]) == (
        65536,
        "rejected",
        "segment BEG; code 7",
        "5e99",
    )


def test_how_a_message_was_wrapped_is_no_part_of_its_documents() -> None:
    entry = posted(Copy("b", (Hop(B),)), explained=10, form="dime", came=MessageArrival(setting=25))
    [row] = rows_of([entry], body_length=125)
    assert (row["form"], row["body_bytes"]) == ("dime", 90)


def test_objects_are_shown_and_credentials_are_not() -> None:
    changes = (
        ObjectChange("service", A, 3, {"name": "Orders"}),
        ObjectChange("credential", "k1", 1, {"secret": "argon2 hash"}),
        ObjectChange("person", "x@y", 1, {"password": "argon2 hash"}),
        ObjectChange("kind of tomorrow", "z", 1, {"secret": "argon2 hash"}),
        ObjectChange("rule", "r", 2, None),
    )
    rows = rows_of([ConfigurationChanged(AT_US, "op@acme", "tidy", changes)])
    assert [row.get("object_value") for row in rows] == ['{"name":"Orders"}', None, None, None, None]
    assert [row["object_removed"] for row in rows] == [False, False, False, False, True]
    assert not any("argon2" in str(row) for row in rows)


def test_an_entry_about_nothing_still_leaves_a_row() -> None:
    entries: list[Entry] = [
        posted(), DeliveriesLeased(AT_US, B, 30.0, ()), DeliveriesAcknowledged(AT_US, B, ()),
        ConfigurationChanged(AT_US, B, "", ()), AccessRecorded(AT_US, B, "login"), BatchesChanged(AT_US, B, B, "held", ()),
    ]  # fmt: skip
    assert [row["seq"] for row in rows_of(entries)] == [1, 2, 3, 4, 5, 6]


def _plain_rows(batches: Iterator[pa.RecordBatch]) -> list[dict[str, Any]]:
    """Rows without what Python cannot show: made-up times lie beyond the year 9999."""
    return [row for batch in batches for row in batch.drop_columns(["at", "day"]).to_pylist()]


@pytest.mark.req("P1")
@settings(max_examples=40)
@given(random_journals())
def test_any_journal_becomes_rows_whatever_the_cut(entries: list[Entry]) -> None:
    records = [(seq, encode(entry), 0) for seq, entry in enumerate(entries, 1)]
    whole, cut = _plain_rows(event_batches(records)), _plain_rows(event_batches(records, 3))
    by_key = {(row["seq"], row["ordinal"]): row for row in whole}
    assert len(by_key) == len(whole)
    assert by_key == {(row["seq"], row["ordinal"]): row for row in cut}
    assert {row["seq"] for row in whole} == set(range(1, len(entries) + 1))
    counts = Counter(
        row["seq"] for row in whole if row["about"] == "delivery" and "delivery" in row and row["delivery"]
    )
    told = {seq: len(_deliveries(entry)) for seq, entry in enumerate(entries, 1)}
    assert counts == Counter({seq: count for seq, count in told.items() if count})


def _deliveries(entry: Entry) -> tuple[int, ...]:
    """The deliveries that an entry is about and nothing else."""
    if isinstance(entry, DeliveryTranslated):
        return (entry.delivery,)
    deliveries: tuple[int, ...] = getattr(entry, "deliveries", ())
    return deliveries


def test_every_batch_has_the_schema() -> None:
    batches = list(event_batches([(1, encode(AccessRecorded(AT_US, B, "login")), 0)]))
    assert [batch.schema for batch in batches] == [SCHEMA]
    assert list(event_batches([])) == []
