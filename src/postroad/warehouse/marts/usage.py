"""The mart ``usage``: how much each service was used, in which role.

Grain: one row per (organization, service, role, day, size_class). A copy that was accepted counts for its sender and for its
recipient, an in-transit service when it has returned. ``day`` is the day by the books; what things cost is no matter here.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from postroad.core.billing.rating import UNKNOWN
from postroad.core.billing.uses import BY_NETWORK
from postroad.core.model.billing import KILOBYTE
from postroad.warehouse.billing.uses import local_day

GRAIN = ("organization", "service", "role", "day", "size_class")
SIZE_CLASSES = ((1_000, "to 1 kB"), (10_000, "to 10 kB"), (100_000, "to 100 kB"), (1_000_000, "to 1 MB"))
LARGEST = "over 1 MB"
# By `delivery`, and not by `hops`, which are costly to read.
ACCEPTED = f"kind = 'message.posted' and delivery is not null and not (form <=> '{BY_NETWORK}')"
RETURNED = "kind = 'invocation.returned' and status_code is null"


def size_class(size: Column) -> Column:
    found = fn.when(size <= SIZE_CLASSES[0][0], SIZE_CLASSES[0][1])
    for most, name in SIZE_CLASSES[1:]:
        found = found.when(size <= most, name)
    return found.otherwise(LARGEST)


def usage(log: DataFrame, owners: DataFrame, time_zone: str = "UTC") -> DataFrame:
    """Usage from events, each of them once; summed up by pairs of services first, so that little is left to share out."""
    counted = log.where(fn.expr(f"({ACCEPTED}) or ({RETURNED})"))
    is_message = fn.col("kind") == "message.posted"
    day = fn.col("day") if time_zone == "UTC" else local_day(fn.col("at_us"), time_zone)
    pairs = counted.groupBy(
        fn.when(is_message, fn.col("sender")).alias("sender"),
        fn.when(is_message, fn.col("recipient")).alias("recipient"),
        fn.when(~is_message, fn.col("by")).alias("worker"),
        day.alias("day"),
        size_class(fn.col("size")).alias("size_class"),
    ).agg(
        fn.count("*").alias("messages"),
        fn.sum("size").alias("bytes"),
        fn.sum(fn.expr(f"(size + {KILOBYTE - 1}) div {KILOBYTE}")).alias("kilobytes"),
    )
    return _by_role(pairs, owners)


def _by_role(pairs: DataFrame, owners: DataFrame) -> DataFrame:
    roles = fn.array(
        *[
            fn.struct(fn.col(column).alias("service"), fn.lit(role).alias("role"))
            for column, role in (("sender", "sender"), ("recipient", "recipient"), ("worker", "in transit"))
        ]
    )
    rows = pairs.withColumn("part", fn.explode(roles)).where("part.service is not null")
    known = fn.broadcast(owners.select(fn.col("gcid").alias("service"), "organization"))
    named = rows.select("*", "part.*").join(known, "service", "left").fillna({"organization": UNKNOWN})
    return named.groupBy(*GRAIN).agg(*[fn.sum(name).alias(name) for name in ("messages", "bytes", "kilobytes")])
