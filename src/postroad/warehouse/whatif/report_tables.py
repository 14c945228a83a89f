"""The tables of a what-if report, computed by Spark; each is a pure function of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import TYPE_CHECKING

from postroad.core.codecs.lexical import write_time
from postroad.warehouse.whatif.comparison import RouteVerdict
from postroad.warehouse.whatif.report import ChangeExample, ChangeReason, ServiceGain, TrafficCounts, TrafficDay

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EXAMPLES_EACH, MAX_EXAMPLES = 3, 40  # per reason, and in total
MAX_REASONS = 100
MAX_SERVICES = 500
MAX_DAYS = 1_000  # a message dated 1970 must not cause a chart of 20,000 days


def count_days(rows: DataFrame) -> tuple[TrafficCounts, tuple[TrafficDay, ...]]:
    """Return the totals, and one row for each day (UTC) from the first to the last day with posts."""
    asked = rows.where("record in ('message', 'refused')").groupBy("day", "record", "verdict").count()
    by_day: dict[date, dict[str, int]] = {}
    refused_then = 0
    for row in asked.orderBy("day").collect():
        if row["record"] == "refused":
            refused_then += row["count"]
        else:
            by_day.setdefault(row["day"], {})[row["verdict"]] = row["count"]
    days = fill_days(by_day)
    sums = {verdict.value: sum(getattr(day, verdict.value) for day in days) for verdict in RouteVerdict}
    return TrafficCounts(messages=sum(sums.values()), refused_then=refused_then, **sums), days


def fill_days(verdicts: Mapping[date, Mapping[str, int]]) -> tuple[TrafficDay, ...]:
    """Return the days in order, including days without messages unless they span years."""
    known = sorted(verdicts)
    length = (known[-1] - known[0]).days + 1 if known else 0
    every = [known[0] + timedelta(days=number) for number in range(length)] if length <= MAX_DAYS else known
    return tuple([TrafficDay(day=str(day), **verdicts.get(day, {})) for day in every])


def changed_copies(rows: DataFrame) -> DataFrame:
    """Grain: one row per copy whose route changes."""
    from pyspark.sql import functions as f

    changed = rows.where("record = 'message' and verdict = 'changed'")
    each = changed.select("seq", "at_us", "session", "sender_address", "topic", f.explode("changes").alias("change"))
    return each.select("seq", "at_us", "session", "sender_address", "topic", "change.*")


def count_differences(changed: DataFrame) -> dict[str, int]:
    found = {row["difference"]: row["count"] for row in changed.groupBy("difference").count().collect()}
    return dict(sorted(found.items()))


def list_service_gains(changed: DataFrame) -> tuple[ServiceGain, ...]:
    """Grain: one row per service and role that any copy gains or loses; the largest changes first."""
    from pyspark.sql import functions as f

    gained = changed.select(f.explode("gained").alias("stop"), f.lit(1).alias("gained"), f.lit(0).alias("lost"))
    lost = changed.select(f.explode("lost").alias("stop"), f.lit(0).alias("gained"), f.lit(1).alias("lost"))
    summed = gained.union(lost).groupBy("stop").agg(f.sum("gained").alias("gained"), f.sum("lost").alias("lost"))
    ordered = summed.orderBy((f.col("gained") + f.col("lost")).desc(), "stop").limit(MAX_SERVICES)
    return tuple(
        ServiceGain(service=row["stop"]["service"], role=row["stop"]["role"], gained=row["gained"], lost=row["lost"])
        for row in ordered.collect()
    )


def list_reasons(changed: DataFrame) -> tuple[ChangeReason, ...]:
    """Grain: one row per reason, with the messages that have it; the most frequent first."""
    from pyspark.sql import functions as f

    each = changed.select("seq", f.explode("reasons").alias("reason"))
    counted = each.groupBy("reason").agg(f.countDistinct("seq").alias("messages"))
    ordered = counted.orderBy(f.col("messages").desc(), "reason").limit(MAX_REASONS)
    return tuple(ChangeReason(text=row["reason"], messages=row["messages"]) for row in ordered.collect())


def list_examples(changed: DataFrame) -> tuple[ChangeExample, ...]:
    """Return the first copies of each reason and difference, in the order of the journal."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    alike = Window.partitionBy("difference", "reasons").orderBy("seq", "copy")
    first = changed.withColumn("place", f.row_number().over(alike)).where(f.col("place") <= EXAMPLES_EACH)
    chosen = first.orderBy("place", "seq", "copy").limit(MAX_EXAMPLES).collect()
    return tuple(
        ChangeExample(
            session=row["session"],
            at=write_time(row["at_us"]),
            sender=row["sender_address"],
            topic=row["topic"],
            recipient=row["named"],
            difference=row["difference"],
            before=tuple(row["before"]),
            after=tuple(row["after"]),
            reasons=tuple(row["reasons"]),
            detail=row["detail"],
        )
        for row in sorted(chosen, key=lambda row: (row["seq"], row["copy"]))
    )
