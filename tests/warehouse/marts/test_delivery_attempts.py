"""Delivery attempts: one row for each hand-out, with what came of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from postroad.core.model.journal import DeliveryAttempted
from postroad.warehouse.marts.delivery_attempts import delivery_attempts
from tests.warehouse.conftest import Week

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@pytest.fixture(scope="module")
def rows(log: DataFrame, histories: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict() for row in delivery_attempts(log, histories).collect()]


@pytest.mark.req("P2")
def test_there_is_one_row_for_each_hand_out(rows: list[dict[str, Any]], week: Week) -> None:
    expected = {
        (leg.number, attempt): lease for leg in week.books.legs.values() for attempt, lease in enumerate(leg.leases, 1)
    }
    found = {(row["delivery"], row["attempt"]): row for row in rows}
    assert len(found) == len(rows)
    assert found.keys() == expected.keys()
    for key, row in found.items():
        assert row["handed_out_at_us"] == expected[key].at_us
        assert row["leased_seq"] == expected[key].seq
        assert row["message_seq"] == week.books.legs[key[0]].message_seq


def test_failed_pushes_keep_what_the_server_said(rows: list[dict[str, Any]], week: Week) -> None:
    failed = [row for row in rows if row["outcome"] == "push failed"]
    entries = [entry for entry in week.entries.values() if isinstance(entry, DeliveryAttempted)]
    assert Counter((row["http_status"], row["duration_ms"], row["reason"]) for row in failed) == Counter(
        (entry.status, entry.duration_ms, entry.fault) for entry in entries
    )
    assert failed


def test_the_last_attempt_at_a_delivery_says_how_it_ended(rows: list[dict[str, Any]], week: Week) -> None:
    last = {row["delivery"]: row for row in sorted(rows, key=lambda row: row["attempt"])}
    for number, row in last.items():
        leg = week.books.legs[number]
        if row["outcome"] in ("acknowledged", "answered"):
            assert leg.state.name == "DELIVERED"
        elif row["outcome"] in ("expired", "failed", "rejected", "cancelled"):
            assert leg.state.name == row["outcome"].upper()
        elif row["outcome"] == "in hand":
            assert not leg.ends
    assert {row["outcome"] for row in rows} >= {"acknowledged", "answered", "lapsed", "given back", "push failed"}
