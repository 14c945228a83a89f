"""The days that newly landed events affect: those of their messages and batches, however old."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from postroad.warehouse.staging.days import day_of_session

NAMING = ("message.posted", "message.refused", "invocation.returned", "delivery.resent")
NUMBERS = ("delivery", "journey", "answers_delivery", "answers_journey", "ends_delivery", "ends_journey")


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """The days of the messages, of their transactions and of batches.

    No event of those days comes before entry ``first_seq``, and none of those batches before ``first_batch_seq``.
    """

    messages: frozenset[date]
    transactions: frozenset[date]
    first_seq: int
    batches: frozenset[date] = frozenset()
    first_batch_seq: int = 0


def touched_days(new: DataFrame, log: DataFrame, message_histories: DataFrame | None) -> Touched:
    """Return the days that the ``new`` events affect; ``message_histories`` is None before the first run."""
    named = _of_named(new)
    found = named if message_histories is None else named.unionByName(_of_known(new, message_histories))
    rows = found.distinct().collect()
    messages = frozenset(row["day"] for row in rows)
    batches = _of_batches(new)
    return Touched(
        messages=messages,
        transactions=frozenset(row["transaction_day"] for row in rows if row["transaction_day"] is not None),
        first_seq=_first_seq(log, messages),
        batches=batches,
        first_batch_seq=_first_batch_seq(log, batches),
    )


def _of_batches(new: DataFrame) -> frozenset[date]:
    """Return the days of batches, whose ids begin with the time they were opened, like sessions."""
    named = new.where(fn.col("batch").isNotNull()).select(day_of_session(fn.col("batch")).alias("day"))
    return frozenset(row["day"] for row in named.distinct().collect())


def _first_batch_seq(log: DataFrame, days: frozenset[date]) -> int:
    told = log.where(fn.col("batch").isNotNull() & day_of_session(fn.col("batch")).isin(*days))
    first = told.agg(fn.min("seq")).first() if days else None
    return first[0] or 0 if first is not None else 0


def _first_seq(log: DataFrame, days: frozenset[date]) -> int:
    posts = log.where(fn.col("kind").isin("message.posted", "message.refused") & fn.col("day").isin(*days))
    first = posts.agg(fn.min("seq")).first() if days else None
    return first[0] or 0 if first is not None else 0


def _of_named(new: DataFrame) -> DataFrame:
    """Whatever makes a message, a stop of it or a round of it names its session; its numbers are known to no one yet."""
    rows = new.where(fn.col("kind").isin(*NAMING))
    return rows.select(
        day_of_session(fn.col("session")).alias("day"),
        day_of_session(fn.col("transaction")).alias("transaction_day"),
    )


def _of_known(new: DataFrame, message_histories: DataFrame) -> DataFrame:
    """Return the days of deliveries and journeys that the other events name."""
    numbers = new.select(fn.explode(fn.array(*NUMBERS)).alias("number"))
    known = message_histories.where(fn.col("delivery").isNotNull()).select(
        "day", "transaction_day", fn.explode("stops.delivery").alias("number")
    )
    return known.join(numbers.where("number > 0").distinct(), "number", "left_semi").drop("number")
