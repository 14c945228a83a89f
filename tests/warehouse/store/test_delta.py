"""Tables: a write is seen whole or not at all, once, and in the place of exactly what it replaces."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from deltalake import DeltaTable

from postroad.errors import Misconfigured, Unavailable
from postroad.warehouse.store import DeltaStore
from postroad.warehouse.store.table_store import NEVER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ONE, TWO, THREE = date(2026, 10, 1), date(2026, 10, 2), date(2026, 10, 3)
SCHEMA = "day date, n long, word string"


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> DeltaStore:
    """In a folder whose name stands otherwise in an address than on the disk, and is only a link to another."""
    (tmp_path / "large disk").mkdir()
    (tmp_path / "Büro #2").symlink_to(tmp_path / "large disk")
    return DeltaStore(spark, tmp_path / "Büro #2")


def frame(spark: SparkSession, *rows: tuple[date, int]) -> DataFrame:
    return spark.createDataFrame([(day, n, f"w{n}") for day, n in rows], SCHEMA)


def content(store: DeltaStore, name: str = "t", days: list[date] | None = None) -> list[tuple[date, int]]:
    return sorted((row.day, row.n) for row in store.read(name, days).collect())


def test_a_version_is_written_once(spark: SparkSession, store: DeltaStore) -> None:
    rows = frame(spark, (ONE, 1), (TWO, 2))
    assert store.version("t", "job") == NEVER
    assert store.append(rows, "t", "job", 5)
    assert not store.append(rows, "t", "job", 5)
    assert not store.append(rows, "t", "job", 4)
    assert store.append(frame(spark, (ONE, 3)), "t", "other", 0)
    assert content(store) == [(ONE, 1), (ONE, 3), (TWO, 2)]
    assert (store.version("t", "job"), store.version("t", "other"), store.rows("t")) == (5, 0, 3)


def test_days_are_replaced_and_others_left_alone(spark: SparkSession, store: DeltaStore) -> None:
    store.append(frame(spark, (ONE, 1), (TWO, 2), (THREE, 3)), "t", "job", 0)
    assert store.replace_days(frame(spark, (TWO, 20), (TWO, 21)), "t", [TWO, THREE], "job", 1)
    assert content(store) == [(ONE, 1), (TWO, 20), (TWO, 21)]
    assert content(store, days=[TWO]) == [(TWO, 20), (TWO, 21)]
    assert content(store, days=[]) == []
    assert not store.replace_days(frame(spark, (ONE, 9)), "t", [ONE], "job", 1)


def test_rows_of_other_days_than_those_replaced_are_a_mistake(spark: SparkSession, store: DeltaStore) -> None:
    store.append(frame(spark, (ONE, 1)), "t", "job", 0)
    with pytest.raises(ValueError, match="2026-10-02"):
        store.replace_days(frame(spark, (ONE, 2), (TWO, 2)), "t", [ONE], "job", 1)
    assert content(store) == [(ONE, 1)]


def test_a_whole_table_is_replaced_divided_or_not(spark: SparkSession, store: DeltaStore) -> None:
    store.append(frame(spark, (ONE, 1), (TWO, 2)), "t", "job", 0)
    store.replace(frame(spark, (THREE, 3)), "t", "job", 1)
    assert content(store) == [(THREE, 3)]
    for version in (0, 1):
        store.replace(spark.createDataFrame([(version,)], "n long"), "whole", "job", version)
    assert [row.n for row in store.read("whole").collect()] == [1]
    store.replace(frame(spark, (ONE, 1)).limit(0), "t", "job", 2)
    assert content(store) == []


def test_a_job_that_was_overtaken_writes_nothing(spark: SparkSession, store: DeltaStore) -> None:
    """Both looked at the table when it stood at version 0; the one that is ready later has worked on old rows."""
    store.append(frame(spark, (ONE, 1)), "t", "job", 0)
    late, later = store.stage(frame(spark, (ONE, 3)), "t"), store.stage(frame(spark, (ONE, 4)), "t")
    with pytest.raises(Unavailable, match="run this one again"):
        store.commit(late, {"job": 0}, replaced=[ONE.isoformat()])
    store.replace_days(frame(spark, (ONE, 2)), "t", [ONE], "job", 2)
    with pytest.raises(Unavailable, match="run this one again"):
        store.commit(later, {"job": 1}, replaced=[ONE.isoformat()])
    assert content(store) == [(ONE, 2)]


def test_of_two_commits_at_the_same_moment_one_counts(
    spark: SparkSession, store: DeltaStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between looking at the table and committing, another job has replaced the same day."""
    store.append(frame(spark, (ONE, 1)), "t", "job", 0)
    before = DeltaTable(str(store.folder / "t"))
    store.replace_days(frame(spark, (ONE, 2)), "t", [ONE], "first", 1)
    second = store.stage(frame(spark, (ONE, 3)), "t")
    with monkeypatch.context() as moment:
        moment.setattr(store, "_table", lambda name: before)
        with pytest.raises(Unavailable, match="run this one again"):
            store.commit(second, {"second": 1}, replaced=[ONE.isoformat()])
    assert content(store) == [(ONE, 2)]
    assert store.version("t", "second") == NEVER


