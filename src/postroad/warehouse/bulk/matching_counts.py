"""What the bindings of an exchange have come to in an archive: matches and errors of each, from the rows that were written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from postroad.warehouse.bulk.output import PARQUET, location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BINDINGS_MOST = 1_000


def by_binding(spark: SparkSession, folder: str) -> list[dict[str, Any]]:
    """Grain: one row per binding that said yes or failed; those with most matches first, at most a thousand."""
    from pyspark.sql import functions as f

    rows = spark.read.parquet(f"{location(folder)}/{PARQUET}").where("binding is not null")
    yes = f.sum(f.when(f.col("code") == "", 1).otherwise(0)).alias("matches")
    errors = f.sum(f.when(f.col("code") == "", 0).otherwise(1)).alias("errors")
    counted = rows.groupBy("binding", "queue_address").agg(yes, errors)
    ordered = counted.orderBy(f.col("matches").desc(), f.col("errors").desc(), "binding").limit(BINDINGS_MOST)
    return [
        {"binding": row["binding"], "queue": row["queue_address"], "matches": row["matches"], "errors": row["errors"]}
        for row in ordered.collect()
    ]
