"""The report table ``partners``: traffic per pair of sender and recipient.

Grain: one row per (day, sender, recipient), both organizations; ``sender`` is who posted the request or notification. Responses
are not counted as messages of their own: they are in ``errors`` where they report one.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from postroad.warehouse.staging.services import organization_of

ENDS = ("expired", "failed", "rejected")


def partners(message_histories: DataFrame, services: DataFrame) -> DataFrame:
    is_answer = fn.col("answers_session").isNotNull()
    rows = message_histories.where(fn.col("code").isNull()).select(
        "day",
        fn.when(is_answer, fn.col("recipient")).otherwise(fn.col("sender")).alias("from"),
        fn.when(is_answer, fn.col("sender")).otherwise(fn.col("recipient")).alias("to"),
        (~is_answer).alias("is_message"),
        (~is_answer & (fn.col("type") == "request")).alias("is_request"),
        fn.when(is_answer, 0).otherwise(fn.col("size")).alias("size"),
        (is_answer & fn.col("status_code").isNotNull() & (fn.col("form") != "network")).alias("is_error"),
        (~is_answer & fn.col("state").isin(*ENDS)).alias("is_undelivered"),
    )
    named = organization_of(organization_of(rows, services, "from", "sender"), services, "to", "recipient")
    return named.groupBy("day", "sender", "recipient").agg(
        fn.count_if("is_message").alias("messages"),
        fn.count_if("is_request").alias("requests"),
        fn.sum("size").alias("bytes"),
        fn.count_if("is_error").alias("errors"),
        fn.count_if("is_undelivered").alias("undelivered"),
    )
