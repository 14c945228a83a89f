"""The report table ``errors``: what went wrong, by code and by whose it was.

Grain: one row per (day, what, code, organization). ``what`` is one of: a refused post, a refused recipient (of the poster); an
error response (of its sender); expired, failed, rejected, cancelled (of the recipient).
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from postroad.warehouse.staging.services import organization_of

ENDS = ("expired", "failed", "rejected", "cancelled")


def errors(log: DataFrame, message_histories: DataFrame, services: DataFrame) -> DataFrame:
    refused = log.where(fn.col("kind") == "message.refused").select(
        "day", fn.lit("refused post").alias("what"), "code", fn.coalesce("sender", fn.lit("")).alias("service")
    )
    copies = message_histories.where(fn.col("code").isNotNull()).select(
        "day", fn.lit("refused recipient").alias("what"), "code", fn.col("sender").alias("service")
    )
    answers = message_histories.where(fn.col("status_code").isNotNull() & (fn.col("form") != "network")).select(
        "day",
        fn.lit("error response").alias("what"),
        fn.col("status_code").alias("code"),
        fn.col("sender").alias("service"),
    )
    ended = message_histories.where(fn.col("state").isin(*ENDS)).select(
        "day",
        fn.col("state").alias("what"),
        fn.coalesce(fn.regexp_extract("reason", r"^([a-z]+\.[a-z-]+):", 1), fn.lit("")).alias("code"),
        fn.col("recipient").alias("service"),
    )
    rows = refused.unionByName(copies).unionByName(answers).unionByName(ended)
    named = organization_of(rows, services, "service", "organization")
    return named.groupBy("day", "what", "code", "organization").agg(fn.count("*").alias("count"))
