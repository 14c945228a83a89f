"""The mart ``batches``: what every batch of a send port was, and what became of it.

Grain: one row per ``batch``. ``day`` is the day on which it was opened. ``state`` is what it is by the latest entry about it, and
``reason`` why; ``closed_by`` is the criterion that closed it. ``gathering_us`` is how long it was open, ``member_waiting_us`` how
long a member waited for its closing on average, ``sending_us`` how long it took from there until it was sent or dropped.
``attempts`` are those at delivering its interchange; ``verdict`` is the last that the partner said of it, and
``rejected_members`` are those that it rejected.
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
    """The batches of this log, whose every entry must be in it."""
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
    """The latest that was said of each batch, and when it was assembled and over."""
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
    """When its members came, on average."""
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
    """How often interchanges were handed out or pushed, at every stop and in every round."""
    stops = fn.col("stops")
    attempts = fn.aggregate(stops, fn.lit(0).cast("bigint"), lambda sum_, stop: sum_ + stop["attempts"])
    rows = message_histories.where(stops.isNotNull())
    return rows.groupBy(fn.col("session").alias("interchange")).agg(fn.sum(attempts).alias("attempts"))


def _lasting(since: Column, until: Column) -> Column:
    """By clocks of several nodes: nothing takes less than no time."""
    return fn.when(until.isNotNull() & since.isNotNull(), fn.greatest(fn.lit(0), until - since))
