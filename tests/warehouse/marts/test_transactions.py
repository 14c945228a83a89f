"""Transactions: one row each, with the responses, errors and durations that a plain reading of the journal gives."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from postroad.core.model.delivery import DeliveryState
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import MessagePosted
from postroad.core.model.message import MessageType
from postroad.warehouse.marts.transactions import transactions
from tests.warehouse.conftest import Week

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WORST_FIRST = (
    DeliveryState.QUEUED,
    DeliveryState.FAILED,
    DeliveryState.EXPIRED,
    DeliveryState.REJECTED,
    DeliveryState.CANCELLED,
)


@pytest.fixture(scope="module")
def rows(histories: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict() for row in transactions(histories).collect()]


def plain(week: Week) -> dict[str, dict[str, Any]]:
    """The same, message by message."""
    messages: defaultdict[str, list[tuple[int, MessagePosted]]] = defaultdict(list)
    for seq, post in week.books.posted.items():
        messages[post.transaction].append((seq, post))
    return {transaction: _told(posts, week) for transaction, posts in messages.items()}


def _told(posts: list[tuple[int, MessagePosted]], week: Week) -> dict[str, Any]:
    [(seq, opening)] = [(seq, post) for seq, post in posts if post.answers is None]
    answers = [post for _, post in posts if post.answers is not None]
    given = [post for post in answers if post.form != "network"]
    numbers = [delivery_number(seq, place) for place, copy in enumerate(opening.copies) if not copy.code]
    ends = [week.books.ended(number) for number in numbers]
    errors = sum(post.status is not None for post in given)
    return {
        "sender": opening.sender,
        "copies": len(opening.copies),
        "refused_copies": len(opening.copies) - len(numbers),
        "responses": len(given),
        "network_errors": len(answers) - len(given),
        "errors": errors,
        "bytes": opening.size + sum(post.size for post in answers),
        "response_us": max((max(0, post.at_us - opening.at_us) for post in given), default=None),
        "status": _status(opening, ends, errors),
    }


def _status(opening: MessagePosted, ends: list[DeliveryState], errors: int) -> str:
    if not ends:
        return "refused"
    for worst in WORST_FIRST:
        if worst in ends:
            return "under way" if worst is DeliveryState.QUEUED else worst.name.lower()
    if errors:
        return "error"
    return "answered" if opening.type is MessageType.REQUEST else "delivered"


@pytest.mark.req("P2")
def test_there_is_one_row_for_each_transaction(rows: list[dict[str, Any]], week: Week) -> None:
    found = [row["transaction"] for row in rows]
    assert len(found) == len(set(found))
    assert set(found) == {post.transaction for post in week.books.posted.values()}


@pytest.mark.req("P2")
def test_they_are_what_a_plain_reading_gives(rows: list[dict[str, Any]], week: Week) -> None:
    expected = plain(week)
    for row in rows:
        told = expected[row["transaction"]]
        assert {name: row[name] for name in told} == told
    assert {row["status"] for row in rows} >= {"answered", "delivered", "error", "expired"}


def test_durations_are_never_negative_though_clocks_disagree(rows: list[dict[str, Any]], week: Week) -> None:
    durations = [row[name] for row in rows for name in ("delivery_us", "response_us", "duration_us")]
    assert min(duration for duration in durations if duration is not None) >= 0
    disagreeing = [leg for leg in week.books.legs.values() if leg.leases and leg.leases[0].at_us < leg.queued_at_us]
    assert disagreeing  # otherwise nothing was tested
