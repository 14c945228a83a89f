"""Invoices for spreadsheets, programs and accounting: every amount as it is, whatever names contain."""

from __future__ import annotations

import csv
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from postroad.core.billing.invoice_rows import TEXTS, as_csv, as_value, line_text
from postroad.core.billing.invoices import InvoiceAccount, InvoiceIssue, LineTotal, make_credit_note, make_invoice
from postroad.core.billing.ubl import invoice_ubl
from postroad.core.codecs.xml import parse
from postroad.core.model.billing import BillingSettings, ChargePart, Invoice, LineKey, UseKind

pytestmark = pytest.mark.req("P3")

ADDRESSES = {"a" * 16: 'Smith & Sons/"orders" <1>'}
NAMES = {
    "cac": "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2",
    "cbc": "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2",
}
GOLDEN = Path(__file__).parent / "golden"


def issue(number: str) -> InvoiceIssue:
    return InvoiceIssue(
        number=number,
        on=date(2026, 3, 2),
        books=BillingSettings(seller="A < B"),
        through=9,
        tariffs={"standard/2026-02": 3},
    )


def bill() -> Invoice:
    wanted = {
        LineKey("message", "originator", "a" * 16, "standard/2026-02"): LineTotal(3, 4, 1_234_999),
        LineKey("invocation", "vendor", "c" * 16, "standard/2026-02"): LineTotal(1, 1, -230_000),
    }
    return make_invoice(InvoiceAccount("Smith & Sons", "2026-02", "EUR"), wanted, issue("2026-02-0001"))


def note() -> Invoice:
    return make_credit_note(bill(), Decimal("0.50"), issue("2026-02-0002"), "sorry & goodbye")


def found(xml: str, path: str) -> list[str]:
    return [element.text or "" for element in parse(xml.encode()).findall(path, NAMES)]


def test_an_invoice_as_ubl() -> None:
    xml = invoice_ubl(bill(), ADDRESSES)
    assert parse(xml.encode()).tag == "{urn:oasis:names:specification:ubl:schema:xsd:Invoice-2}Invoice"
    assert found(xml, ".//cac:InvoicePeriod/*") == ["2026-02-01", "2026-02-28"]
    assert found(xml, "cac:AccountingCustomerParty//cbc:Name") == ["Smith & Sons"]
    assert found(xml, "cac:InvoiceLine/cbc:LineExtensionAmount") == ["1.23", "-0.23"]
    assert found(xml, "cac:InvoiceLine/cac:Item/cbc:Name")[0] == 'Messages sent by Smith & Sons/"orders" <1>'
    assert found(xml, "cac:LegalMonetaryTotal/cbc:PayableAmount") == ["1.00"]


def test_a_credit_note_as_ubl_has_the_opposite_sign_and_names_its_invoice() -> None:
    xml = invoice_ubl(note(), {})
    assert found(xml, "cac:CreditNoteLine/cbc:LineExtensionAmount") == ["0.50"]
    assert found(xml, "cac:LegalMonetaryTotal/cbc:PayableAmount") == ["0.50"]
    assert found(xml, "cac:BillingReference/cac:InvoiceDocumentReference/cbc:ID") == ["2026-02-0001"]
    assert found(xml, "cbc:Note") == ["sorry & goodbye"]
    [line] = note().lines
    with_nothing = replace(note(), lines=(line, replace(line, amount=Decimal("0.00"))))
    assert found(invoice_ubl(with_nothing, {}), "cac:CreditNoteLine/cbc:LineExtensionAmount") == ["0.50", "0.00"]


@pytest.mark.parametrize("document", [bill(), note()], ids=["invoice", "credit-note"])
def test_ubl_is_as_it_was_when_it_was_valid(document: Invoice) -> None:
    """The golden files were checked against the schemas of UBL 2.1; change them only after checking again."""
    name = document.document.value.replace(" ", "-")
    assert invoice_ubl(document, ADDRESSES) == (GOLDEN / f"{name}.xml").read_text()


def test_a_spreadsheet_has_a_row_per_line() -> None:
    rows = list(csv.DictReader(as_csv([bill(), note()], ADDRESSES).splitlines()))
    assert [(row["number"], row["line"], row["micros"], row["amount"]) for row in rows] == [
        ("2026-02-0001", "1", "1234999", "1.23"),
        ("2026-02-0001", "2", "-230000", "-0.23"),
        ("2026-02-0002", "1", "-500000", "-0.50"),
    ]
    assert rows[0]["service"] == 'Smith & Sons/"orders" <1>'


def test_amounts_for_programs_are_texts() -> None:
    value = as_value(bill(), ADDRESSES)
    assert (value["total"], value["lines"][0]["amount"], value["dueOn"]) == ("1.00", "1.23", "2026-04-01")
    assert value["tariffs"] == {"standard/2026-02": 3}


def test_every_line_that_can_be_has_words() -> None:
    for kind in UseKind:
        for part in ChargePart:
            line = replace(bill().lines[0], kind=kind.value, part=part.value)
            if (kind, part) != (UseKind.MESSAGE, ChargePart.VENDOR):
                assert ADDRESSES["a" * 16] in line_text(line, ADDRESSES)
    assert len(TEXTS) == len(UseKind) * len(ChargePart) - 1


def test_a_line_of_an_unknown_kind_has_a_text() -> None:
    """Earlier versions issued such invoices."""
    line = replace(bill().lines[0], kind="storage", part="originator", service="a" * 16)
    assert line_text(line, ADDRESSES) == f"storage originator {ADDRESSES['a' * 16]}"
    assert line_text(replace(line, part="", service=""), ADDRESSES) == "storage"
