"""The mart ``delivery_attempts``: every lease or push of a delivery, and its outcome.

Grain: one row per (delivery, attempt); attempts are numbered from 1 in the order of the journal. ``day`` is the day on which the
message was posted. ``outcome`` is the next event of the delivery: acknowledged, answered, given back, push failed, lapsed
(offered again because the lease ended), a final state other than delivered, or ``in hand`` if there is no later event.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from postroad.warehouse.staging.delivery_outcomes import (
    ABOUT_DELIVERIES,
    ACKNOWLEDGED,
    ENDED,
    GIVEN_BACK,
    LEASED,
    PUSH_FAILED,
)
from postroad.warehouse.staging.stops import stops

OUTCOMES = {ACKNOWLEDGED: "acknowledged", GIVEN_BACK: "given back", PUSH_FAILED: "push failed", LEASED: "lapsed"}


def delivery_attempts(log: DataFrame, message_histories: DataFrame) -> DataFrame:
    """Return the attempts of the deliveries in these histories."""
    in_order = Window.partitionBy("delivery").orderBy("seq", "what")
    following = {
        name: fn.lead(name).over(in_order) for name in ("what", "at_us", "reason", "http_status", "duration_ms")
    }
    told = _events(log).withColumns({f"next_{name}": column for name, column in following.items()})
    leases = told.where(fn.col("what") == LEASED).withColumn("attempt", fn.row_number().over(in_order))
    where = stops(message_histories).select("delivery", "message_seq", "copy", "hop", "day", "service", "in_transit")
    found = leases.join(where, "delivery")
    return found.select(
        "delivery",
        "attempt",
        "day",
        "message_seq",
        "copy",
        "hop",
        "service",
        "in_transit",
        fn.col("seq").alias("leased_seq"),
        fn.col("at_us").alias("handed_out_at_us"),
        fn.col("next_at_us").alias("outcome_at_us"),
        fn.coalesce(_outcome(), fn.lit("in hand")).alias("outcome"),
        fn.col("next_http_status").alias("http_status"),
        fn.col("next_duration_ms").alias("duration_ms"),
        fn.col("next_reason").alias("reason"),
    )


def _outcome() -> Column:
    what = fn.col("next_what")
    named = fn.when(what.isNull(), fn.lit(None).cast("string"))
    for kind, outcome in OUTCOMES.items():
        named = named.when(what == kind, outcome)
    return named.otherwise(what)


def _events(log: DataFrame) -> DataFrame:
    """Return one row per event of a delivery; an end has the name of its state."""
    rows = log.where(fn.col("kind").isin(*ABOUT_DELIVERIES) & (fn.col("about") == "delivery"))
    what = fn.when(fn.col("kind") == ENDED, fn.col("state")).otherwise(fn.col("kind"))
    moves = rows.select("delivery", "seq", what.alias("what"), "at_us", "reason", "http_status", "duration_ms")
    none = [fn.lit(None).cast("int").alias("http_status"), fn.lit(None).cast("bigint").alias("duration_ms")]
    answered = log.where((fn.col("answers_delivery") > 0) & (fn.col("ordinal") == 0)).select(
        fn.col("answers_delivery").alias("delivery"), "seq", fn.lit("answered").alias("what"), "at_us",
        fn.col("status_code").alias("reason"), *none,
    )  # fmt: skip
    ended = log.where((fn.col("ends_delivery") > 0) & (fn.col("ordinal") == 0)).select(
        fn.col("ends_delivery").alias("delivery"), "seq", fn.col("ends_state").alias("what"), "at_us",
        fn.col("ends_reason").alias("reason"), *none,
    )  # fmt: skip
    return moves.unionByName(answered).unionByName(ended)
