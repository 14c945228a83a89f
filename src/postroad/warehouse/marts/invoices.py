"""The mart ``invoice_lines``: draft lines of the invoice of each organization and month.

Grain: one row per (organization, period, currency, kind, part, service, tariff). ``day`` is the first day of the month. Drafts
change with new uses; `postroad billing close` issues the invoice, which is a journal entry and does not change.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

ACCOUNT = ("organization", "period", "currency")
LINE = ("kind", "part", "service", "tariff")


def invoice_lines(charges: DataFrame) -> DataFrame:
    """Return invoice lines, summed up from the charges of whole months."""
    return charges.groupBy(*ACCOUNT, *LINE).agg(
        fn.max("tariff_version").alias("tariff_version"),
        fn.count("*").alias("quantity"),
        fn.sum("kilobytes").alias("kilobytes"),
        fn.sum("micros").alias("micros"),
        fn.max("seq").alias("last_seq"),
        fn.trunc(fn.min("day"), "month").alias("day"),
    )
