"""Arrivals folded into batches one after the other, files of members, and batches of nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from postroad.core.batching import ArrivingMessage
from postroad.core.model.batch import Batch, BatchMember, BatchState, Criterion
from postroad.core.model.batch_policy import BatchPolicy, Controlled, Empty, Port, SortKey
from postroad.core.model.rule import MessageSection, ValueLocation
from postroad.core.routing.conditions.places import place_key
from postroad.warehouse.bulk.batch.folding import (
    BatchArrival,
    BatchFolding,
    FinishedBatch,
    JoinedBatch,
    make_empty_batches,
)
from postroad.warehouse.bulk.batch.member_files import BatchMembers, MembersWriter
from postroad.warehouse.bulk.operation import COLUMNS

NOON_US = int(datetime(2026, 1, 5, 12, tzinfo=UTC).timestamp() * 1_000_000)
SECOND_US = 1_000_000
TOTAL = ValueLocation(where=MessageSection.HEADER, path="properties.total")


def coming(*seconds: int, key: str = "a", **more: Any) -> Iterator[BatchArrival]:
    for number, second in enumerate(seconds):
        member = BatchMember(number=number, bytes=10)
        yield BatchArrival(
            ArrivingMessage(member=member, key=("group", key), **more), NOON_US + second * SECOND_US, (key, number)
        )


def folded(folding: BatchFolding, come: Iterable[BatchArrival]) -> list[tuple[Batch, list[Any]]]:
    """The batches, each with what joined it."""
    found: list[tuple[Batch, list[Any]]] = []
    members: list[JoinedBatch] = []
    for event in folding.batches(come):
        if isinstance(event, FinishedBatch):
            assert {one.batch for one in members} <= {event.batch.id}
            found.append((event.batch, [one.come.row for one in members]))
            members = []
        else:
            members.append(event)
    assert members == []
    return found


@pytest.mark.req("B1", "P5")
def test_each_key_is_folded_by_itself_and_time_goes_on_to_the_end() -> None:
    folding = BatchFolding(policy=BatchPolicy(count=3, idle_s=60), port=Port())
    come = [*coming(0, 10, 20, 30, 200), *coming(5, 7, key="b")]
    batches = folded(folding, come)
    assert [[number for _, number in rows] for _, rows in batches] == [[0, 1, 2], [3], [4], [0, 1]]
    assert [batch.closed_by for batch, _ in batches] == [
        Criterion.COUNT,
        Criterion.IDLE,
        Criterion.IDLE,
        Criterion.IDLE,
    ]
    assert [(batch.closed_at_us - NOON_US) // SECOND_US for batch, _ in batches] == [20, 90, 260, 67]
    assert len({batch.id for batch, _ in batches}) == 4
    assert batches == folded(folding, come)  # whoever does it, whenever


def test_what_nothing_closes_stays_open_unless_it_is_asked_for() -> None:
    policy = BatchPolicy(count=3, age_s=100)
    until_us = NOON_US + 50 * SECOND_US
    [(batch, rows)] = folded(BatchFolding(policy=policy, port=Port(), until_us=until_us), coming(0, 1))
    assert (batch.state, len(rows)) == (BatchState.OPEN, 2)
    [(batch, _)] = folded(BatchFolding(policy=policy, port=Port(), until_us=until_us, release=True), coming(0, 1))
    assert (batch.state, batch.closed_by) == (BatchState.CLOSED, Criterion.REQUEST)
    [(batch, _)] = folded(
        BatchFolding(policy=BatchPolicy(controlled=Controlled()), port=Port()), coming(0, controlled=True)
    )
    assert batch.state is BatchState.SUSPENDED


@pytest.mark.req("B1")
def test_an_empty_batch_is_due_where_nothing_was_open() -> None:
    policy = BatchPolicy(cron=("0 * * * *",), empty=Empty.SEND)
    batches = [batch for batch, _ in folded(BatchFolding(policy=policy, port=Port()), coming(60, 3 * 3600 + 60))]
    found = make_empty_batches(policy, Port(), batches, NOON_US + 5 * 3600 * SECOND_US)
    assert [(batch.closed_at_us - NOON_US) // (3600 * SECOND_US) for batch in found] == [2, 3, 5]
    assert {(batch.count, batch.state) for batch in found} == {(0, BatchState.CLOSED)}
    assert make_empty_batches(BatchPolicy(cron=("0 * * * *",)), Port(), batches, NOON_US + 3600 * SECOND_US) == []


def row(number: int, total: str) -> dict[str, Any]:
    sort = [{"place": place_key(TOTAL), "text": total}] if total else []
    known = {field.name: "" if str(field.type) == "string" else 0 for field in COLUMNS}
    return known | {
        "position": number,
        "bytes": 1,
        "kind": "850",
        "sort": sort,
        "aside": "f",
        "offset": number,
        "declared": "",
    }


@pytest.mark.req("B1")
def test_members_of_one_batch_after_the_other_are_read_in_the_order_of_their_interchange(tmp_path: Path) -> None:
    writer = MembersWriter(str(tmp_path / "members"))
    for number in range(10_000):  # more than are written at a time
        writer.add(row(number, str(number)))
    first = writer.finish()
    for number, total in enumerate(("20", "", "100", "3")):
        writer.add(row(number, total))
    second = writer.finish()
    writer.close()
    assert [one["position"] for one in BatchMembers(first, BatchPolicy())] == list(range(10_000))
    sorted_by = BatchPolicy(sort_by=(SortKey(place=TOTAL, descending=True),))
    assert [one["position"] for one in BatchMembers(second, sorted_by)] == [3, 0, 2, 1]  # as texts
    assert [one["position"] for one in BatchMembers(second, BatchPolicy())] == [0, 1, 2, 3]
