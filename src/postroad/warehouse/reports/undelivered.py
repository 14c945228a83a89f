"""The report table ``undelivered``: every accepted copy that was not delivered.

Grain: one row per (message_seq, copy) whose state is not ``delivered``: expired, failed, rejected, cancelled, or under way.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from postroad.warehouse.staging.services import organization_of


def undelivered(message_histories: DataFrame, services: DataFrame) -> DataFrame:
    rows = message_histories.where(fn.col("code").isNull() & (fn.col("state") != "delivered"))
    at = fn.element_at("stops", -1)
    known = rows.select(
        "message_seq",
        "copy",
        "day",
        "session",
        "type",
        "topic",
        "sender",
        "recipient",
        "posted_at_us",
        fn.when(fn.col("state") == "queued", "under way").otherwise(fn.col("state")).alias("state"),
        "reason",
        at["service"].alias("at_service"),
        at["attempts"].alias("attempts"),
    )
    named = organization_of(known, services, "sender", "sender_organization")
    return organization_of(named, services, "recipient", "recipient_organization")
