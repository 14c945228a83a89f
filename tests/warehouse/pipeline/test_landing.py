"""Landing: every event once, however often it fails, is repeated or is cut into batches."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.segments import SegmentJournal
from postroad.core.model.journal import AccessRecorded, encode
from postroad.errors import Misconfigured, Unavailable
from postroad.ports import NewRecord
from postroad.warehouse.jobs.export import export
from postroad.warehouse.jobs.landing import Landing, land, land_archive, landed_seq
from postroad.warehouse.jobs.warehouse_lock import lock_warehouse
from postroad.warehouse.sources import Archive, EntrySpan, PostgresLog, SegmentLog
from postroad.warehouse.sources.archive import FORMS, Form
from postroad.warehouse.store import DeltaStore
from postroad.warehouse.store.staged_files import StagedRows
from tests.warehouse.pipeline.landed import counts, events, landed, made_up_journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> SegmentLog:
    """One journal for all tests here that only read it."""
    return made_up_journal(tmp_path_factory.mktemp("traffic") / "journal", messages=150)


@pytest.fixture(scope="module")
def expected(journal: SegmentLog) -> pa.Table:
    return events(journal)


@pytest.mark.req("P1")
def test_the_table_is_the_journal_row_by_row(
    spark: SparkSession, tmp_path: Path, journal: SegmentLog, expected: pa.Table
) -> None:
    store, head = DeltaStore(spark, tmp_path), journal.head()
    told: list[int] = []
    done = land(spark, store, journal, entries_per_batch=head // 3 + 1, landed=told.append)
    assert done == Landing(after=0, upto=head, batches=3)
    assert told == [head // 3 + 1, 2 * (head // 3 + 1), head]
    assert landed(store.folder).equals(expected)
    assert land(spark, store, journal) == Landing(after=head, upto=head, batches=0)
    assert landed_seq(store) == head


@pytest.mark.req("P1")
async def test_a_journal_that_grows_is_landed_from_where_it_was(spark: SparkSession, tmp_path: Path) -> None:
    store, source = DeltaStore(spark, tmp_path / "tables"), SegmentLog(folder=tmp_path / "journal")
    journal = SegmentJournal.open(source.folder)
    try:
        for number, size in enumerate((3, 1, 5)):
            await journal.append(
                [NewRecord(encode(AccessRecorded(number, "x", f"login {n}")), None) for n in range(size)]
            )
            land(spark, store, source)
        assert counts(store.folder) == {"rows": 9, "keys": 9, "last": 9}
    finally:
        await journal.close()


def test_a_warehouse_holds_one_journal(spark: SparkSession, tmp_path: Path, journal: SegmentLog) -> None:
    """Neither another journal nor an older copy of the same one is landed on top of what is there."""
    store = DeltaStore(spark, tmp_path / "tables")
    other = made_up_journal(tmp_path / "other", messages=200, first_day=date(2026, 9, 1))
    land(spark, store, journal)
    held = counts(store.folder)
    assert other.head() > journal.head()
    with pytest.raises(Misconfigured, match="another journal"):
        land(spark, store, other)
    shorter = made_up_journal(tmp_path / "shorter", messages=5)
    with pytest.raises(Misconfigured, match="another journal"):
        land(spark, store, shorter)
    assert counts(store.folder) == held


class BrokenError(Exception):
    """What the tests break the store with."""


MOMENTS = ("before the files are moved", "between files and commit", "after the commit")


class BreakingStore(DeltaStore):
    """Fails at one moment of its first commit."""

    moment = ""

    def commit(
        self,
        found: StagedRows,
        versions: Mapping[str, int],
        *,
        replaced: Sequence[str] | None = None,
        whole: bool = False,
    ) -> None:
        if self.moment == "before the files are moved":
            raise BrokenError("Broken")
        if self.moment == "between files and commit":
            found.publish()
            raise BrokenError("Broken")
        super().commit(found, versions, replaced=replaced, whole=whole)
        raise BrokenError("Broken")


@pytest.mark.req("P1")
def test_failures_before_and_after_each_commit_lose_and_double_nothing(
    spark: SparkSession, tmp_path: Path, journal: SegmentLog, expected: pa.Table
) -> None:
    """Each of three batches is broken at each moment in turn, always on what the run before left behind."""
    per_batch, store = journal.head() // 3 + 1, DeltaStore(spark, tmp_path)
    reached = []
    for _ in range(3):
        for moment in MOMENTS:
            failing = BreakingStore(spark, tmp_path)
            failing.moment = moment
            with pytest.raises(Unavailable, match="Broken"):
                land(spark, failing, journal, entries_per_batch=per_batch)
        reached.append(landed_seq(store))
        assert counts(store.folder)["rows"] == counts(store.folder)["keys"]
    assert reached == [per_batch, 2 * per_batch, journal.head()]
    assert land(spark, store, journal).batches == 0
    assert landed(store.folder).equals(expected)
    assert store.vacuum("log", older_than_hours=-1) >= 6  # what the failed writes had left
    assert landed(store.folder).equals(expected)


@pytest.mark.req("P1")
@pytest.mark.parametrize("form", FORMS)
def test_an_archive_is_landed_once_and_says_the_same_as_the_journal(
    spark: SparkSession, tmp_path: Path, journal: SegmentLog, expected: pa.Table, form: Form
) -> None:
    archive, store = tmp_path / "archive", DeltaStore(spark, tmp_path / "tables")
    assert export(journal, archive, form, entries_per_file=journal.head() // 2) == EntrySpan(0, journal.head())
    found = Archive.found_in(archive)
    assert found.form == form
    assert land_archive(spark, store, found).files == len(found.files()) == 3
    assert landed(store.folder).equals(expected)
    assert land_archive(spark, store, found) == Landing(after=0, upto=0, batches=0, files=0)
    assert export(journal, archive, form) == EntrySpan(journal.head(), journal.head())


def test_an_export_that_was_interrupted_goes_on(tmp_path: Path, journal: SegmentLog) -> None:
    def interrupt(upto: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(journal, tmp_path, "jsonl", entries_per_file=50, exported=interrupt)
    (tmp_path / "half.jsonl.tmp").write_text("{")
    assert export(journal, tmp_path, "jsonl", entries_per_file=50) == EntrySpan(50, journal.head())
    lines = [json.loads(line) for file in sorted(tmp_path.glob("*.jsonl")) for line in file.read_text().splitlines()]
    assert {line["seq"] for line in lines} == set(range(1, journal.head() + 1))
    assert len(lines) == events(journal).num_rows


@pytest.mark.req("P1")
async def test_the_journal_in_postgresql_is_landed_the_same_way(
    spark: SparkSession, tmp_path: Path, postgres_database: str
) -> None:
    store, source = DeltaStore(spark, tmp_path), PostgresLog(url=postgres_database)
    journal = await PostgresJournal.open(postgres_database)
    try:
        for number in range(1, 4):
            entries = [AccessRecorded(number, "x", f"login {n}") for n in range(5 * number)]
            await journal.append([NewRecord(encode(entry), None) for entry in entries])
            await asyncio.to_thread(land, spark, store, source, entries_per_batch=7)
    finally:
        await journal.close()
    assert landed_seq(store) == 30
    assert landed(store.folder).equals(await asyncio.to_thread(events, source))


async def test_damage_in_the_journal_is_told_in_its_own_words(spark: SparkSession, tmp_path: Path) -> None:
    """A worker finds it; whoever ran the command reads what the journal's reader says, and no stack trace."""
    store, source = DeltaStore(spark, tmp_path / "tables"), SegmentLog(folder=tmp_path / "journal")
    journal = SegmentJournal.open(source.folder)
    for words in ("sound", "spoilt"):
        await journal.append([NewRecord(encode(AccessRecorded(1, "x", words)), None)])
    await journal.close()
    [segment] = source.folder.glob("*.seg")
    segment.write_bytes(segment.read_bytes().replace(b"spoilt", b"SPOILT"))
    with pytest.raises(Unavailable, match="run `postroad verify`") as failed:
        land(spark, store, source)
    assert failed.value.code == "warehouse.failed"
    assert failed.value.detail.startswith(f"storage.damaged: {segment}")
    assert "\n" not in failed.value.detail
    assert not store.exists("log")


