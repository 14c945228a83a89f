"""The mart ``usage``: how often and with how many bytes each service was used, by role.

Grain: one row per (organization, service, role, day, size_class). An accepted copy counts for its sender and for its recipient,
and for an in-transit service once that has returned it. ``day`` is the day in the billing time zone. Prices are not applied.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from postroad.core.billing.charges import UNKNOWN
from postroad.core.model.billing import KILOBYTE
from postroad.core.model.journal import BY_NETWORK
from postroad.warehouse.billing.uses import local_day

GRAIN = ("organization", "service", "role", "day", "size_class")
SIZE_CLASSES = ((1_000, "to 1 kB"), (10_000, "to 10 kB"), (100_000, "to 100 kB"), (1_000_000, "to 1 MB"))
LARGEST = "over 1 MB"
ROLES = ("sender", "recipient", "in transit")
# By `delivery`, and not by `hops`, which are costly to read.
ACCEPTED = f"kind = 'message.posted' and delivery is not null and not (form <=> '{BY_NETWORK}')"
RETURNED = "kind = 'invocation.returned' and status_code is null"


def size_class(number: Column) -> Column:
    """Return the name of the size class with this number."""
    names = [name for _, name in SIZE_CLASSES] + [LARGEST]
    return fn.element_at(fn.array(*[fn.lit(name) for name in names]), number + 1)


def _class_number(size: Column) -> Column:
    return sum((fn.when(size > most, 1).otherwise(0) for most, _ in SIZE_CLASSES), fn.lit(0))


def usage(log: DataFrame, owners: DataFrame, time_zone: str = "UTC") -> DataFrame:
    """Return usage from distinct events. Names are added after summing up, when few rows are left."""
    counted = log.where(f"({ACCEPTED}) or ({RETURNED})")
    is_message = fn.col("kind") == "message.posted"
    parts = fn.when(is_message, fn.array(_part("sender", 0), _part("recipient", 1))).otherwise(fn.array(_part("by", 2)))
    day = fn.col("day") if time_zone == "UTC" else local_day(fn.col("at_us"), time_zone)
    rows = counted.select(
        fn.explode(parts).alias("part"), day.alias("day"), _class_number(fn.col("size")).alias("class"), "size"
    )
    summed = rows.groupBy("part.service", "part.role", "day", "class").agg(
        fn.count("*").alias("messages"),
        fn.sum("size").alias("bytes"),
        fn.sum(fn.expr(f"(size + {KILOBYTE - 1}) div {KILOBYTE}")).alias("kilobytes"),
    )
    known = fn.broadcast(owners.select(fn.col("gcid").alias("service"), "organization"))
    named = summed.join(known, "service", "left")
    roles = fn.array(*[fn.lit(role) for role in ROLES])
    return named.select(
        fn.coalesce("organization", fn.lit(UNKNOWN)).alias("organization"),
        "service",
        fn.element_at(roles, fn.col("role") + 1).alias("role"),
        "day",
        size_class(fn.col("class")).alias("size_class"),
        *("messages", "bytes", "kilobytes"),
    )


def _part(column: str, role: int) -> Column:
    return fn.struct(fn.col(column).alias("service"), fn.lit(role).alias("role"))
