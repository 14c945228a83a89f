"""The stops of message histories as separate rows.

Grain: one row per ``delivery``, with the day, type, sender and transaction of its message. It is computed when needed instead of
being stored, because it moves no data between machines.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

OF_MESSAGE = ("message_seq", "copy", "day", "type", "sender", "recipient", "transaction", "transaction_day")


def stops(message_histories: DataFrame) -> DataFrame:
    rows = message_histories.where(fn.col("delivery").isNotNull())
    flat = rows.select(*OF_MESSAGE, "hops_planned", fn.explode("stops").alias("stop"))
    is_last = fn.col("stop.hop") >= fn.col("hops_planned") - 1
    return flat.select(*OF_MESSAGE, "stop.*", (~is_last).alias("in_transit"))
