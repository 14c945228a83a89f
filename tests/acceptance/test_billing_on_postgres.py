"""Billing from the command line for a network that is kept in PostgreSQL: tariffs, invoices, credits and payments."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from postroad.core.model.billing import Invoice, InvoiceLine
from tests.samples.billing_documents import invoice_entry
from tests.samples.served_network import json_lines, postroad, served, succeeded

NUMBER = "2026-10-0001"
INVOICE = Invoice(
    number=NUMBER, organization="MyBiz", period="2026-10", currency="EUR", issued_on=date(2026, 11, 1),
    due_on=date(2026, 11, 15), seller="Postroad Ltd", through=1, tariffs={}, total=Decimal("12.50"),
    lines=(InvoiceLine(number=1, kind="message", part="originator", service="", tariff="", quantity=100, kilobytes=100,
                       micros=12_500_000, amount=Decimal("12.50"), text="a hundred messages"),),
)  # fmt: skip
BOOKS = {"books": {"seller": "Postroad Ltd", "timeZone": "Europe/Berlin", "dueDays": 14}}


@pytest.mark.req("P3")
def test_records_of_billing_are_kept_in_postgres_as_elsewhere(postgres_database: str, tmp_path: Path) -> None:
    file, document = tmp_path / "shared.toml", tmp_path / "billing.yaml"
    file.write_text(
        f'acceptance = "shared"\nindex = "postgres"\npostgres = "{postgres_database}"\nsecret = "{"5e" * 32}"\n'
    )
    billing = BOOKS | {"invoices": {NUMBER: invoice_entry(INVOICE)}}
    document.write_text(
        yaml.safe_dump({"postroad": 1, "organizations": {"MyBiz": {}}, "billing": billing}, sort_keys=False)
    )
    here = ("--config", str(file), "--data", str(tmp_path / "data"))
    with served(tmp_path / "data", "--config", str(file)):
        succeeded("apply", document, "--yes", "--data", tmp_path / "data")
        [issued] = json_lines(succeeded("billing", "invoices", "--json", *here))
        succeeded("billing", "credit", NUMBER, "2.50", "--reason", "a day without service", *here)
        succeeded("billing", "pay", NUMBER, "4", "--reference", "bank 7", *here)
        [after] = json_lines(succeeded("billing", "invoices", "--json", *here))
        refused = postroad("billing", "pay", "2026-10-0999", "1", *here)
    assert (issued["open"], after["open"]) == ("12.50", "6.00")
    assert (refused.returncode, "does not exist" in refused.stderr) == (3, True)
