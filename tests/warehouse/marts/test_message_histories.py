"""Histories are what the plainest reading of the journal says, copy by copy and stop by stop, and what `trace` tells."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from postroad.core.audit.history.builder import build_history
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import Entry, InvocationReturned, MessagePosted
from postroad.core.visibility.pseudonyms import Pseudonyms
from postroad.testing.simulation.recorded_history import RecordedLeg
from tests.warehouse.conftest import Week

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@pytest.fixture(scope="module")
def rows(histories: DataFrame) -> dict[tuple[int, int], dict[str, Any]]:
    return {(row["message_seq"], row["copy"]): row.asDict(recursive=True) for row in histories.collect()}


@pytest.mark.req("P2")
def test_there_is_one_row_for_each_copy(histories: DataFrame, week: Week) -> None:
    copies = [(seq, place) for seq, post in week.books.posted.items() for place in range(len(post.copies))]
    assert histories.count() == len(copies)
    assert {(row["message_seq"], row["copy"]) for row in histories.select("message_seq", "copy").collect()} == set(
        copies
    )


@pytest.mark.req("P2")
def test_states_are_those_of_the_books(rows: dict[tuple[int, int], dict[str, Any]], week: Week) -> None:
    for (seq, place), row in rows.items():
        post = week.books.posted[seq]
        assert row["code"] == (post.copies[place].code or None)
        if post.copies[place].code:
            assert row["state"] is None
            assert row["stops"] is None
            continue
        number = delivery_number(seq, place)
        ended = week.books.ended(number)
        followed = number in week.books.journeys
        waiting = "under way" if followed else "queued"
        assert row["state"] == (waiting if ended is DeliveryState.QUEUED else ended.name.lower())
        assert (row["journey"] == number) == followed


@pytest.mark.req("P2")
def test_stops_are_those_of_the_books(rows: dict[tuple[int, int], dict[str, Any]], week: Week) -> None:
    copies: defaultdict[tuple[int, int], list[RecordedLeg]] = defaultdict(list)
    for leg in sorted(week.books.legs.values(), key=lambda leg: (leg.hop, leg.number)):
        copies[leg.message_seq, leg.copy].append(leg)
    some_in_transit = 0
    for key, row in rows.items():
        legs = copies[key]
        assert [stop["delivery"] for stop in row["stops"] or []] == [leg.number for leg in legs]
        some_in_transit += len(legs) > 1
        for stop, leg in zip(row["stops"] or [], legs, strict=True):
            assert stop["service"] == leg.recipient
            assert stop["hop"] == leg.hop
            assert stop["state"] == leg.state.name.lower()
            assert stop["attempts"] == len(leg.leases)
            assert stop["handed_out_at_us"] == min((lease.at_us for lease in leg.leases), default=None)
            assert stop["settled_at_us"] == (leg.ends[0].at_us if leg.ends else None)
            assert stop["queued_at_us"] == leg.queued_at_us
    assert some_in_transit > 50


@pytest.mark.req("P2")
def test_histories_are_what_trace_tells(rows: dict[tuple[int, int], dict[str, Any]], week: Week) -> None:
    transactions = sorted({post.transaction for post in week.books.posted.values()})[::40]
    assert len(transactions) > 30
    for transaction in transactions:
        told = build_history(
            _entries_of(week, transaction), week.directory, None, transaction, Pseudonyms(b"only for tests")
        )
        assert told is not None
        for message in told.messages:
            for place, copy in enumerate(message.copies):
                row = rows[message.seq, place]
                assert (row["state"] or "") == copy.state
                assert [stop["state"] for stop in row["stops"] or []] == [stop.state for stop in copy.stops]
                attempts = [sum(event.what == "handed out" for event in stop.events) for stop in copy.stops]
                assert [stop["attempts"] for stop in row["stops"] or []] == attempts


def _entries_of(week: Week, transaction: str) -> list[tuple[int, Entry]]:
    """Every entry that has to do with a transaction, found by reading all of them."""
    named = {
        seq
        for seq, entry in week.entries.items()
        if isinstance(entry, MessagePosted | InvocationReturned) and entry.transaction == transaction
    }
    numbers = {leg.number for leg in week.books.legs.values() if leg.number >> 16 in named}
    return [
        (seq, entry)
        for seq, entry in week.entries.items()
        if seq in named or not numbers.isdisjoint(getattr(entry, "deliveries", ()))
    ]


def test_every_row_is_of_the_day_of_its_post(rows: dict[tuple[int, int], dict[str, Any]], week: Week) -> None:
    for (seq, _), row in rows.items():
        post = week.books.posted[seq]
        assert row["day"] == datetime.fromtimestamp(post.at_us // 1_000_000, UTC).date()
        began = datetime.fromtimestamp(int(post.transaction[:12], 16) / 1_000, UTC).date()
        assert row["transaction_day"] == began
        assert row["posted_at_us"] == post.at_us


def test_an_end_has_its_reason(rows: dict[tuple[int, int], dict[str, Any]]) -> None:
    ended = [row for row in rows.values() if row["state"] in ("expired", "failed", "rejected", "cancelled")]
    assert len(ended) > 5
    assert all(row["reason"] for row in ended)
    assert all(row["reason"] is None for row in rows.values() if row["state"] == "delivered")
