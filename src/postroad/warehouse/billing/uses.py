"""Uses in Spark, as defined by ``core/billing/uses.py``, from the table ``log``.

Grain: one row per use, known by (seq, ordinal).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from postroad.core.model.billing import KILOBYTE, UseKind
from postroad.core.model.journal import BY_NETWORK


def uses(log: DataFrame) -> DataFrame:
    """Return accepted copies and returned invocations; ``log`` has every event once."""
    return messages(log).unionByName(invocations(log))


def messages(log: DataFrame) -> DataFrame:
    accepted = _accepted(log).where(~fn.col("form").eqNullSafe(BY_NETWORK))
    return _shaped(accepted, UseKind.MESSAGE, fn.col("sender"), fn.expr("slice(hops, 1, size(hops) - 1)"))


def invocations(log: DataFrame) -> DataFrame:
    """The service before the next one has returned; sender and type are those of the post, whenever that was."""
    travelling = _accepted(log).where("size(hops) > 1")
    sent = travelling.select("message_seq", "copy", "sender", "type", fn.col("hops").alias("first_hops"))
    done = log.where("kind = 'invocation.returned' and status_code is null").drop("sender", "type")
    found = done.join(sent, ["message_seq", "copy"]).withColumn("hops", fn.coalesce("hops", "first_hops"))
    return _shaped(found, UseKind.INVOCATION, fn.col("sender"), fn.expr("slice(hops, hop, 1)"))


def _accepted(log: DataFrame) -> DataFrame:
    return log.where("kind = 'message.posted' and about = 'copy' and code is null and hops is not null")


def _shaped(found: DataFrame, kind: UseKind, originator: Column, transit: Column) -> DataFrame:
    return found.select(
        fn.col("seq"),
        fn.col("ordinal"),
        fn.col("at_us"),
        fn.col("session"),
        fn.lit(kind.value).alias("kind"),
        fn.col("type"),
        fn.col("size"),
        fn.expr(f"(size + {KILOBYTE - 1}) div {KILOBYTE}").alias("kilobytes"),
        originator.alias("originator"),
        fn.transform(transit, _party).alias("transit"),
        _party(fn.element_at("hops", -1)).alias("recipient"),
    )


def _party(hop: Column) -> Column:
    return fn.struct(hop["service"].alias("service"), hop["payer"].alias("payer"))


def local_day(at_us: Column, time_zone: str) -> Column:
    """Return the day of a time in the billing time zone."""
    moment = fn.timestamp_micros(at_us)
    return fn.to_date(moment if time_zone == "UTC" else fn.from_utc_timestamp(moment, time_zone))
