"""One Spark session for all tests of the warehouse, which is expensive to start, and a week of simulated traffic.

The week exists as entries, as the simplest reading of them, as the landed log, and as histories.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from postroad.core.model.journal import Entry, decode
from postroad.core.model.snapshot import Directory
from postroad.ports import JournalRecord, NewRecord
from postroad.testing.simulation.recorded_history import RecordedHistory
from postroad.testing.traffic.generate import Traffic
from postroad.testing.traffic.plan import TrafficPlan
from postroad.warehouse.landing.log import SCHEMA, event_batches
from postroad.warehouse.landing.log_frame import log_schema
from postroad.warehouse.marts.message_histories import message_histories
from postroad.warehouse.session import WarehouseSettings, spark_session
from tests.samples.spark import QUICK_START

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# Compiling each query takes longer than running it on a few rows. Tests of commands start a Spark of their own, which compiles.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on two cores; its tables belong in the test's own ``tmp_path``."""
    settings = WarehouseSettings(
        folder=tmp_path_factory.mktemp("warehouse"),
        master="local[2]",
        shuffle_partitions=2,
        options={
            "spark.driver.extraJavaOptions": QUICK_START,
            "spark.default.parallelism": "2",
            **INTERPRETED,
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("spark")),
        },
    )
    session = spark_session(settings, name="postroad tests")
    yield session
    session.stop()


PLAN = TrafficPlan(organizations=25, days=6, messages=2_000, seed=11)


@dataclass(frozen=True, slots=True, kw_only=True)
class Week:
    records: list[NewRecord]
    entries: dict[int, Entry]  # by number
    books: RecordedHistory
    directory: Directory


@pytest.fixture(scope="session")
def week() -> Week:
    records = list(Traffic(PLAN).records())
    entries = {seq: decode(record.facts) for seq, record in enumerate(records, 1)}
    books = RecordedHistory(JournalRecord(seq, record.facts, None) for seq, record in enumerate(records, 1))
    directory = Directory()
    for seq, entry in entries.items():
        if (objects := getattr(entry, "objects", None)) is not None:
            directory = directory.apply_changes(objects, seq)
    return Week(records=records, entries=entries, books=books, directory=directory)


def landed(spark: SparkSession, records: list[NewRecord], first_seq: int = 1) -> DataFrame:
    """These records as rows of the log."""
    numbered = ((seq, record.facts, len(record.body or b"")) for seq, record in enumerate(records, first_seq))
    return spark.createDataFrame(pa.Table.from_batches(event_batches(numbered), SCHEMA), log_schema())


@pytest.fixture(scope="session")
def log(spark: SparkSession, week: Week) -> Iterator[DataFrame]:
    kept = landed(spark, week.records).cache()
    yield kept
    kept.unpersist()


@pytest.fixture(scope="session")
def histories(log: DataFrame) -> Iterator[DataFrame]:
    kept = message_histories(log).cache()
    yield kept
    kept.unpersist()
