"""What has joined a batch takes no room in the memory of the local desk."""

from __future__ import annotations

from postroad.adapters.desk.hot_state import HotState
from postroad.core.model.batch import Batch, BatchMember
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import BatchesChanged
from postroad.core.projection.unique_keys import unique_keys
from postroad.testing.clocks import ManualClock
from postroad.testing.random_journals.journals import make_plain_posts

MANY = 2_000
EVERY_BATCH = 500
MAILBOX = f"{0:016x}"


def joined(version: int, numbers: list[int]) -> BatchesChanged:
    batch = Batch(id="b", key=(), opened_at_us=1, latest_at_us=1, changed_at_us=1, version=version)
    members = tuple(BatchMember(number=number, bytes=5) for number in numbers)
    return BatchesChanged(1, MAILBOX, MAILBOX, "joined", (batch,), "b", members)


def test_what_has_joined_a_batch_is_left_to_the_index() -> None:
    hot = HotState(ManualClock())
    for seq, post in enumerate(make_plain_posts(MANY, services=1), 1):
        hot.apply(post, seq, None, b"hello")
    numbers = [delivery_number(seq, 0) for seq in range(1, MANY + 1)]
    assert len(hot.mailbox(MAILBOX)) == MANY
    for version, start in enumerate(range(0, MANY, EVERY_BATCH), 1):
        entry = joined(version, numbers[start : start + EVERY_BATCH])
        held = hot.hold(entry)
        hot.apply(entry, MANY + version, None, None)
        hot.release(held)  # nothing to give back any more
        assert all(map(hot.keys.has, unique_keys(entry)))
    assert len(hot.mailbox(MAILBOX)) == 0
    assert not any(hot.is_open(number) or hot.is_over(number) for number in numbers)
    assert [hot.find(number) for number in numbers[:3]] == [None, None, None]