def test_a_folder_without_an_archive_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="not an archive"):
        Archive.found_in(tmp_path)
    for form in FORMS:
        (tmp_path / f"1-1.{form}").touch()
    with pytest.raises(Misconfigured, match="keep one form in a folder"):
        Archive.found_in(tmp_path)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"seq": "not a number"}', "Cannot parse the field name 'seq'"),
        ('{"to": ["Acme/Supply"], "type": "request", "topic": "order"}', "contains a non-journal event"),
    ],
)
def test_a_line_that_is_none_of_ours_fails_and_lands_nothing(
    spark: SparkSession, tmp_path: Path, line: str, fault: str
) -> None:
    """An archive of messages, which is for bulk operations, has columns that sound alike."""
    (tmp_path / "1-1.jsonl").write_text(f"{line}\n")
    store = DeltaStore(spark, tmp_path / "tables")
    with pytest.raises(Unavailable, match=fault):
        land_archive(spark, store, Archive.found_in(tmp_path))
    assert not store.exists("log")


def test_one_job_at_a_time_writes_a_warehouse(tmp_path: Path) -> None:
    with lock_warehouse(tmp_path), pytest.raises(Unavailable, match="Another job"), lock_warehouse(tmp_path):
        pass
    with lock_warehouse(tmp_path):
        pass
