"""The report table ``partner_days``: the daily figures of each organization from which anomalies are computed.

Grain: one row per (day, organization): the messages that it posted; the requests that its services answered, and how many with an
error; and the median and the spread of the response times, as natural logarithms of milliseconds.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from postroad.warehouse.staging.days import HEX_OF_MILLISECONDS
from postroad.warehouse.staging.services import organization_of

ACCURACY = 1_000  # of percentiles
QUARTILES_APART = 1.349  # standard deviations between the quartiles of a normal distribution


def partner_days(message_histories: DataFrame, services: DataFrame) -> DataFrame:
    is_answer = fn.col("answers_session").isNotNull()
    asked_at_ms = fn.conv(fn.substring("transaction", 1, HEX_OF_MILLISECONDS), 16, 10).cast("bigint")
    took_ms = fn.greatest(fn.lit(1.0), fn.col("posted_at_us") / 1_000 - asked_at_ms)
    rows = message_histories.where((fn.col("copy") == 0) & (fn.col("form") != "network")).select(
        "day",
        "sender",
        is_answer.alias("is_answer"),
        (is_answer & fn.col("status_code").isNotNull()).alias("is_error"),
        fn.when(is_answer, fn.log(took_ms)).alias("took"),
    )
    quartiles = fn.percentile_approx("took", [0.25, 0.5, 0.75], ACCURACY)
    named = organization_of(rows, services, "sender", "organization")
    found = named.groupBy("day", "organization").agg(
        fn.count_if(~fn.col("is_answer")).alias("messages"),
        fn.count_if("is_answer").alias("answers"),
        fn.count_if("is_error").alias("errors"),
        quartiles.alias("quartiles"),
    )
    spread = (fn.col("quartiles")[2] - fn.col("quartiles")[0]) / QUARTILES_APART
    return found.select(
        "day",
        "organization",
        "messages",
        "answers",
        "errors",
        fn.col("quartiles")[1].alias("took"),
        spread.alias("spread"),
    )
