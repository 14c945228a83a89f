"""Followers: each entry once and in order, restarts, restored journals, leadership."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

import pytest

from postroad.adapters.followers.cursors import MemoryCursors
from postroad.adapters.memory.journal import MemoryJournal
from postroad.errors import Misconfigured, Unavailable
from postroad.flow.followers import CommitSignal, JournalFollower
from postroad.ports import JournalBatch, JournalHead, NewRecord
from tests.waiting import eventually_async


class Task:
    """What a follower does with entries in these tests: it notes their numbers, and fails when it is told to."""

    def __init__(self) -> None:
        self.handled: list[int] = []
        self.failures: list[Exception] = []

    def has_handled(self, seq: int) -> bool:
        """Return True when the entry was handled, and nothing fails any more."""
        return self.handled[-1:] == [seq] and not self.failures

    async def handle(self, batch: JournalBatch) -> None:
        self.handled += [record.seq for record in batch.records]
        if self.failures:
            raise self.failures.pop()


class Node:
    """A follower on one journal, with its signal."""

    def __init__(self, journal: MemoryJournal, cursors: MemoryCursors, task: Task) -> None:
        self.leading = self.needed = True
        self.signal = CommitSignal(patience_s=0.0, look_again_s=None)
        self.follower = JournalFollower(
            "traces",
            journal,
            cursors,
            handle=task.handle,
            arrived=self.signal.wait,
            leads=self._leads,
            is_needed=lambda: self.needed,
            try_again_s=0.0,
        )

    async def _leads(self) -> bool:
        return self.leading


async def append(journal: MemoryJournal, *groups: Sequence[bytes]) -> None:
    for group in groups:
        await journal.append([NewRecord(facts, None) for facts in group])


async def test_each_entry_is_handled_once_and_in_order() -> None:
    journal, cursors, task = MemoryJournal(), MemoryCursors(), Task()
    node = Node(journal, cursors, task)
    await node.follower.catch_up()
    await append(journal, [b"1", b"2"], [b"3"])
    await node.follower.catch_up()
    await append(journal, [b"4"])
    assert await node.follower.catch_up() == await journal.head()
    assert task.handled == [1, 2, 3, 4]


async def test_a_new_follower_begins_at_the_end() -> None:
    journal, cursors, task = MemoryJournal(), MemoryCursors(), Task()
    await append(journal, [b"1", b"2"])
    await Node(journal, cursors, task).follower.catch_up()
    assert await cursors.load_all() == {"traces": await journal.head()}
    await append(journal, [b"3"])
    await Node(journal, cursors, task).follower.catch_up()  # after a restart
    assert task.handled == [3]


async def test_entries_are_skipped_without_being_read_while_no_one_needs_them() -> None:
    journal, cursors, task = CountingJournal(), MemoryCursors(), Task()
    node = Node(journal, cursors, task)
    await node.follower.catch_up()
    node.needed = False
    await append(journal, *[[b"unneeded"]] * 50)
    assert await node.follower.catch_up() == await journal.head() == await cursors.load("traces")
    assert (task.handled, journal.records) == ([], 0)
    node.needed = True
    await append(journal, [b"51"])
    await node.follower.catch_up()
    assert (task.handled, journal.records) == ([51], 1)


class CountingJournal(MemoryJournal):
    """Counts the records that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.records = 0

    async def read(self, after_seq: int, limit_bytes: int = 4 << 20) -> JournalBatch:
        batch = await super().read(after_seq, limit_bytes)
        self.records += len(batch.records)
        return batch


async def test_a_crash_repeats_one_batch_at_most() -> None:
    journal, cursors, task = MemoryJournal(), MemoryCursors(), Task()
    await Node(journal, cursors, task).follower.catch_up()
    await append(journal, [b"1"])
    await Node(journal, cursors, task).follower.catch_up()
    await append(journal, [b"2"], [b"3"])
    task.failures = [RuntimeError("crashed after its work, before the cursor was saved")]
    with pytest.raises(RuntimeError):
        await Node(journal, cursors, task).follower.catch_up()
    await Node(journal, cursors, task).follower.catch_up()
    assert task.handled == [1, 2, 3, 2, 3]


@pytest.mark.parametrize("longer", [False, True], ids=["shorter", "grown past the cursor"])
async def test_a_restored_journal_stops_it_until_it_is_reset(longer: bool, caplog: pytest.LogCaptureFixture) -> None:
    cursors, task = MemoryCursors(), Task()
    first, restored = MemoryJournal(), MemoryJournal()
    await append(first, [b"1"], [b"2"], [b"3"])
    await Node(first, cursors, task).follower.catch_up()
    await append(restored, [b"1"], *[[b"other"]] * (9 if longer else 1))
    node = Node(restored, cursors, task)
    with pytest.raises(Misconfigured, match="postroad followers reset traces"):
        await node.follower.catch_up()
    with caplog.at_level(logging.ERROR):
        running = asyncio.create_task(node.follower.run())
        await eventually_async(lambda: "stopped" in caplog.text)
    await cursors.save("traces", await restored.head())
    await append(restored, [b"new"])
    await eventually_async(lambda: task.handled == [11 if longer else 3])
    running.cancel()
    assert caplog.text.count("follower.stopped") == 1, "said once, however often it looks again"


async def test_a_cursor_in_the_middle_of_a_group_is_of_another_journal() -> None:
    journal, cursors, task = MemoryJournal(), MemoryCursors(), Task()
    await append(journal, [b"1", b"2"])
    await cursors.save("traces", JournalHead(1, bytes(32)))
    with pytest.raises(Misconfigured):
        await Node(journal, cursors, task).follower.catch_up()


async def test_only_the_leader_follows_and_its_successor_continues() -> None:
    journal, cursors, task = MemoryJournal(), MemoryCursors(), Task()
    one, other = Node(journal, cursors, task), Node(journal, cursors, task)
    other.leading = False
    await one.follower.catch_up()
    await append(journal, [b"1"])
    assert await other.follower.catch_up() is None
    assert task.handled == []
    await one.follower.catch_up()
    one.leading, other.leading = False, True
    await append(journal, [b"2"])
    assert await one.follower.catch_up() is None
    await other.follower.catch_up()
    assert task.handled == [1, 2]


async def test_it_is_woken_by_commits_and_survives_errors(caplog: pytest.LogCaptureFixture) -> None:
    journal, cursors, task = MemoryJournal(), MemoryCursors(), Task()
    node = Node(journal, cursors, task)
    running = asyncio.create_task(node.follower.run())
    await eventually_async(cursors.load_all)
    for failure in (Unavailable("network.unavailable", "away"), RuntimeError("a bug"), None):
        task.handled.clear()
        task.failures = [failure] if failure else []
        await append(journal, [b"entry"])
        node.signal.notify(1)
        seen = (await journal.head()).seq
        await eventually_async(partial(task.has_handled, seen))
    await eventually_async(lambda: _saved(cursors, journal))
    running.cancel()
    assert "cannot continue now" in caplog.text
    assert "a bug" in caplog.text


async def _saved(cursors: MemoryCursors, journal: MemoryJournal) -> bool:
    return await cursors.load("traces") == await journal.head()
