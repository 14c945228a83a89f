"""Which step goes into which group."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from postroad.adapters.desk.group_commit import GroupCommit
from postroad.core.model.journal import DeliveriesAcknowledged, DeliveriesLeased
from postroad.flow.entry_counts import EntryCounts
from postroad.ports import Committed, JournalStep, StepOutcome
from postroad.testing.random_journals.journals import make_plain_posts

LARGE = b"x" * 1_000
GROUP_BYTES = 1_000  # one of those posts fills a group


def lease(number: int) -> JournalStep:
    return JournalStep(DeliveriesLeased(1, "a", 30.0, (number,)), reserve=True)


def acknowledgement(number: int, keys: tuple[int, ...] = ()) -> JournalStep:
    return JournalStep(DeliveriesAcknowledged(1, "a", (number,)), keys=keys, reserve=True)


async def groups_of(steps: Sequence[JournalStep]) -> list[list[JournalStep]]:
    """The groups that are made of these steps, handed in together."""
    groups: list[list[JournalStep]] = []
    answered: list[StepOutcome] = []

    async def commit(group: Sequence[JournalStep]) -> list[StepOutcome]:
        groups.append(list(group))
        await asyncio.sleep(0)
        return [Committed(1)] * len(group)

    committing = GroupCommit(commit, group_bytes=GROUP_BYTES)
    committing.start()
    for step in steps:
        committing.submit(step, answered.append)
    await committing.close()
    assert answered == [Committed(1)] * len(steps)
    return groups


async def test_what_receivers_do_goes_before_the_posts_that_wait_and_all_keep_their_order() -> None:
    posts = [JournalStep(post, LARGE) for post in make_plain_posts(3, services=1)]
    first, second = lease(1), acknowledgement(1)
    assert await groups_of([*posts, first, second]) == [[first, second], [posts[0]], [posts[1]], [posts[2]]]


async def test_an_acknowledgement_against_which_something_may_stand_waits_its_turn() -> None:
    [post] = [JournalStep(post, LARGE) for post in make_plain_posts(1, services=1)]
    end = acknowledgement(1, keys=(17,))
    assert await groups_of([post, end]) == [[post], [end]]


async def test_a_group_that_cannot_be_counted_is_answered_and_the_next_one_is_committed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(counts: EntryCounts, steps: object, outcomes: object) -> None:
        raise ValueError("a label that does not exist")

    monkeypatch.setattr(EntryCounts, "count", fail)
    steps = [JournalStep(post, LARGE) for post in make_plain_posts(2, services=1)]
    async with asyncio.timeout(60):
        assert await groups_of(steps) == [[steps[0]], [steps[1]]]
    assert "journal.not_counted" in caplog.text
