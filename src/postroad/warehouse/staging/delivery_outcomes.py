"""The outcomes of deliveries and journeys, aggregated from the log.

Grain: one row per ``number`` with at least one event: a delivery, or the first delivery of a copy, which identifies its journey
too. Rules: only numbers are aggregated, because Spark adds those up without sorting; if several entries end a delivery, the one
with the lowest number counts, as everywhere in the network.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

LEASED, GIVEN_BACK, PUSH_FAILED = "delivery.leased", "delivery.returned", "delivery.attempted"
ACKNOWLEDGED, ENDED = "delivery.acknowledged", "delivery.ended"
ABOUT_DELIVERIES = (LEASED, GIVEN_BACK, PUSH_FAILED, ACKNOWLEDGED, ENDED)

ANSWERED = 9  # delivered like an acknowledged one; another number, so that the two can be distinguished
STATES = {"delivered": 1, "rejected": 2, "failed": 3, "expired": 4, "cancelled": 5}  # as core.model.delivery.State


def state_number(state: Column) -> Column:
    named = [(state == name, number) for name, number in STATES.items()]
    first, *others = named
    return reduce(lambda case, one: case.when(*one), others, fn.when(*first)).cast("int")


def state_name(number: Column) -> Column:
    """The state in a word; null where there is none."""
    named = [(number == given, name) for name, given in STATES.items()]
    return reduce(lambda case, one: case.when(*one), named, fn.when(number == ANSWERED, "delivered"))


def summarize_deliveries(log: DataFrame) -> DataFrame:
    """Return for each delivery how often and when it was handed out, its end, and the end of its journey."""
    touches = _moves(log).unionByName(_answers(log)).unionByName(_endings(log))
    is_lease = fn.col("kind") == LEASED
    leased_at = fn.when(is_lease, fn.col("at_us"))
    ends, journey_ends = fn.col("ends_seq"), fn.col("journey_seq")
    return touches.groupBy("number").agg(
        fn.count_if(is_lease).alias("attempts"),
        fn.count_if(fn.col("kind") == PUSH_FAILED).alias("pushes_failed"),
        fn.count_if(fn.col("kind") == GIVEN_BACK).alias("given_back"),
        fn.min(leased_at).alias("handed_out_at_us"),
        fn.max(leased_at).alias("last_handed_out_at_us"),
        fn.min_by("at_us", ends).alias("settled_at_us"),
        fn.min_by("end", ends).alias("end"),
        fn.min_by("at_us", journey_ends).alias("journey_ended_at_us"),
        fn.min_by("end", journey_ends).alias("journey_end"),
    )


def _moves(log: DataFrame) -> DataFrame:
    """Return the rows of entries about deliveries and journeys."""
    rows = log.where(fn.col("kind").isin(*ABOUT_DELIVERIES))
    end = state_number(fn.col("state"))
    is_journey = fn.col("about") == "journey"
    return rows.select(
        fn.coalesce("delivery", "journey").alias("number"),
        "kind",
        "at_us",
        end.alias("end"),
        fn.when(end.isNotNull() & ~is_journey, fn.col("seq")).alias("ends_seq"),
        fn.when(is_journey, fn.col("seq")).alias("journey_seq"),
    )


def _answers(log: DataFrame) -> DataFrame:
    """Answers settle the delivery that they answer."""
    rows = log.where((fn.col("answers_delivery") > 0) & (fn.col("ordinal") == 0))
    return rows.select(
        fn.col("answers_delivery").alias("number"),
        fn.lit("answered").alias("kind"),
        "at_us",
        fn.lit(ANSWERED).alias("end"),
        fn.col("seq").alias("ends_seq"),
        fn.lit(None).cast("bigint").alias("journey_seq"),
    )


def _endings(log: DataFrame) -> DataFrame:
    """An error response of the network ends a journey, and the delivery at which it was."""
    rows = log.where(fn.col("ends_journey").isNotNull() & (fn.col("ordinal") == 0))
    nothing = fn.lit(None).cast("bigint")
    what = fn.explode(
        fn.array(
            fn.struct(
                fn.col("ends_delivery").alias("number"), fn.col("seq").alias("ends_seq"), nothing.alias("journey_seq")
            ),
            fn.struct(
                fn.col("ends_journey").alias("number"), nothing.alias("ends_seq"), fn.col("seq").alias("journey_seq")
            ),
        )
    )
    end = state_number(fn.col("ends_state"))
    told = rows.select(what.alias("what"), fn.lit("ended").alias("kind"), "at_us", end.alias("end"))
    return told.select("what.number", "kind", "at_us", "end", "what.ends_seq", "what.journey_seq").where("number > 0")


def reasons(log: DataFrame) -> DataFrame:
    """Why deliveries and journeys ended that were not delivered. Grain: one row per ``number``; there are few."""
    ended = log.where(fn.col("kind") == ENDED).select(
        fn.coalesce("delivery", "journey").alias("number"), "seq", "reason"
    )
    told = log.where(fn.col("ends_journey").isNotNull() & (fn.col("ordinal") == 0))
    by_response = told.select(
        fn.explode(fn.array("ends_delivery", "ends_journey")).alias("number"),
        "seq",
        fn.col("ends_reason").alias("reason"),
    ).where("number > 0")
    return ended.unionByName(by_response).groupBy("number").agg(fn.min_by("reason", "seq").alias("reason"))
