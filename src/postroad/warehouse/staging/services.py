"""The table ``services``: what a GCID stands for.

Grain: one row per service that ever was, with the names of its latest version; marts keep GCIDs, reports show names.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

VALUE = "organization string, name string, delivery string, hosted string"


def services(log: DataFrame) -> DataFrame:
    """Every service of this log's configuration."""
    saved = log.where((fn.col("object_kind") == "service") & fn.col("object_value").isNotNull())
    latest = saved.groupBy(fn.col("object_key").alias("service")).agg(
        fn.max_by("object_value", "object_version").alias("value")
    )
    known = latest.select("service", fn.from_json("value", VALUE).alias("value"))
    return known.select(
        "service",
        fn.col("value.organization").alias("organization"),
        fn.col("value.name").alias("name"),
        fn.concat_ws("/", "value.organization", "value.name").alias("address"),
        fn.col("value.delivery").alias("delivery"),
    )


def organization_of(frame: DataFrame, services: DataFrame, column: str, named: str) -> DataFrame:
    """The frame with the organization of the service in ``column``; the GCID itself where no one knows it."""
    known = services.select(fn.col("service").alias("_service"), fn.col("organization").alias("_organization"))
    found = frame.join(fn.broadcast(known), fn.col(column) == fn.col("_service"), "left")
    return found.withColumn(named, fn.coalesce("_organization", column)).drop("_service", "_organization")
