"""The table ``log`` in Spark: its schema, and a DataFrame of entries in memory."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa

from postroad.core.model.journal import Entry, encode
from postroad.warehouse.landing.log import SCHEMA, event_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@cache
def log_schema() -> StructType:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(SCHEMA)


def log_frame(spark: SparkSession, entries: Iterable[Entry], first_seq: int = 1) -> DataFrame:
    """Return the events of these entries, numbered from ``first_seq``, with the columns of the table."""
    records = ((seq, encode(entry), 0) for seq, entry in enumerate(entries, first_seq))
    return spark.createDataFrame(pa.Table.from_batches(event_batches(records), SCHEMA), log_schema())


def with_all_columns(log: DataFrame) -> DataFrame:
    """Return the log with all columns; those added since the last landing are null."""
    from pyspark.sql import functions as fn

    lacking = [field for field in log_schema().fields if field.name not in log.columns]
    return log.withColumns({field.name: fn.lit(None).cast(field.dataType) for field in lacking}) if lacking else log
