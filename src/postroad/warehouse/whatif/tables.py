"""From the rows of all messages to the tables of a report, by Spark; each is a pure function of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import TYPE_CHECKING

from postroad.core.codecs.lexical import write_time
from postroad.warehouse.whatif.comparing import Verdict
from postroad.warehouse.whatif.report import Day, Example, Reason, ServiceChange, Traffic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EXAMPLES_EACH, EXAMPLES_MOST = 3, 40  # of each reason, and altogether
REASONS_MOST = 100
SERVICES_MOST = 500
DAYS_MOST = 1_000  # a clock that was set to 1970 makes no chart of twenty thousand days


def counted_days(rows: DataFrame) -> tuple[Traffic, tuple[Day, ...]]:
    """The messages altogether, and one row for each day (UTC) from the first on which any was posted to the last."""
    asked = rows.where("record in ('message', 'refused')").groupBy("day", "record", "verdict").count()
    by_day: dict[date, dict[str, int]] = {}
    refused_then = 0
    for row in asked.orderBy("day").collect():
        if row["record"] == "refused":
            refused_then += row["count"]
        else:
            by_day.setdefault(row["day"], {})[row["verdict"]] = row["count"]
    days = day_by_day(by_day)
    sums = {verdict.value: sum(getattr(day, verdict.value) for day in days) for verdict in Verdict}
    return Traffic(messages=sum(sums.values()), refused_then=refused_then, **sums), days


def day_by_day(verdicts: Mapping[date, Mapping[str, int]]) -> tuple[Day, ...]:
    """The days in their order, those between them on which nothing was posted too, unless that were years."""
    known = sorted(verdicts)
    length = (known[-1] - known[0]).days + 1 if known else 0
    every = [known[0] + timedelta(days=number) for number in range(length)] if length <= DAYS_MOST else known
    return tuple([Day(day=str(day), **verdicts.get(day, {})) for day in every])


def changes(rows: DataFrame) -> DataFrame:
    """Grain: one row per copy whose way changes."""
    from pyspark.sql import functions as f

    changed = rows.where("record = 'message' and verdict = 'changed'")
    each = changed.select("seq", "at_us", "session", "sender_address", "topic", f.explode("changes").alias("change"))
    return each.select("seq", "at_us", "session", "sender_address", "topic", "change.*")


def differences(changed: DataFrame) -> dict[str, int]:
    found = {row["difference"]: row["count"] for row in changed.groupBy("difference").count().collect()}
    return dict(sorted(found.items()))


def services(changed: DataFrame) -> tuple[ServiceChange, ...]:
    """Grain: one row per service and role that any copy gains or loses; those with most change first."""
    from pyspark.sql import functions as f

    gained = changed.select(f.explode("gained").alias("stop"), f.lit(1).alias("gained"), f.lit(0).alias("lost"))
    lost = changed.select(f.explode("lost").alias("stop"), f.lit(0).alias("gained"), f.lit(1).alias("lost"))
    summed = gained.union(lost).groupBy("stop").agg(f.sum("gained").alias("gained"), f.sum("lost").alias("lost"))
    ordered = summed.orderBy((f.col("gained") + f.col("lost")).desc(), "stop").limit(SERVICES_MOST)
    return tuple(
        ServiceChange(service=row["stop"]["service"], role=row["stop"]["role"], gained=row["gained"], lost=row["lost"])
        for row in ordered.collect()
    )


def reasons(changed: DataFrame) -> tuple[Reason, ...]:
    """Grain: one row per reason, with the messages that have it; the most frequent first."""
    from pyspark.sql import functions as f

    each = changed.select("seq", f.explode("reasons").alias("reason"))
    counted = each.groupBy("reason").agg(f.countDistinct("seq").alias("messages"))
    ordered = counted.orderBy(f.col("messages").desc(), "reason").limit(REASONS_MOST)
    return tuple(Reason(text=row["reason"], messages=row["messages"]) for row in ordered.collect())


def examples(changed: DataFrame) -> tuple[Example, ...]:
    """The first copies of each reason and difference, in the order of the journal."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    alike = Window.partitionBy("difference", "reasons").orderBy("seq", "copy")
    first = changed.withColumn("place", f.row_number().over(alike)).where(f.col("place") <= EXAMPLES_EACH)
    chosen = first.orderBy("place", "seq", "copy").limit(EXAMPLES_MOST).collect()
    return tuple(
        Example(
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
