"""The report table ``latency``: durations as counts in buckets, which can be added up for any period.

Grain: one row per (day, measure, service, bucket). Measures: ``waiting``, from the delivery to its first lease or push;
``working``, from there until the service settled it; ``response``, from a request to the response of the service. A bucket is
five per cent wide, so a percentile (computed by ``percentiles``) is exact to two and a half per cent.
"""

from __future__ import annotations

import math

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from postroad.core.audit.percentiles import RATIO, SHORTEST_US
from postroad.warehouse.staging.days import HEX_OF_MILLISECONDS
from postroad.warehouse.staging.stops import stops


def bucket_of(duration_us: Column) -> Column:
    at_least = fn.greatest(duration_us, fn.lit(SHORTEST_US)).cast("double")
    return fn.floor(fn.log(at_least / SHORTEST_US) / math.log(RATIO)).cast("int")


def latency(message_histories: DataFrame) -> DataFrame:
    at_stops = stops(message_histories)
    waiting = _measured(at_stops, "waiting", "service", fn.col("handed_out_at_us") - fn.col("queued_at_us"))
    is_settled = fn.col("state") == "delivered"
    working = _measured(
        at_stops.where(is_settled), "working", "service", fn.col("settled_at_us") - fn.col("handed_out_at_us")
    )
    answers = message_histories.where(fn.col("answers_session").isNotNull() & (fn.col("form") != "network"))
    asked_at_ms = fn.conv(fn.substring("transaction", 1, HEX_OF_MILLISECONDS), 16, 10).cast("bigint")
    response = _measured(answers, "response", "sender", fn.col("posted_at_us") - asked_at_ms * 1_000)
    rows = waiting.unionByName(working).unionByName(response)
    return rows.groupBy("day", "measure", "service", "bucket").agg(fn.count("*").alias("count"))


def _measured(frame: DataFrame, measure: str, service: str, duration_us: Column) -> DataFrame:
    rows = frame.where(duration_us.isNotNull())
    return rows.select(
        "day",
        fn.lit(measure).alias("measure"),
        fn.col(service).alias("service"),
        bucket_of(duration_us).alias("bucket"),
    )
