"""A week of made-up traffic: as entries, as the plainest reading of them, as the landed log, and as histories."""

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

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
            directory = directory.changed(objects, seq)
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
