"""What must hold in every session, whoever asks for it."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import ArithmeticException

from postroad.warehouse.progress import SparkStage, name_stages, watch_stages
from postroad.warehouse.session import WarehouseSettings, _options, pack_package

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_overflow_is_an_error_and_time_is_utc(spark: SparkSession) -> None:
    with pytest.raises(ArithmeticException):
        spark.sql("select 9223372036854775807L + 1L").collect()
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_what_correctness_needs_cannot_be_changed_by_an_option(tmp_path: Path) -> None:
    given = {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "Europe/Berlin",
        "spark.ui.enabled": "true",
    }
    options = _options(WarehouseSettings(folder=tmp_path, options=given))
    assert (options["spark.sql.ansi.enabled"], options["spark.sql.session.timeZone"]) == ("true", "UTC")
    assert options["spark.ui.enabled"] == "true"


def test_java_options_of_the_user_stay_beside_ours(tmp_path: Path) -> None:
    given = WarehouseSettings(folder=tmp_path, options={"spark.driver.extraJavaOptions": "-Xss2m"})
    assert _options(given)["spark.driver.extraJavaOptions"].startswith("-Xss2m -Dlog4j2.configurationFile=file:")
    own = WarehouseSettings(folder=tmp_path, options={"spark.driver.extraJavaOptions": "-Dlog4j2.configurationFile=x"})
    assert _options(own)["spark.driver.extraJavaOptions"] == "-Dlog4j2.configurationFile=x"


def test_workers_are_the_drivers_own_python(spark: SparkSession) -> None:
    def where(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"python": [sys.executable]})

    found = spark.range(1).mapInArrow(where, "python string").collect()
    assert {row.python for row in found} == {sys.executable}


def test_the_package_is_shipped_to_clusters_unless_the_user_does(tmp_path: Path) -> None:
    def ships(master: str, **options: str) -> bool:
        return WarehouseSettings(folder=tmp_path, master=master, options=options).ships_package

    assert not ships("local[2]")
    assert ships("spark://host:7077")
    assert not ships("yarn", **{"spark.archives": "env.tar.gz#environment"})


def test_a_packed_package_is_the_whole_package(tmp_path: Path) -> None:
    with zipfile.ZipFile(pack_package(tmp_path)) as archive:
        names = archive.namelist()
    assert {
        "postroad/__init__.py",
        "postroad/warehouse/landing/log.py",
        "postroad/adapters/journal/sql/journal.sql",
    } <= set(names)
    assert not any(name.endswith(".pyc") for name in names)


def test_stages_are_seen_at_work_by_their_names(spark: SparkSession, tmp_path: Path) -> None:
    has_been_seen = tmp_path / "has-been-seen"

    def once_seen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import time

        while not has_been_seen.exists():
            time.sleep(0.02)  # sleeps: polls, in a process that has no tests.waiting
        yield from batches

    def watch(stages: list[SparkStage]) -> None:
        if SparkStage("counting once seen", 2, 0) in stages:
            has_been_seen.touch()

    name_stages(spark, "counting once seen")
    with watch_stages(spark, watch):
        assert spark.range(0, 4, 1, 2).mapInArrow(once_seen, "id long").count() == 4
