"""The costs of both sides: the billable uses of each side, priced by its own tariffs.

Rules: uses are priced by the marts that price invoices. An in-transit service that returned the message is charged if it
is still on the route. A service that the message did not pass in fact is assumed to return it at once and unchanged; one
that has not returned is charged on neither side. Responses, and messages that cannot be decided, are charged on both
sides as recorded. Forwarding by exchanges and models is replayed on both sides, including in-transit services.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from postroad.core.model.billing import DECIMALS, KILOBYTE, MICROS, UseKind
from postroad.core.model.snapshot import Directory
from postroad.warehouse.billing.price_list import PriceList
from postroad.warehouse.marts.charges import charges
from postroad.warehouse.marts.invoices import invoice_lines
from postroad.warehouse.whatif.report import SUMMED, BillComparison

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

ASSUMED_ORDINAL = 1_000_000  # ordinals from here on are of assumed invocations
MAX_STOPS = 100  # upper bound of stops on the route of one copy


def compare_bills(
    spark: SparkSession, rows: DataFrame, before: Directory, after: Directory
) -> tuple[BillComparison, ...]:
    """Grain: one row per organization and currency; empty if neither side has a tariff."""
    if not before.tariffs and not after.tariffs:
        return ()
    owners = _owners(spark, before, after)
    was = _owed(uses(rows, "before"), owners, price_list_of(before), "before")
    is_now = _owed(uses(rows, "after"), owners, price_list_of(after), "after")
    both = was.join(is_now, ["organization", "currency"], "outer").fillna(0, list(SUMMED))
    return tuple(BillComparison(**row.asDict()) for row in both.orderBy("organization", "currency").collect())


def price_list_of(directory: Directory) -> PriceList:
    versions = {tariff.key: directory.object_version("tariff", tariff.key) for tariff in directory.tariffs}
    return PriceList(books=directory.books, tariffs=directory.tariffs, versions=versions)


def _owners(spark: SparkSession, before: Directory, after: Directory) -> DataFrame:
    known = {gcid: service.organization for side in (after, before) for gcid, service in side.services.items()}
    return spark.createDataFrame(sorted(known.items()), "gcid string, organization string")


def _owed(used: DataFrame, owners: DataFrame, prices: PriceList, side: str) -> DataFrame:
    """Grain: one row per organization and currency, with the exact sum and the sum of the rounded lines of invoices."""
    from pyspark.sql import functions as f

    exact, invoiced = f"{side}_micros", f"{side}_invoiced_micros"
    if not prices.tariffs:
        columns = f"organization string, currency string, {exact} bigint, {invoiced} bigint"
        return used.sparkSession.createDataFrame([], columns)
    lines = invoice_lines(charges(used, owners, prices))
    sums = f.sum("micros").alias(exact), f.sum(rounded_micros()).alias(invoiced)
    return lines.groupBy("organization", "currency").agg(*sums)


def rounded_micros() -> Column:
    """Return the micro-units of a line, rounded half away from zero to the decimals of its currency, as in invoices."""
    from pyspark.sql import functions as f

    unit = f.lit(MICROS // 100)
    for places in sorted(set(DECIMALS.values())):
        currencies = [currency for currency, given in DECIMALS.items() if given == places]
        unit = f.when(f.col("currency").isin(currencies), f.lit(MICROS // 10**places)).otherwise(unit)
    magnitude = f.abs("micros") + f.floor(unit / 2)
    whole = (magnitude - f.pmod(magnitude, unit)).cast("bigint")
    return f.when(f.col("micros") < 0, -whole).otherwise(whole)


def uses(rows: DataFrame, side: str) -> DataFrame:
    """Grain: one row per use on this side, as input for the price marts."""
    copies = _copies(rows, side)
    return _messages(copies).unionByName(_returned(rows, copies)).unionByName(_assumed_uses(copies))


def _copies(rows: DataFrame, side: str) -> DataFrame:
    """Return the accepted copies of this side."""
    from pyspark.sql import functions as f

    posted = rows.where("record in ('message', 'response', 'forward')")
    each = posted.select("seq", "at_us", "session", "type", "size", "sender", "passed", f.explode(side).alias("way"))
    return each.select("*", "way.*").drop("way")


def _messages(copies: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    return _shaped(copies.withColumn("ordinal", f.col("copy")), UseKind.MESSAGE)


def _returned(rows: DataFrame, copies: DataFrame) -> DataFrame:
    """Return the actual invocations of in-transit services that the copy still passes, or was never routed to."""
    from pyspark.sql import functions as f

    done = rows.where("record = 'return'").select(
        f.col("message_seq").alias("seq"), "copy", f.col("seq").alias("returned_seq"), f.col("at_us").alias("returned_us"),
        f.col("size").alias("returned_size"), f.col("sender").alias("by"), f.col("payer").alias("paid_by"),
    )  # fmt: skip
    found = done.join(copies, ["seq", "copy"])
    stop = f.filter("transit", lambda party: party["service"] == f.col("by"))
    meant = f.array_contains("passed", f.concat_ws(" ", f.col("copy").cast("string"), f.col("by")))
    own = f.struct(f.col("by").alias("service"), f.col("paid_by").alias("payer"))
    kept = found.where((f.size(stop) > 0) | ~meant).withColumn("party", f.coalesce(f.get(stop, f.lit(0)), own))
    return _shaped(
        kept.withColumn("transit", f.array("party"))
        .withColumn("seq", f.col("returned_seq"))
        .withColumn("at_us", f.col("returned_us"))
        .withColumn("size", f.col("returned_size"))
        .withColumn("ordinal", f.lit(0)),
        UseKind.INVOCATION,
    )


def _assumed_uses(copies: DataFrame) -> DataFrame:
    """Return the invocations that in-transit services would have made, on stops that the copy did not pass."""
    from pyspark.sql import functions as f

    each = copies.select("*", f.posexplode("extra").alias("place", "party"))
    ordinal = f.lit(ASSUMED_ORDINAL) + f.col("copy") * MAX_STOPS + f.col("place")
    return _shaped(each.withColumn("transit", f.array("party")).withColumn("ordinal", ordinal), UseKind.INVOCATION)


def _shaped(found: DataFrame, kind: UseKind) -> DataFrame:
    from pyspark.sql import functions as f

    shaped: list[str | Column] = [
        "seq", f.col("ordinal").cast("int").alias("ordinal"), "at_us", f.lit(kind.value).alias("kind"), "session", "type", "size",
        f.expr(f"(size + {KILOBYTE - 1}) div {KILOBYTE}").alias("kilobytes"), f.col("sender").alias("originator"),
        "transit", "recipient",
    ]  # fmt: skip
    return found.select(*shaped)
