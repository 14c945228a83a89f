"""Following the journal: the index goes on where it was, and only on the journal that it was made from."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from postroad.adapters.index.followed_index import FollowedIndex
from postroad.adapters.memory.index import MemoryIndex
from postroad.adapters.memory.journal import MemoryJournal
from postroad.errors import Misconfigured
from postroad.flow import indexing
from postroad.flow.indexing import catch_up, follow, rebuild
from postroad.ports import JournalBatch, JournalHead
from postroad.testing.random_journals.journals import make_plain_posts, to_new_records
from tests.waiting import eventually_async


async def journal_of(*groups: int, first: int = 1) -> MemoryJournal:
    journal = MemoryJournal()
    for count in groups:
        await journal.append(to_new_records(list(make_plain_posts(count, first))))
        first += count
    return journal


async def test_catching_up_applies_what_is_missing_and_only_that() -> None:
    journal, index = await journal_of(3, 2), MemoryIndex()
    progress: list[JournalHead] = []
    assert await catch_up(journal, index, progress.append) == await journal.head() == await index.position()
    assert await catch_up(journal, index, progress.append) == await journal.head()
    assert progress == [await journal.head()]
    assert [row[0] for row in await index.rows("message")] == [1, 2, 3, 4, 5]


async def test_a_long_journal_is_taken_in_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "BATCH_BYTES", 1)
    progress: list[JournalHead] = []
    await catch_up(await journal_of(1, 4, 2), MemoryIndex(), progress.append)
    assert [head.seq for head in progress] == [1, 5, 7]


@pytest.mark.parametrize(
    ("groups", "first"),
    [
        pytest.param((3,), 1, id="shorter: its end was lost"),
        pytest.param((), 1, id="empty"),
        pytest.param((3, 2), 9, id="as long, with other entries"),
        pytest.param((5, 1), 9, id="longer, with other entries"),
    ],
)
async def test_an_index_of_another_journal_is_refused(groups: tuple[int, ...], first: int) -> None:
    index = MemoryIndex()
    await catch_up(await journal_of(3, 2), index)
    before = {table: await index.rows(table) for table in ("message", "delivery", "seen")}
    with pytest.raises(Misconfigured, match="postroad index rebuild"):
        await catch_up(await journal_of(*groups, first=first), index)
    assert {table: await index.rows(table) for table in before} == before


async def test_a_rebuild_takes_any_journal() -> None:
    index = MemoryIndex()
    await catch_up(await journal_of(3, 2), index)
    other = await journal_of(2, first=9)
    assert await rebuild(other, index) == await other.head()
    assert len(await index.rows("message")) == 2


async def test_following_goes_on_with_each_arrival_and_answers_each() -> None:
    journal, index = await journal_of(1), MemoryIndex()
    arrivals: asyncio.Queue[None] = asyncio.Queue()
    answers: asyncio.Queue[JournalHead] = asyncio.Queue()
    following = asyncio.create_task(follow(journal, index, arrived=arrivals.get, on_progress=answers.put_nowait))
    heads = [await answers.get()]
    for count in (2, 0, 3):
        if count:
            await journal.append(to_new_records(list(make_plain_posts(count, heads[-1].seq + 1))))
        arrivals.put_nowait(None)
        heads.append(await answers.get())
    following.cancel()
    assert [head.seq for head in heads] == [1, 3, 3, 6]
    assert all(before.seq <= after.seq for before, after in pairwise(heads))
    assert await index.position() == await journal.head()


class ForgetfulIndex(MemoryIndex):
    """An index whose database crashes: it goes back to what it had some batches ago, and its follower is not told."""

    def crash_back_to(self, older: MemoryIndex) -> None:
        self._position, self._tables = older._position, older._tables


@pytest.mark.parametrize("quiet_first", [True, False], ids=["while nothing arrives", "under load"])
async def test_what_a_crash_took_from_the_index_is_brought_back(quiet_first: bool) -> None:
    journal, index, older = await journal_of(2), ForgetfulIndex(), MemoryIndex()
    await catch_up(journal, older)
    await journal.append(to_new_records(list(make_plain_posts(3, 3))))
    followed = FollowedIndex(journal, index)
    await followed.start()
    index.crash_back_to(older)
    if quiet_first:
        assert len(await index.rows("message")) == 2

        async def is_back() -> bool:
            return len(await index.rows("message")) == 5

        await eventually_async(is_back)  # it looks again by itself
    await journal.append(to_new_records(list(make_plain_posts(4, 6))))
    followed.notify(9)
    await followed.wait_for(9)
    await followed.stop()
    assert len(await index.rows("message")) == 9


async def test_entries_are_gathered_while_nobody_waits_and_hurried_when_somebody_does() -> None:
    journal, index = await journal_of(1), MemoryIndex()
    keeper = FollowedIndex(journal, index, patience_s=30.0)
    await keeper.start()
    try:
        await asyncio.wait_for(keeper.wait_for(1), 20)  # it looks once by itself when it begins
        await journal.append(to_new_records(list(make_plain_posts(2, 2))))
        keeper.notify(3)
        for _ in range(1_000):  # turns, of which one that does not gather needs a few
            await asyncio.sleep(0)
        assert (await index.position()).seq == 1
        await asyncio.wait_for(keeper.wait_for(3), 20)
        assert (await index.position()).seq == 3
    finally:
        await keeper.stop()


class GrowingJournal(MemoryJournal):
    """Gets another group with each read, once it grows: its end is never reached, as under load."""

    grows = False

    async def read(self, after_seq: int, limit_bytes: int = 4 << 20) -> JournalBatch:
        if self.grows:
            await asyncio.sleep(0)  # others have their turn
            await self.append(to_new_records(list(make_plain_posts(1, (await self.head()).seq + 1))))
        return await super().read(after_seq, 1)


async def test_waiting_ends_with_its_entry_and_not_with_the_end_of_the_journal() -> None:
    """After a takeover under load the index catches up for long; what waited for an early entry gave up after 10 seconds."""
    journal, index = GrowingJournal(), MemoryIndex()
    await journal.append(to_new_records(list(make_plain_posts(3))))
    keeper = FollowedIndex(journal, index)
    await keeper.start()
    try:
        journal.grows = True
        keeper.notify(4)
        await asyncio.wait_for(keeper.wait_for(20), 60)
        assert (await index.position()).seq >= 20
    finally:
        await keeper.stop()
