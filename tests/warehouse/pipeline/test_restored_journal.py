"""A journal that was restored to an earlier point and went on differently is not mixed with what was read before."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from postroad.adapters.journal.segments import SegmentJournal
from postroad.core.model.journal import AccessRecorded, encode
from postroad.errors import Misconfigured
from postroad.ports import NewRecord
from postroad.warehouse.jobs.export import export
from postroad.warehouse.jobs.landing import CHAIN, land, land_archive
from postroad.warehouse.sources import EntrySpan, SegmentLog
from postroad.warehouse.sources.archive import Archive
from postroad.warehouse.store.delta import DeltaStore


async def append(folder: Path, *words: str) -> SegmentLog:
    """One group for each word."""
    journal = SegmentJournal.open(folder)
    try:
        for word in words:
            await journal.append([NewRecord(encode(AccessRecorded(1, "x", f"{word} {n}")), None) for n in range(3)])
    finally:
        await journal.close()
    return SegmentLog(folder=folder)


async def restored(tmp_path: Path) -> tuple[SegmentLog, SegmentLog]:
    """A journal, and a copy of its beginning that went on with other entries and became longer."""
    await append(tmp_path / "journal", "first")
    shutil.copytree(tmp_path / "journal", tmp_path / "copy")
    source = await append(tmp_path / "journal", "second")
    return source, await append(tmp_path / "copy", "other", "longer", "still")


async def test_an_export_stops_at_another_history(tmp_path: Path) -> None:
    source, other = await restored(tmp_path)
    folder = tmp_path / "archive"
    assert export(source, folder, "jsonl") == EntrySpan(0, 6)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(Misconfigured, match="before it was restored"):
        export(other, folder, "jsonl")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    grown = await append(tmp_path / "journal", "third")
    assert export(grown, folder, "jsonl") == EntrySpan(6, 9)


@pytest.mark.parametrize("moment", range(4))
async def test_an_export_that_was_interrupted_knows_the_history_of_every_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    source, other = await restored(tmp_path)
    folder, renamed, rename = tmp_path / "archive", [], os.replace

    def interrupted(*names: Path) -> None:
        rename(*names)
        renamed.append(names)
        if len(renamed) > moment:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            export(source, folder, "jsonl", entries_per_file=3)
    if len(list(folder.glob("*.jsonl"))) > 1:  # the first one is of both histories
        with pytest.raises(Misconfigured):
            export(other, folder, "jsonl")
    assert export(source, folder, "jsonl", entries_per_file=3).upto == 6


async def test_an_export_of_an_earlier_version_is_continued_and_gets_a_chain(tmp_path: Path) -> None:
    source, other = await restored(tmp_path)
    folder = tmp_path / "archive"
    export(source, folder, "parquet")
    (folder / "parquet.chain").unlink()
    grown = await append(tmp_path / "journal", "third")
    assert export(grown, folder, "parquet") == EntrySpan(6, 9)
    with pytest.raises(Misconfigured):
        export(other, folder, "parquet")


@pytest.mark.req("P1")
async def test_landing_stops_at_another_history(spark: SparkSession, tmp_path: Path) -> None:
    source, other = await restored(tmp_path)
    store = DeltaStore(spark, tmp_path / "tables")
    assert land(spark, store, source).upto == 6
    with pytest.raises(Misconfigured, match="before it was restored"):
        land(spark, store, other)
    assert land(spark, store, await append(tmp_path / "journal", "third")).upto == 9


async def test_a_warehouse_of_an_earlier_version_is_continued(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, other = await restored(tmp_path)
    store = DeltaStore(spark, tmp_path / "tables")
    append_all = store.append_all

    def without_chain(frame: DataFrame, name: str, versions: dict[str, int]) -> bool:
        return append_all(frame, name, {app: upto for app, upto in versions.items() if app not in CHAIN})

    with monkeypatch.context() as patched:
        patched.setattr(store, "append_all", without_chain)
        land(spark, store, source)
    assert {store.version("log", app) for app in CHAIN} == {-1}
    assert land(spark, store, await append(tmp_path / "journal", "third")).upto == 9
    with pytest.raises(Misconfigured):
        land(spark, store, other)


async def test_the_chain_takes_no_more_room_with_each_landing(spark: SparkSession, tmp_path: Path) -> None:
    """A Delta table remembers every app that ever wrote to it."""
    store, apps = DeltaStore(spark, tmp_path / "tables"), []
    for word in ("first", "second", "third"):
        land(spark, store, await append(tmp_path / "journal", word))
        commits = [file.read_text() for file in (tmp_path / "tables" / "log" / "_delta_log").glob("*.json")]
        actions = [json.loads(line) for commit in commits for line in commit.splitlines()]
        apps.append({action["txn"]["appId"] for action in actions if "txn" in action})
    assert apps[0] == apps[1] == apps[2]


@pytest.mark.req("P1")
async def test_landing_stops_at_an_archive_of_another_history(spark: SparkSession, tmp_path: Path) -> None:
    source, other = await restored(tmp_path)
    store = DeltaStore(spark, tmp_path / "tables")
    export(source, tmp_path / "archive", "jsonl", entries_per_file=3)
    export(other, tmp_path / "another", "jsonl", entries_per_file=3)
    assert land_archive(spark, store, Archive.found_in(tmp_path / "archive")).files == 2
    rows = store.rows("log")
    with pytest.raises(Misconfigured, match="before the journal was restored"):
        land_archive(spark, store, Archive.found_in(tmp_path / "another"))
    assert store.rows("log") == rows
    export(await append(tmp_path / "journal", "third"), tmp_path / "archive", "jsonl")
    assert land_archive(spark, store, Archive.found_in(tmp_path / "archive")).files == 1


@pytest.mark.parametrize("noted", ["nothing", "the last file only"])
async def test_an_archive_of_an_earlier_version_is_landed_and_continued(
    spark: SparkSession, tmp_path: Path, noted: str
) -> None:
    source, _ = await restored(tmp_path)
    folder, store = tmp_path / "archive", DeltaStore(spark, tmp_path / "tables")
    export(source, folder, "jsonl", entries_per_file=3)
    lines = (folder / "jsonl.chain").read_text().splitlines()
    (folder / "jsonl.chain").unlink()
    if noted != "nothing":
        (folder / "jsonl.chain").write_text(lines[-1])
    assert land_archive(spark, store, Archive.found_in(folder)).files == 2
    export(await append(tmp_path / "journal", "third"), folder, "jsonl")
    assert land_archive(spark, store, Archive.found_in(folder)).files == 1
    export(await append(tmp_path / "journal", "fourth"), folder, "jsonl")
    assert land_archive(spark, store, Archive.found_in(folder)).files == 1
