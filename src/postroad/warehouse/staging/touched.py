"""Which days newly landed events are about: those of the messages to which they happened, however long ago these were posted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from postroad.warehouse.staging.days import day_of_session

NUMBERS = ("delivery", "journey", "answers_delivery", "answers_journey", "ends_delivery", "ends_journey")


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """The days of the messages and of their transactions; no event of those days comes before entry ``first_seq``."""

    messages: frozenset[date]
    transactions: frozenset[date]
    first_seq: int


def touched_days(new: DataFrame, log: DataFrame, message_histories: DataFrame | None) -> Touched:
    """What the ``new`` events of the log touch; ``message_histories`` knows the deliveries from before, None: there were none."""
    named = _of_named(new)
    found = named if message_histories is None else named.unionByName(_of_known(new, message_histories))
    rows = found.distinct().collect()
    messages = frozenset(row["day"] for row in rows)
    return Touched(
        messages=messages,
        transactions=frozenset(row["transaction_day"] for row in rows if row["transaction_day"] is not None),
        first_seq=_first_seq(log, messages),
    )


def _first_seq(log: DataFrame, days: frozenset[date]) -> int:
    posts = log.where(fn.col("kind").isin("message.posted", "message.refused") & fn.col("day").isin(*days))
    first = posts.agg(fn.min("seq")).first() if days else None
    return first[0] or 0 if first is not None else 0


def _of_named(new: DataFrame) -> DataFrame:
    """Posts, refusals and answers in transit name their session."""
    rows = new.where(fn.col("kind").isin("message.posted", "message.refused", "invocation.returned"))
    return rows.select(
        day_of_session(fn.col("session")).alias("day"),
        day_of_session(fn.col("transaction")).alias("transaction_day"),
    )


def _of_known(new: DataFrame, message_histories: DataFrame) -> DataFrame:
    """Everything else names a delivery or a journey."""
    numbers = new.select(fn.explode(fn.array(*NUMBERS)).alias("number"))
    known = message_histories.where(fn.col("delivery").isNotNull()).select(
        "day", "transaction_day", fn.explode("stops.delivery").alias("number")
    )
    return known.join(numbers.where("number > 0").distinct(), "number", "left_semi").drop("number")
