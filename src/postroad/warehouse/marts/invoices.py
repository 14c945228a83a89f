"""The mart ``invoice_lines``: what an invoice of each organization and month would say now.

Grain: one row per (organization, period, currency, kind, part, service, tariff). ``day`` is the first of the month. These are
drafts: an invoice is issued by `postroad billing close`, becomes a fact of the journal, and does not change any more.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

ACCOUNT = ("organization", "period", "currency")
LINE = ("kind", "part", "service", "tariff")


def invoice_lines(charges: DataFrame) -> DataFrame:
    """Lines from the charges of whole months."""
    return charges.groupBy(*ACCOUNT, *LINE).agg(
        fn.max("tariff_version").alias("tariff_version"),
        fn.count("*").alias("quantity"),
        fn.sum("kilobytes").alias("kilobytes"),
        fn.sum("micros").alias("micros"),
        fn.max("seq").alias("last_seq"),
        fn.trunc(fn.min("day"), "month").alias("day"),
    )
