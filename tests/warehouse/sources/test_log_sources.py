"""What landing may rely on, for both journals: whole groups only, in order, in any cut, and never anything late."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.postgres_group import pack
from postroad.adapters.journal.segments import SegmentJournal, SegmentSettings
from postroad.adapters.journal.segments.catalog import DURABLE_NAME
from postroad.errors import Misconfigured
from postroad.ports import NewRecord
from postroad.warehouse.sources import EntrySpan, LogSource, PostgresLog, SegmentLog, open_source
from postroad.warehouse.sources.log_source import split_evenly
from tests.waiting import eventually_async

Append = Callable[[list[NewRecord]], None]
SMALL = SegmentSettings(segment_bytes=8 << 10)


def records(first: int, count: int) -> list[NewRecord]:
    return [
        NewRecord(f"entry {seq}".encode(), b"body" * (200 + seq) if seq % 2 else None)
        for seq in range(first, first + count)
    ]


class SegmentBench:
    """A journal in small segments, so that some are sealed and one grows."""

    def __init__(self, folder: Path) -> None:
        self._runner = asyncio.Runner()
        self.folder = folder
        self.journal = SegmentJournal.open(folder, SMALL)
        self.source: LogSource = SegmentLog(folder=folder)

    def append(self, group: list[NewRecord]) -> None:
        self._runner.run(self.journal.append(group))

    def drop_bodies(self, before_seq: int) -> None:
        self._runner.run(self.journal.drop_bodies(before_seq))

    def close(self) -> None:
        self._runner.run(self.journal.close())
        self._runner.close()


class PostgresBench:
    def __init__(self, dsn: str) -> None:
        self._runner = asyncio.Runner()
        self.journal = self._runner.run(PostgresJournal.open(dsn))
        self.source: LogSource = PostgresLog(url=dsn)

    def append(self, group: list[NewRecord]) -> None:
        self._runner.run(self.journal.append(group))

    def drop_bodies(self, before_seq: int) -> None:
        self._runner.run(self.journal.drop_bodies(before_seq))

    def close(self) -> None:
        self._runner.run(self.journal.close())
        self._runner.close()


@pytest.fixture(params=["segments", "postgres"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SegmentBench | PostgresBench]:
    made = (
        SegmentBench(tmp_path / "journal")
        if request.param == "segments"
        else PostgresBench(request.getfixturevalue("postgres_database"))
    )
    yield made
    made.close()


def filled(bench: SegmentBench | PostgresBench) -> list[tuple[int, bytes, int]]:
    """Sixty entries in groups of five; what reading them must give."""
    for first in range(1, 61, 5):
        bench.append(records(first, 5))
    return [
        (seq, record.facts, len(record.body) if record.body is not None else 0)
        for seq, record in enumerate(records(1, 60), 1)
    ]


def test_entries_come_in_order_with_the_lengths_of_their_bodies(bench: SegmentBench | PostgresBench) -> None:
    expected = filled(bench)
    assert bench.source.head() == 60
    assert list(bench.source.records(EntrySpan(0, 60))) == expected
    assert list(bench.source.records(EntrySpan(60, 60))) == []


@pytest.mark.parametrize("parts", [1, 2, 7, 100])
def test_any_cut_gives_the_same_entries(bench: SegmentBench | PostgresBench, parts: int) -> None:
    expected = filled(bench)
    spans = bench.source.spans(EntrySpan(3, 58), parts)
    assert [entry for span in spans for entry in bench.source.records(span)] == expected[3:58]


def test_dropped_bodies_change_nothing(bench: SegmentBench | PostgresBench) -> None:
    expected = filled(bench)
    bench.drop_bodies(40)
    assert list(bench.source.records(EntrySpan(0, 60))) == expected


def test_a_source_is_made_again_from_its_word_and_options(bench: SegmentBench | PostgresBench) -> None:
    filled(bench)
    again = open_source(bench.source.kind, bench.source.options)
    assert again == bench.source
    assert again.head() == 60


def test_an_empty_journal_has_nothing_to_read(bench: SegmentBench | PostgresBench) -> None:
    assert bench.source.head() == 0
    assert bench.source.spans(EntrySpan(0, 0), 4) == []


def test_an_address_with_a_password_is_not_shown() -> None:
    assert "hunter2" not in repr(PostgresLog(url="postgresql://me:hunter2@db/x"))


def test_no_journal_and_no_such_source_are_said_so(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="not found"):
        SegmentLog(folder=tmp_path).head()
    with pytest.raises(Misconfigured, match="choose one of segments, postgres"):
        open_source("kafka", {})


@pytest.mark.req("P1")
def test_a_tail_is_read_up_to_the_durable_mark_and_no_further(tmp_path: Path) -> None:
    """A group whose bytes are there but not durable, or that is torn, does not exist for the source."""
    bench = SegmentBench(tmp_path / "journal")
    try:
        bench.append(records(1, 5))
        mark = (bench.folder / DURABLE_NAME).read_bytes()
        bench.append(records(6, 5))
        newer = (bench.folder / DURABLE_NAME).read_bytes()
        (bench.folder / DURABLE_NAME).write_bytes(mark)
        assert bench.source.head() == 5
        assert [seq for seq, _, _ in bench.source.records(EntrySpan(0, bench.source.head()))] == [1, 2, 3, 4, 5]
        (bench.folder / DURABLE_NAME).write_bytes(newer)
        assert bench.source.head() == 10
    finally:
        bench.close()


def test_segments_are_cut_where_they_begin(tmp_path: Path) -> None:
    bench = SegmentBench(tmp_path / "journal")
    try:
        filled(bench)
        begins = {int(path.stem) - 1 for path in bench.folder.glob("*.seg")}
        assert len(begins) > 2
        edges = {span.after for span in bench.source.spans(EntrySpan(0, 60), 1)}
        assert {begin for begin in begins if begin < 60} <= edges
    finally:
        bench.close()


def test_even_spans_cover_everything_once() -> None:
    for length in range(12):
        for parts in range(1, 6):
            spans = split_evenly(EntrySpan(10, 10 + length), parts)
            assert [seq for span in spans for seq in range(span.after + 1, span.upto + 1)] == list(
                range(11, 11 + length)
            )
            assert len(spans) <= parts


WRITERS = 4
GROUPS_EACH = 30


@pytest.mark.req("P1")
def test_concurrent_writers_never_make_an_entry_visible_late(postgres_database: str) -> None:
    """Four writers at once and a reader that follows the head: it must never pass an entry that shows up afterwards."""
    asyncio.run(_prepare(postgres_database))
    source = PostgresLog(url=postgres_database)
    writers = [
        threading.Thread(target=lambda name=name: asyncio.run(_write(postgres_database, name)))
        for name in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    seen: list[int] = []
    while any(writer.is_alive() for writer in writers) or len(seen) < source.head():
        head = source.head()
        seen.extend(seq for seq, _, _ in source.records(EntrySpan(len(seen), head)))
        assert seen == list(range(1, head + 1))
    assert len(seen) == WRITERS * sum(1 + number % 3 for number in range(GROUPS_EACH))


@pytest.mark.req("P1")
async def test_a_writer_that_has_its_number_but_has_not_committed_holds_the_others_back(postgres_database: str) -> None:
    """The race itself, by hand: with numbers from a sequence the second writer would be seen first, and the first never."""
    await _prepare(postgres_database)
    slow, quick = await asyncpg.connect(postgres_database), await asyncpg.connect(postgres_database)
    source = PostgresLog(url=postgres_database)
    try:
        transaction = slow.transaction()
        await transaction.start()
        await _append(slow, "slow")
        second = asyncio.create_task(_append(quick, "quick"))
        locked_out = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        await eventually_async(lambda: slow.fetchval(locked_out), why="nobody waits for the first to commit")
        assert not second.done()
        assert await asyncio.to_thread(source.head) == 0
        await transaction.commit()
        await second
        found = await asyncio.to_thread(lambda: list(source.records(EntrySpan(0, source.head()))))
        assert [facts for _, facts, _ in found] == [b"slow", b"quick"]
    finally:
        await slow.close()
        await quick.close()


async def _prepare(dsn: str) -> None:
    journal = await PostgresJournal.open(dsn)
    await journal.close()


async def _write(dsn: str, name: int) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        for number in range(GROUPS_EACH):
            async with connection.transaction():
                await _append(connection, *[f"{name}.{number}.{part}" for part in range(1 + number % 3)])
                await asyncio.sleep(0.001 * (number % 4))  # sleeps: a commit that takes its time
    finally:
        await connection.close()


async def _append(connection: Any, *texts: str) -> None:
    packed = pack([NewRecord(text.encode(), None) for text in texts])
    await connection.fetch("SELECT journal_append($1, $2, $3)", packed.entries, packed.facts, packed.bodies)
