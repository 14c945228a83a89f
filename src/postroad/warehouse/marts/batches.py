"""The mart ``batches``: every batch of a send port, with its times, its state and the partner's status.

Grain: one row per ``batch``. ``day`` is the day on which it was opened. ``state`` and ``reason`` are those of the latest entry
about it; ``closed_by`` is the criterion that closed it. ``gathering_us`` is the time from opening to closing,
``member_waiting_us`` the average time from the arrival of a member to closing, ``sending_us`` the time from closing until the
batch was sent or dropped. ``attempts`` counts the attempts to deliver its interchange; ``verdict`` is the last status that the
partner reported, and ``rejected_members`` the number of members that the partner rejected.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from postroad.warehouse.staging.days import day_of_session

FACTS = (
    *("service", "batch_state", "reason", "batch_key", "document_type", "opened_at_us", "closed_at_us", "closed_by"),
    *("members", "batch_bytes", "interchange"),
)
OVER = ("sent", "dropped", "dissolved")
REJECTED = "rejected"


def batches(log: DataFrame, message_histories: DataFrame) -> DataFrame:
    """Return the batches of this log, which must contain every entry about them."""
    named = log.where(fn.col("batch").isNotNull())
    whole = _as_they_are(named).join(_waits(named), "batch", "left").join(_answers(named), "batch", "left")
    whole = whole.join(_attempts(message_histories), "interchange", "left")
    closed = fn.col("closed_at_us")
    return whole.select(
        "batch",
        day_of_session(fn.col("batch")).alias("day"),
        "service",
        fn.col("batch_key").alias("key"),
        "document_type",
        fn.col("batch_state").alias("state"),
        "closed_by",
        "reason",
        "members",
        fn.col("batch_bytes").alias("bytes"),
        "opened_at_us",
        "closed_at_us",
        "assembled_at_us",
        "over_at_us",
        (closed - fn.col("opened_at_us")).alias("gathering_us"),
        (closed - fn.col("joined_at_us")).cast("bigint").alias("member_waiting_us"),
        _lasting(closed, fn.col("over_at_us")).alias("sending_us"),
        "interchange",
        "standard",
        "control_numbers",
        fn.coalesce("attempts", fn.lit(0)).alias("attempts"),
        "verdict",
        fn.coalesce("rejected_members", fn.lit(0)).alias("rejected_members"),
    )


def _as_they_are(named: DataFrame) -> DataFrame:
    """Return the latest state of each batch, and when it was assembled and finished."""
    told = named.where(fn.col("about") == "batch")
    state, seq = fn.col("batch_state"), fn.col("seq")
    is_post = fn.col("control_numbers").isNotNull() | fn.col("standard").isNotNull()
    made_seq = fn.when(is_post, seq)
    latest = fn.max_by(fn.struct(*FACTS), seq).alias("latest")
    return (
        told.groupBy("batch")
        .agg(
            latest,
            fn.min(fn.when(is_post, fn.col("at_us"))).alias("assembled_at_us"),
            fn.min(fn.when(state.isin(*OVER), fn.col("at_us"))).alias("over_at_us"),
            fn.max_by("standard", made_seq).alias("standard"),
            fn.max_by("control_numbers", made_seq).alias("control_numbers"),
        )
        .select("batch", "latest.*", "assembled_at_us", "over_at_us", "standard", "control_numbers")
    )


def _waits(named: DataFrame) -> DataFrame:
    """Return the average arrival time of the members of each batch."""
    joined = named.where((fn.col("kind") == "batch.changed") & (fn.col("about") == "delivery"))
    return joined.groupBy("batch").agg(fn.avg("at_us").cast("bigint").alias("joined_at_us"))


def _answers(named: DataFrame) -> DataFrame:
    answers = named.where(fn.col("about") == "answer")
    of_whole = fn.col("delivery").isNull()
    rejected = fn.when(~of_whole & (fn.col("verdict") == REJECTED), fn.col("delivery"))
    return answers.groupBy("batch").agg(
        fn.max_by("verdict", fn.when(of_whole, fn.col("seq"))).alias("verdict"),
        fn.count_distinct(rejected).alias("rejected_members"),
    )


def _attempts(message_histories: DataFrame) -> DataFrame:
    """Count how often interchanges were leased or pushed, at every stop and in every round."""
    stops = fn.col("stops")
    attempts = fn.aggregate(stops, fn.lit(0).cast("bigint"), lambda sum_, stop: sum_ + stop["attempts"])
    rows = message_histories.where(stops.isNotNull())
    return rows.groupBy(fn.col("session").alias("interchange")).agg(fn.sum(attempts).alias("attempts"))


def _lasting(since: Column, until: Column) -> Column:
    """Return the time between two events, at least 0: clocks of nodes may disagree."""
    return fn.when(until.isNotNull() & since.isNotNull(), fn.greatest(fn.lit(0), until - since))
