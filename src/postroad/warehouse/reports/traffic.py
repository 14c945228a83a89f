"""The report table ``traffic``: posted messages by hour.

Grain: one row per (day, hour, type); posts that were refused as a whole have the type ``refused``.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn


def traffic(log: DataFrame, message_histories: DataFrame) -> DataFrame:
    first = fn.col("copy") == 0
    posted_at = fn.timestamp_micros("posted_at_us")
    posted = message_histories.groupBy("day", fn.hour(posted_at).alias("hour"), "type").agg(
        fn.count_if(first).alias("messages"),
        fn.count("*").alias("copies"),
        fn.count_if(fn.col("code").isNotNull()).alias("refused_copies"),
        fn.sum(fn.when(first, fn.col("size")).otherwise(0)).alias("bytes"),
    )
    refused = (
        log.where(fn.col("kind") == "message.refused")
        .groupBy("day", fn.hour("at").alias("hour"))
        .agg(
            fn.count("*").alias("messages"),
            fn.lit(0).cast("bigint").alias("copies"),
            fn.lit(0).cast("bigint").alias("refused_copies"),
            fn.sum("size").alias("bytes"),
        )
    )
    return posted.unionByName(refused.withColumn("type", fn.lit("refused")))
