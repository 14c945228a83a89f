"""Any ``LogSource`` as a Structured Streaming source: offsets are entry numbers, batches are Arrow.

Rule: this module translates between Spark and the source and decides nothing else. A stream begins after the entry that
is set, takes at most that many entries at a time, and with ``availableNow`` ends at the head it found when it began.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from postroad.warehouse.landing.log import event_batches
from postroad.warehouse.landing.log_frame import log_schema
from postroad.warehouse.sources.log_source import EntrySpan, LogSource
from postroad.warehouse.sources.registry import open_source

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

FORMAT = "postroad_log"
ENTRIES_PER_TASK = 5_000  # fewer are read faster than a task is started


class LogStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, source: LogSource, *, after: int, entries_per_batch: int, parts: int) -> None:
        self._source = source
        self._after = after
        self._entries_per_batch = entries_per_batch
        self._parts = parts
        self._target: int | None = None

    def initialOffset(self) -> dict[str, int]:
        return {"seq": self._after}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._entries_per_batch) if self._entries_per_batch else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._source.head()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        head = self._target if self._target is not None else self._source.head()
        if isinstance(limit, ReadMaxRows):
            head = min(head, start["seq"] + limit.max_rows)
        return {"seq": max(head, start["seq"])}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        span = EntrySpan(start["seq"], end["seq"])
        spans = self._source.spans(span, min(self._parts, -(-len(span) // ENTRIES_PER_TASK)))
        return [InputPartition(tuple(span)) for span in spans]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return event_batches(self._source.records(EntrySpan(*partition.value)))


class LogDataSource(DataSource):
    """``spark.readStream.format("postroad_log")``; see ``log_stream`` for its options."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return log_schema()

    def streamReader(self, schema: StructType) -> LogStream:
        given = self.options
        return LogStream(
            open_source(given["kind"], given),
            after=int(given["after"]),
            entries_per_batch=int(given.get("entriesperbatch", 0)),
            parts=int(given.get("parts", 1)),
        )


def log_stream(
    spark: SparkSession, source: LogSource, *, after: int, entries_per_batch: int = 0, parts: int = 0
) -> DataFrame:
    """The source's events after entry ``after`` as a stream; read by ``parts`` tasks at once, or one for each core."""
    spark.dataSource.register(LogDataSource)
    options = {
        "kind": source.kind,
        "after": str(after),
        "entriesperbatch": str(entries_per_batch),
        "parts": str(parts or 2 * spark.sparkContext.defaultParallelism),
    }
    return spark.readStream.format(FORMAT).options(**options, **source.options).load()
