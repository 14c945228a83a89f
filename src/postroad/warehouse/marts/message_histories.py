"""The mart ``message_histories``: the route and the final state of every copy of every message.

Grain: one row per (message_seq, copy), refused copies included. ``day`` is the day on which the message was posted. ``stops`` has
an element for each service that the copy has reached, in order; a resent dead letter has another element for the same service.
``state`` is the final state of the copy in its last round, as ``postroad trace`` shows it: ``under way`` until the journey of a
followed copy ends, otherwise the state of its last stop; null for a refused copy.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from postroad.warehouse.staging.days import day_of_session
from postroad.warehouse.staging.delivery_outcomes import ANSWERED, reasons, state_name, summarize_deliveries

KEY = ("message_seq", "copy")
UNDER_WAY = "under way"

POSTED = (
    *("message_seq", "copy", "session", "transaction", "type", "topic", "form", "handle", "sender", "recipient"),
    *("named", "code", "detail", "size", "body_bytes", "directory", "expires_at_us", "status_code"),
    *("answers_session", "answers_journey", "delivery", "journey", "service", "ordinal"),
)


def message_histories(log: DataFrame) -> DataFrame:
    """Return the histories of all messages that were posted in this log."""
    happened = summarize_deliveries(log)
    later = _later_stops(log, happened)
    whole = _first_stops(log, happened).join(later, fn.col("delivery") == fn.col("began_with"), "left")
    whole = _in_last_round(whole, _rounds(log, happened))
    last_state = fn.coalesce(fn.element_at("later", -1)["state"], fn.col("first.state"))
    is_followed = fn.col("journey") == fn.col("delivery")
    state = fn.when(is_followed, fn.coalesce(state_name(fn.col("journey_end")), fn.lit(UNDER_WAY))).when(
        fn.col("delivery").isNotNull(), last_state
    )
    stops = fn.when(
        fn.col("delivery").isNotNull(), fn.concat(fn.array("first"), fn.coalesce("later", fn.array().cast(_STOPS)))
    )
    return whole.select(
        *KEY,
        fn.to_date("posted_at").alias("day"),
        *[name for name in POSTED if name not in (*KEY, "ordinal", "service")],
        fn.unix_micros("posted_at").alias("posted_at_us"),
        day_of_session(fn.col("transaction")).alias("transaction_day"),
        fn.col("hops_planned"),
        state.alias("state"),
        fn.when(is_followed, fn.col("journey_ended_at_us"))
        .otherwise(fn.coalesce(fn.element_at("later", -1)["settled_at_us"], fn.col("first.settled_at_us")))
        .alias("ended_at_us"),
        fn.when(state != "delivered", fn.col("reason")).alias("reason"),
        stops.alias("stops"),
    )


_STOPS = (
    "array<struct<hop:int,delivery:bigint,service:string,queued_at_us:bigint,handed_out_at_us:bigint,"
    "settled_at_us:bigint,state:string,is_answered:boolean,attempts:bigint,pushes_failed:bigint,given_back:bigint,size:bigint>>"
)


def _rounds(log: DataFrame, happened: DataFrame) -> DataFrame:
    """Return how the last journey of resent copies ended. Grain: one row per ``resent``, the first delivery; few."""
    rows = log.where((fn.col("kind") == "delivery.resent") & fn.col("journey").isNotNull())
    rounds = rows.select("message_seq", "copy", "seq", fn.col("journey").alias("round"))
    posts = log.where((fn.col("kind") == "message.posted") & fn.col("answers_journey").isNotNull())
    requests = posts.select(fn.col("message_seq"), "answers_journey")  # a response's round is one of its request
    owned = rounds.join(requests, "message_seq", "left")
    first = fn.coalesce("answers_journey", fn.shiftleft("message_seq", 16).bitwiseOR(fn.col("copy")))
    last = owned.groupBy(first.alias("resent")).agg(fn.max_by("round", "seq").alias("round"))
    ends = happened.select(
        "number", fn.col("journey_end").alias("round_end"), fn.col("journey_ended_at_us").alias("over")
    )
    return last.join(ends, fn.col("round") == fn.col("number"), "left").select("resent", "round_end", "over")


def _in_last_round(histories: DataFrame, rounds: DataFrame) -> DataFrame:
    """Return the copies with the end of their last journey instead of the first one's."""
    found = histories.join(fn.broadcast(rounds), fn.col("delivery") == fn.col("resent"), "left")
    is_resent = fn.col("resent").isNotNull()
    return found.withColumns(
        {
            "journey_end": fn.when(is_resent, fn.col("round_end")).otherwise(fn.col("journey_end")),
            "journey_ended_at_us": fn.when(is_resent, fn.col("over")).otherwise(fn.col("journey_ended_at_us")),
        }
    ).drop("resent", "round_end", "over")


def _first_stops(log: DataFrame, happened: DataFrame) -> DataFrame:
    """Return every copy with its first stop, and the end of its journey."""
    rows = log.where((fn.col("kind") == "message.posted") & (fn.col("about") == "copy"))
    posts = rows.select(*POSTED, fn.col("at").alias("posted_at"), fn.size("hops").alias("hops_planned"))
    found = posts.join(happened, fn.col("delivery") == fn.col("number"), "left").drop("number")
    why = reasons(log).withColumnRenamed("number", "ended")
    found = found.join(why, fn.col("delivery") == fn.col("ended"), "left").drop("ended")
    first = _stop(fn.lit(0), fn.unix_micros("posted_at"))
    return found.withColumn("first", fn.when(fn.col("delivery").isNotNull(), first))


def _later_stops(log: DataFrame, happened: DataFrame) -> DataFrame:
    """Return the stops after the first; a copy is identified by its first delivery, so one key joins everything."""
    rows = log.where(fn.col("kind").isin("invocation.returned", "delivery.resent"))
    began_with = fn.shiftleft("message_seq", 16).bitwiseOR(fn.col("copy").cast("bigint")).alias("began_with")
    made = rows.select(began_with, "hop", "delivery", "service", "body_bytes", fn.col("at_us").alias("made_at_us"))
    found = made.join(happened, fn.col("delivery") == fn.col("number"), "left")
    stop = _stop(fn.col("hop"), fn.col("made_at_us"))
    return found.groupBy("began_with").agg(fn.array_sort(fn.collect_list(stop)).alias("later"))


def _stop(hop: Column, queued_at_us: Column) -> Column:
    counts = [fn.coalesce(name, fn.lit(0)).cast("bigint").alias(name) for name in COUNTS]
    return fn.struct(
        hop.cast("int").alias("hop"),
        "delivery",
        "service",
        queued_at_us.alias("queued_at_us"),
        "handed_out_at_us",
        "settled_at_us",
        fn.coalesce(state_name(fn.col("end")), fn.lit("queued")).alias("state"),
        (fn.coalesce("end", fn.lit(0)) == ANSWERED).alias("is_answered"),
        *counts,
        fn.col("body_bytes").alias("size"),
    )


COUNTS = ("attempts", "pushes_failed", "given_back")
