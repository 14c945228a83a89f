"""Spark charges what the reference calculation charges, message by message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings

from postroad.core.billing.charges import rate_uses
from postroad.core.billing.invoices import InvoiceAccount, LineTotal, LineTotals, sum_charges
from postroad.core.billing.uses import list_uses as core_uses
from postroad.core.model.billing import Charge, LineKey
from postroad.core.model.journal import encode
from postroad.warehouse.billing.price_list import load_price_list, owners
from postroad.warehouse.billing.recount import recount_charges, sum_lines
from postroad.warehouse.billing.uses import uses
from postroad.warehouse.landing.log_frame import log_frame
from postroad.warehouse.marts.charges import charges
from postroad.warehouse.marts.invoices import invoice_lines
from postroad.warehouse.staging.distinct_events import distinct_events
from tests.samples.billing_journals import SERVICES, Made, journals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.req("P3")

quickly = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
Row = tuple[object, ...]
NAMES = (
    *("seq", "ordinal", "part_number", "kind", "day", "organization"),
    *("service", "part", "tariff", "currency", "kilobytes", "micros"),
)


def reference(made: Made) -> list[Charge]:
    return list(rate_uses(core_uses(made.entries), made.tariffs, SERVICES, made.books))


def told(charge: Charge) -> Row:
    return (
        *(charge.seq, charge.ordinal, charge.part_number, charge.kind.value, charge.day, charge.organization),
        *(charge.service, charge.part.value, charge.tariff, charge.currency, charge.kilobytes, charge.micros),
    )


def landed(spark: SparkSession, made: Made) -> DataFrame:
    return log_frame(spark, [entry for _, entry in made.entries])


def charged(log: DataFrame) -> DataFrame:
    return charges(uses(log), owners(log), load_price_list(log))


def rows(found: DataFrame) -> list[Row]:
    return [tuple(row) for row in found.select(*NAMES).orderBy("seq", "ordinal", "part_number").collect()]


@quickly
@given(made=journals(most=60))
def test_spark_charges_what_the_reference_charges(spark: SparkSession, made: Made) -> None:
    assert rows(charged(landed(spark, made))) == [told(charge) for charge in reference(made)]


@settings(quickly, max_examples=3)
@given(made=journals(most=60))
def test_events_that_were_landed_again_are_counted_once_and_corrected_ones_as_corrected(
    spark: SparkSession, made: Made
) -> None:
    """An archive of the journal was landed before it and had other sizes, all wrong."""
    from pyspark.sql import functions as fn

    log = landed(spark, made)
    wrong = log.withColumn("size", fn.col("size") + 10_000).withColumn("schema_version", fn.lit(0))
    assert rows(charged(distinct_events(log.unionByName(wrong).unionByName(log), [(1, 9)] * 3))) == [
        told(charge) for charge in reference(made)
    ]


@settings(quickly, max_examples=4)
@given(made=journals(most=60))
def test_lines_sum_up_the_charges_and_differ_from_the_recount_by_nothing(spark: SparkSession, made: Made) -> None:
    charges_now = charged(landed(spark, made))
    assert {kind for _, kind in charges_now.dtypes} == {"int", "bigint", "string", "date"}, "no floats on the way"
    found = invoice_lines(charges_now).collect()
    lines: dict[InvoiceAccount, LineTotals] = {}
    for row in found:
        key = LineKey(row["kind"], row["part"], row["service"], row["tariff"])
        account = InvoiceAccount(row["organization"], row["period"], row["currency"])
        lines.setdefault(account, {})[key] = LineTotal(row["quantity"], row["kilobytes"], row["micros"])
    assert lines == sum_charges(reference(made))
    assert lines == sum_lines(recount_charges((seq, encode(entry), 0) for seq, entry in made.entries))
    assert len(found) == sum(len(one) for one in lines.values())
