"""Prices in Spark: the rate of each use, how much of it was used before, and its price.

Allowances and tiers are counted by a running sum per originating organization, month and rate, in the order of the journal. The
price is what all units up to this one cost together, less what those before it did, as in ``core/billing/charges.py``.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as fn

from postroad.core.billing.charges import UNKNOWN
from postroad.core.model.billing import Rate, Tariff, Tier, UseKind, micros
from postroad.warehouse.billing.price_list import PriceList
from postroad.warehouse.billing.uses import local_day

TIERS = "array<struct<begins: bigint, ends: bigint, micros: bigint>>"
RATES = (
    "tariff string, rate string, currency string, tariff_version bigint, free_types array<string>, "
    f"per_message {TIERS}, per_kilobyte {TIERS}, free_messages bigint, free_kilobytes bigint, "
    "originator_percent bigint, transit_percent bigint, recipient_percent bigint, vendor_percent bigint"
)
HOLDINGS = "segment int, holder string, tariff string"
NO_END = 2**62
COUNTERS = ("holder", "period", "rate")


def price_uses(uses: DataFrame, owners: DataFrame, prices: PriceList) -> DataFrame:
    """Grain: one row per use for whose originator a tariff holds; with its day, rate, and price in micro-units."""
    with_rate = rate_uses(date_uses(uses, owners, prices), prices)
    counts = fn.when(fn.array_contains("free_types", fn.col("type")), 0).otherwise(1)
    counted = with_rate.withColumn("counts", counts)
    for unit, amount in (("messages", fn.col("counts")), ("kilobytes", fn.col("counts") * fn.col("kilobytes"))):
        counted = counted.withColumn(f"{unit}_before", _before(amount))
    return counted.withColumn(
        "price", fn.col("counts") * (_price_of("message", fn.lit(1)) + _price_of("kilobyte", fn.col("kilobytes")))
    )


def date_uses(uses: DataFrame, owners: DataFrame, prices: PriceList) -> DataFrame:
    """Return the uses with day and month in the billing time zone, and the organization whose tariff applies."""
    known = fn.broadcast(owners.select(fn.col("gcid").alias("originator"), fn.col("organization").alias("holder")))
    found = uses.join(known, "originator", "left").fillna({"holder": UNKNOWN})
    found = found.withColumn("day", local_day(fn.col("at_us"), prices.books.time_zone))
    return found.withColumn("period", fn.date_format("day", "yyyy-MM"))


def rate_uses(uses: DataFrame, prices: PriceList) -> DataFrame:
    """Return the uses with their rates; uses without a rate are left out."""
    spark, segments = uses.sparkSession, prices.segments()
    number = sum((fn.when(fn.col("period") >= segment.begins, 1).otherwise(0) for segment in segments[1:]), fn.lit(0))
    own = _holdings(spark, prices).withColumnRenamed("tariff", "own_tariff")
    usual = _holdings(spark, prices).where("holder = ''").select("segment", fn.col("tariff").alias("usual_tariff"))
    found = uses.withColumn("segment", number).join(fn.broadcast(own), ["segment", "holder"], "left")
    found = found.join(fn.broadcast(usual), "segment", "left")
    found = found.withColumn("tariff", fn.coalesce("own_tariff", "usual_tariff")).where("tariff is not null")
    rates = rate_table(spark, prices)
    return found.withColumn("rate", _rate_name(prices)).join(fn.broadcast(rates), ["tariff", "rate"])


def _rate_name(prices: PriceList) -> Column:
    special = [f"{tariff.key} {gcid}" for tariff in prices.tariffs for gcid in tariff.services]
    service = fn.col("transit")[0]["service"]
    has_own = fn.concat_ws(" ", fn.col("tariff"), service).isin(special) if special else fn.lit(False)
    message, invocation = fn.lit(UseKind.MESSAGE.value), fn.lit(UseKind.INVOCATION.value)
    return fn.when(fn.col("kind") == message, message).when(has_own, service).otherwise(invocation)


def _holdings(spark: SparkSession, prices: PriceList) -> DataFrame:
    rows = [
        (number, holder, tariff.key)
        for number, segment in enumerate(prices.segments())
        for holder, tariff in segment.held.items()
    ]
    return spark.createDataFrame(rows, HOLDINGS)


def rate_table(spark: SparkSession, prices: PriceList) -> DataFrame:
    """Grain: one row per rate of each version of each tariff."""
    rows = []
    for tariff in prices.tariffs:
        rates = {UseKind.MESSAGE.value: tariff.message, UseKind.INVOCATION.value: tariff.invocation} | tariff.services
        rows += [_rate_row(tariff, prices.versions.get(tariff.key, 0), name, rate) for name, rate in rates.items()]
    return spark.createDataFrame(rows, RATES)


def _rate_row(tariff: Tariff, version: int, name: str, rate: Rate) -> tuple[Any, ...]:
    return (
        *(tariff.key, name, tariff.currency, version, [kind.value for kind in tariff.free_types]),
        *(_tiers(rate.per_message), _tiers(rate.per_kilobyte), rate.free_messages, rate.free_kilobytes),
        *(rate.shares.originator, rate.shares.transit, rate.shares.recipient, rate.vendor_percent),
    )


def _tiers(tiers: tuple[Tier, ...]) -> list[tuple[int, int, int]]:
    begins = 0
    rows = []
    for tier in tiers:
        ends = NO_END if tier.up_to is None else tier.up_to
        rows.append((begins, ends, micros(tier.price)))
        begins = ends
    return rows


def _before(amount: Column) -> Column:
    """Return the units used before this use, in the order of the journal."""
    order = Window.partitionBy(*COUNTERS).orderBy("seq", "ordinal").rowsBetween(Window.unboundedPreceding, -1)
    return fn.coalesce(fn.sum(amount).over(order), fn.lit(0))


def _price_of(unit: str, units: Column) -> Column:
    tiers, free, before = fn.col(f"per_{unit}"), fn.col(f"free_{unit}s"), fn.col(f"{unit}s_before")
    return _cost(tiers, before + units - free) - _cost(tiers, before - free)


def _cost(tiers: Column, units: Column) -> Column:
    def add(total: Column, tier: Column) -> Column:
        used = fn.least(units, tier["ends"]) - tier["begins"]
        return total + tier["micros"] * fn.greatest(fn.lit(0), used)

    return fn.aggregate(tiers, fn.lit(0).cast("bigint"), add)