def test_columns_are_added_at_the_end(spark: SparkSession, store: DeltaStore) -> None:
    store.append(frame(spark, (ONE, 1)), "t", "job", 0)
    store.append(frame(spark, (ONE, 2)).selectExpr("*", "n * 2 as twice"), "t", "job", 1)
    assert store.read("t").columns == ["day", "n", "word", "twice"]
    assert {row.n: row.twice for row in store.read("t").collect()} == {1: None, 2: 4}
    store.append(frame(spark, (ONE, 3)), "t", "job", 2)
    assert {row.n: row.twice for row in store.read("t").collect()} == {1: None, 2: 4, 3: None}


def test_a_column_of_another_type_is_refused(spark: SparkSession, store: DeltaStore) -> None:
    store.append(frame(spark, (ONE, 1)), "t", "job", 0)
    with pytest.raises(Misconfigured, match="column n"):
        store.append(frame(spark, (ONE, 2)).selectExpr("day", "string(n) as n", "word"), "t", "job", 1)
    assert content(store) == [(ONE, 1)]


def test_small_files_are_put_together(spark: SparkSession, store: DeltaStore) -> None:
    for version in range(4):
        store.append(frame(spark, (ONE, version)).coalesce(1), "t", "job", version)
    assert store.compact("t") == 3
    assert len(store.files("t")) == 1
    assert content(store) == [(ONE, 0), (ONE, 1), (ONE, 2), (ONE, 3)]
    assert store.version("t", "job") == 3


def test_vacuum_deletes_what_no_commit_names_once_it_is_old(spark: SparkSession, store: DeltaStore) -> None:
    store.append(frame(spark, (ONE, 1)).coalesce(1), "t", "job", 0)
    abandoned = store.stage(frame(spark, (TWO, 2)).coalesce(1), "t")
    published = store.stage(frame(spark, (THREE, 3)).coalesce(1), "t")
    published.publish()
    store.replace_days(frame(spark, (ONE, 10)).coalesce(1), "t", [ONE], "job", 1)
    assert store.vacuum("t", older_than_hours=1) == 0
    for path in store.folder.rglob("*"):
        os.utime(path, (0, 0))
    assert store.vacuum("t", older_than_hours=1) == 3
    assert not abandoned.staging.exists()
    assert not (store.folder / "t" / "day=2026-10-03").exists()
    assert content(store) == [(ONE, 10)]


def test_others_read_the_tables_as_they_are(spark: SparkSession, store: DeltaStore) -> None:
    store.append(frame(spark, (ONE, 1), (TWO, 2)), "t", "job", 0)
    store.replace_days(frame(spark, (TWO, 5)), "t", [TWO], "job", 1)
    found = DeltaTable(str(store.folder / "t")).to_pyarrow_table()
    assert sorted(zip(found["day"].to_pylist(), found["n"].to_pylist(), strict=True)) == [(ONE, 1), (TWO, 5)]
    files = store.files("t")
    total = duckdb.sql("select sum(n) from read_parquet($files)", params={"files": files})
    assert total is not None
    assert total.fetchall() == [(6,)]


def test_a_table_that_is_not_there_is_said_so(store: DeltaStore) -> None:
    assert store.names() == []
    with pytest.raises(Misconfigured, match="pipeline run"):
        store.read("nothing")
