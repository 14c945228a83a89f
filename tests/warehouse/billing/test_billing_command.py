"""A month from traffic to paid invoices, all by the command line."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import yaml
from click.testing import CliRunner
from deltalake import write_deltalake

from postroad.adapters.marts.billing import read_uses
from postroad.cli.framework.connection import URL_FILE
from postroad.cli.main import postroad
from postroad.console.billing_data import load_drafts, plot_month
from postroad.core.billing.invoices import InvoiceAccount
from postroad.core.codecs.xml import parse
from postroad.core.model.billing import MICROS, BillingSettings
from postroad.testing.server import ServerProcess
from postroad.testing.traffic.generate import generate
from postroad.testing.traffic.plan import TrafficPlan
from postroad.warehouse.jobs.billing_refresh import BILLING_TABLES
from postroad.warehouse.jobs.landing import land
from postroad.warehouse.pipeline import refresh
from postroad.warehouse.sources import SegmentLog
from postroad.warehouse.store import DeltaStore
from tests.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.req("P3"), pytest.mark.timeout(300)]

PERIOD = "2024-10"
BILLING = {
    "books": {"seller": "Postroad Ltd", "timeZone": "Europe/Berlin", "dueDays": 14},
    "tariffs": {
        "standard": [
            {
                "from": "2024-01",
                "currency": "EUR",
                "message": {
                    "perMessage": [{"upTo": 20, "price": "0.0300"}, {"price": "0.0175"}],
                    "perKilobyte": "0.000333",
                    "freeMessages": 5,
                    "shares": {"originator": 60, "transit": 10, "recipient": 30},
                },
                "invocation": {"perMessage": "0.0007", "vendorPercent": 33},
                "freeTypes": ["response"],
            }
        ]
    },
}


class Month:
    """A network with a month of traffic, its server, and its warehouse."""

    def __init__(self, spark: SparkSession, server: ServerProcess) -> None:
        self.spark, self.server, self.data = spark, server, server.data
        self.store = DeltaStore(spark, self.data / "warehouse")

    def bring_up(self) -> None:
        land(self.spark, self.store, SegmentLog(folder=self.data / "journal"))
        refresh(self.store, BILLING_TABLES)

    def says(self, *arguments: object, code: int = 0) -> str:
        given = [*map(str, arguments), "--data", str(self.data)]
        done = CliRunner().invoke(postroad, given)
        assert done.exit_code == code, done.output + done.stderr
        return done.output

    def tells(self, *arguments: object) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.says("billing", *arguments, "--json").splitlines()]


@pytest.fixture
def month(spark: SparkSession, tmp_path: Path) -> Iterator[Month]:
    plan = TrafficPlan(organizations=6, days=3, messages=250, seed=11, first_day=date(2024, 10, 29))
    asyncio.run(generate(plan, tmp_path / "data" / "journal"))
    with ServerProcess(tmp_path / "data") as server:
        eventually(lambda: (server.data / URL_FILE).exists())  # it listens a moment before it says where
        yield Month(spark, server)


def test_a_month_is_billed_paid_and_reconciled(month: Month, tmp_path: Path) -> None:
    (tmp_path / "billing.yaml").write_text(yaml.safe_dump({"postroad": 1, "billing": BILLING}))
    assert "+ tariff standard from 2024-01" in month.says("apply", tmp_path / "billing.yaml", "--yes")
    assert "behind the log" not in month.says("billing", "reconcile", PERIOD, code=1)
    month.bring_up()

    would_be = month.tells("invoice", house(month), PERIOD)[0]
    assert would_be["number"] == "(not issued yet)"
    for line in would_be["lines"]:
        uses = month.tells("invoice", house(month), PERIOD, "--explain", line["number"])
        assert sum(use["micros"] for use in uses) == line["micros"]
        assert len(uses) == line["quantity"]

    check_that_the_console_says_the_same(month, would_be)
    assert "not ended yet" in CliRunner().invoke(
        postroad, ["billing", "close", "2999-01", "--data", str(month.data)]
    ).stderr  # fmt: skip
    documents = month.tells("close", PERIOD)
    assert would_be["total"] == next(one["total"] for one in documents if one["organization"] == house(month))
    month.bring_up()
    assert "are correct" in month.says("billing", "close", PERIOD)
    (found,) = month.tells("reconcile", PERIOD)
    assert (found["differences"], found["invoices"]) == ([], len(documents))
    assert found["uses"] > 250
    assert "difference: zero" in month.says("billing", "reconcile", PERIOD)

    owed = [one for one in month.tells("invoices", "--period", PERIOD) if Decimal(one["open"]) > 1]
    number, total = owed[0]["number"], Decimal(owed[0]["open"])
    month.says("billing", "pay", number, "0.50", "--on", "2024-11-05", "--reference", "bank 17")
    month.says("billing", "credit", number, "0.25", "--reason", "an hour without service")
    (one,) = [one for one in month.tells("overdue", "--on", "2999-12-31") if one["number"] == number]
    assert (Decimal(one["open"]), one["payments"]) == (total - Decimal("0.75"), [f"{number}/1"])
    assert "Nothing is overdue" in month.says("billing", "overdue", "--on", "2024-10-31")
    month.says("billing", "pay", number, str(total - Decimal("0.75")))
    assert number not in {one["number"] for one in month.tells("overdue", "--on", "2999-12-31")}
    assert "not an amount in EUR" in CliRunner().invoke(
        postroad, ["billing", "pay", number, "0.001", "--data", str(month.data)]
    ).stderr  # fmt: skip

    for form, ending in (("csv", "csv"), ("json", "json"), ("ubl", "xml")):
        month.says("billing", "export", PERIOD, "--format", form, "--out", tmp_path / form)
        assert list((tmp_path / form).glob(f"*.{ending}"))
    rows = list(csv.DictReader((tmp_path / "csv" / "invoice-lines.csv").read_text().splitlines()))
    assert sum(Decimal(row["amount"]) for row in rows) == sum(Decimal(one["total"]) for one in documents) - Decimal(
        "0.25"
    )
    assert len(list((tmp_path / "ubl").glob("*.xml"))) == len(documents) + 1
    parse((tmp_path / "ubl" / f"{number}.xml").read_bytes())
    assert "difference: zero" in month.says("billing", "reconcile", PERIOD), (
        "a credit is no difference to what was used"
    )


def check_that_the_console_says_the_same(month: Month, would_be: dict[str, Any]) -> None:
    folder, books = month.data / "warehouse", BillingSettings(time_zone="Europe/Berlin")
    write_deltalake(str(folder / "services"), pa.table({"service": ["aa"], "address": ["A/a"]}), mode="overwrite")
    (draft,) = load_drafts(folder, house(month), PERIOD, books, date(2024, 11, 1)).invoices
    assert [f"{line.amount:f}" for line in draft.lines] == [line["amount"] for line in would_be["lines"]]
    for line in draft.lines:
        found = read_uses(folder, draft, line, 2**62, 0, line.quantity + 1)
        assert (len(found), sum(use.micros for use in found)) == (line.quantity, line.micros)
    plot = plot_month(folder, InvoiceAccount(house(month), PERIOD, draft.currency), books, 2**62)
    assert plot.curves[0].values[-1] == round(sum(line.micros for line in draft.lines) / MICROS, 4)


def house(month: Month) -> str:
    """An organization that was charged something."""
    lines = month.store.read("invoice_lines").where("micros > 100000").collect()
    return str(max(lines, key=lambda row: row["micros"])["organization"])
