"""Entries of billing for the index story: an invoice, a credit on it, and a payment."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from postroad.core.model.billing import DocumentKind
from postroad.core.model.billing_entries import (
    BillingJournalEntry,
    InvoiceCredited,
    InvoiceIssued,
    IssuedDocument,
    IssuedLine,
    PaymentRecorded,
)

BILLED_ON = date(2026, 11, 2)


def build_document(number: str, amount: str, *, corrects: str = "") -> IssuedDocument:
    """Build an issued document with one line."""
    value = Decimal(amount)
    line = IssuedLine(
        "message",
        "originator",
        "a",
        "standard/2026-01",
        quantity=3,
        kilobytes=4,
        micros=int(value * 1_000_000),
        amount=value,
        address="A/a",
    )
    return IssuedDocument(
        number=number,
        document=DocumentKind.CREDIT_NOTE if value < 0 else DocumentKind.INVOICE,
        organization="Straße",
        period="2026-10",
        currency="EUR",
        issued_on=BILLED_ON,
        due_on=BILLED_ON,
        seller="The network",
        through=40,
        tariffs=(("standard/2026-01", 1),),
        lines=(line,),
        total=value,
        corrects=corrects,
    )


BILLING: list[BillingJournalEntry] = [
    InvoiceIssued(at_us=80_000, by="ada", document=build_document("2026-10-0001", "12.34")),
    InvoiceCredited(
        at_us=81_000,
        by="ada",
        document=build_document("2026-10-0002", "-2.30", corrects="2026-10-0001"),
        follows="2026-10-0001",
        request="credit 1",
    ),
    PaymentRecorded(
        at_us=82_000,
        by="ada",
        id="2026-10-0001/1",
        invoice="2026-10-0001",
        amount=Decimal("10.04"),
        currency="EUR",
        received_on=BILLED_ON,
        reference="bank 7",
        request="payment 1",
    ),
]
# As stored in the index: kind, key, version, and number of the entry.
BILLED = [("invoice", "2026-10-0001", 1, 55), ("invoice", "2026-10-0002", 1, 56), ("payment", "2026-10-0001/1", 1, 57)]
PAID = (
    b'{"amount":"10.04","currency":"EUR","id":"2026-10-0001/1","invoice":"2026-10-0001","received_on":"2026-11-02",'
    b'"reference":"bank 7","request":"payment 1"}'
)
