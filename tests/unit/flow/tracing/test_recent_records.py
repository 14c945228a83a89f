"""What the follower remembers is bounded, whatever entries the journal contains."""

from __future__ import annotations

import pytest

from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import DeliveriesLeased, encode
from postroad.core.telemetry.spans import MAX_EVENTS
from postroad.flow.tracing.records import RecentRecords, StopRecord
from tests.samples.posted_entries import make_posted

MAX_WEIGHT = 1_000
POSTS = 20


def lease(*numbers: int) -> DeliveriesLeased:
    return DeliveriesLeased(at_us=1, by="a", lease_s=1.0, deliveries=numbers)


def fill(records: RecentRecords, *, is_decoded: bool, posts: int = POSTS) -> None:
    for seq in range(1, posts + 1):
        if is_decoded:
            records.read(seq, make_posted())
        else:
            records.keep(seq, encode(make_posted()))


def count_memory(records: RecentRecords) -> int:
    """Return how many entries the parts of the records really refer to."""
    events = [*records._events.values(), *(one.events for one in records._records.values() if type(one) is StopRecord)]
    return (
        len(records._records)
        + sum(len(numbers) for _, _, numbers in records._unsorted)
        + sum(len(known) for one in events for known in one.values())
    )


@pytest.mark.parametrize("is_decoded", [True, False], ids=["decoded", "undecoded"])
def test_leases_without_new_posts_stay_within_the_limit(is_decoded: bool) -> None:
    records = RecentRecords(None, MAX_WEIGHT)
    fill(records, is_decoded=is_decoded)
    for seq in range(POSTS + 1, POSTS + 5_000):
        records.read(seq, lease(*(delivery_number(post, 0) for post in range(1, POSTS + 1))))
        assert records._weight <= MAX_WEIGHT
        assert count_memory(records) <= MAX_WEIGHT


@pytest.mark.parametrize("is_decoded", [True, False], ids=["decoded", "undecoded"])
def test_a_delivery_that_is_returned_again_and_again_displaces_no_other(is_decoded: bool) -> None:
    records = RecentRecords(None, MAX_WEIGHT)
    fill(records, is_decoded=is_decoded)
    records.read(POSTS + 1, lease(delivery_number(2, 0)))
    for seq in range(POSTS + 2, POSTS + 5_000):
        records.read(seq, lease(delivery_number(1, 0)))
    busy, other = records.find_stop(1), records.find_stop(2)
    assert busy is not None
    assert other is not None
    assert len(busy.events[0]) == MAX_EVENTS
    assert busy.events[0][-1][0] == POSTS + 4_999, "the latest are kept"
    assert not busy.is_complete, "so that the whole journey is read when it is exported"
    assert other.is_complete
    assert len(other.events[0]) == 1


def test_the_only_record_keeps_within_the_limit_too() -> None:
    for is_decoded in (True, False):
        records = RecentRecords(None, 10)
        fill(records, is_decoded=is_decoded, posts=1)
        for seq in range(2, 1_000):
            records.read(seq, lease(delivery_number(1, 0)))
            assert count_memory(records) <= 10
        record = records.find_stop(1)
        assert record is not None
        assert not record.is_complete


def test_the_records_of_a_transaction_contain_every_event() -> None:
    entries = {1: make_posted()} | {seq: lease(delivery_number(1, 0)) for seq in range(2, 1_002)}
    record = RecentRecords.of(entries).find_stop(1)
    assert record is not None
    assert record.is_complete
    assert len(record.events[0]) == 1_000
