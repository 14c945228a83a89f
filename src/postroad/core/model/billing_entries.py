"""Journal entries of billing: issued invoices, credits and payments.

Rule: an entry contains the whole document, with the addresses of services as they were, so that it can be written
again from the journal alone. Entries are never changed or withdrawn; a correction is a document of its own.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct

from postroad.core.model.billing import DocumentKind, Invoice, InvoiceLine, Payment

FIRST_VERSION = 1  # of a billing record, which never has another


class IssuedLine(Struct, gc=False, frozen=True, array_like=True):
    """One line of an issued document: charges of one sort, or a credit."""

    kind: str
    part: str
    service: str  # GCID
    tariff: str
    quantity: int
    kilobytes: int
    micros: int
    amount: Decimal
    text: str = ""  # of a line without charges
    address: str = ""  # of the service, when the document was issued


class IssuedDocument(Struct, gc=False, frozen=True, array_like=True):
    """A complete invoice or credit note; its lines are numbered from 1."""

    number: str
    document: DocumentKind
    organization: str
    period: str
    currency: str
    issued_on: date
    due_on: date
    seller: str
    through: int  # the last journal entry that is counted
    tariffs: tuple[tuple[str, int], ...]  # versions of the tariffs that apply, by key
    lines: tuple[IssuedLine, ...]
    total: Decimal
    corrects: str = ""
    reason: str = ""


class InvoiceIssued(Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="invoice.issued"):
    """An invoice was issued, or the correction of an invoice whose charges have changed since."""

    at_us: int
    by: str  # e-mail address of the operator
    document: IssuedDocument
    follows: str = ""  # number of the account's previous document; a second entry with the same value is refused


class InvoiceCredited(Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="invoice.credited"):
    """A credit note was issued for a reason outside the journal."""

    at_us: int
    by: str  # e-mail address of the operator
    document: IssuedDocument
    follows: str = ""  # as in InvoiceIssued
    request: str = ""  # the Idempotency-Key of the request


class PaymentRecorded(Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="payment.recorded"):
    """A payment for an invoice was received, or refunded (below zero)."""

    at_us: int
    by: str  # e-mail address of the operator
    id: str
    invoice: str
    amount: Decimal
    currency: str
    received_on: date
    reference: str = ""
    request: str = ""  # the Idempotency-Key of the request


BillingJournalEntry = InvoiceIssued | InvoiceCredited | PaymentRecorded
BILLING_TAGS: tuple[str, ...] = tuple(str(kind.__struct_config__.tag) for kind in BillingJournalEntry.__args__)


def issued_document(invoice: Invoice) -> IssuedDocument:
    """Return an invoice as an entry contains it."""
    lines = tuple(
        IssuedLine(
            line.kind,
            line.part,
            line.service,
            line.tariff,
            quantity=line.quantity,
            kilobytes=line.kilobytes,
            micros=line.micros,
            amount=line.amount,
            text=line.text,
            address=invoice.addresses.get(line.service, ""),
        )
        for line in invoice.lines
    )
    return IssuedDocument(
        number=invoice.number,
        document=invoice.document,
        organization=invoice.organization,
        period=invoice.period,
        currency=invoice.currency,
        issued_on=invoice.issued_on,
        due_on=invoice.due_on,
        seller=invoice.seller,
        through=invoice.through,
        tariffs=tuple(invoice.tariffs.items()),
        lines=lines,
        total=invoice.total,
        corrects=invoice.corrects,
        reason=invoice.reason,
    )


def billing_record(entry: BillingJournalEntry) -> Invoice | Payment:
    """Return the invoice, credit note or payment that an entry contains."""
    if isinstance(entry, PaymentRecorded):
        return Payment(
            id=entry.id,
            invoice=entry.invoice,
            amount=entry.amount,
            currency=entry.currency,
            received_on=entry.received_on,
            reference=entry.reference,
            request=entry.request,
        )
    return _invoice(entry.document, entry.request if isinstance(entry, InvoiceCredited) else "")


def _invoice(issued: IssuedDocument, request: str) -> Invoice:
    lines = tuple(
        InvoiceLine(
            number=number,
            kind=line.kind,
            part=line.part,
            service=line.service,
            tariff=line.tariff,
            quantity=line.quantity,
            kilobytes=line.kilobytes,
            micros=line.micros,
            amount=line.amount,
            text=line.text,
        )
        for number, line in enumerate(issued.lines, 1)
    )
    return Invoice(
        number=issued.number,
        document=issued.document,
        organization=issued.organization,
        period=issued.period,
        currency=issued.currency,
        issued_on=issued.issued_on,
        due_on=issued.due_on,
        seller=issued.seller,
        through=issued.through,
        tariffs=dict(issued.tariffs),
        lines=lines,
        total=issued.total,
        corrects=issued.corrects,
        reason=issued.reason,
        addresses={line.service: line.address for line in issued.lines if line.address},
        request=request,
    )


def record_value(entry: BillingJournalEntry) -> tuple[str, str, dict[str, Any]]:
    """Return the kind, key and value under which indexes store the record, like those that `apply` has added."""
    record = billing_record(entry)
    value: dict[str, Any] = msgspec.to_builtins(record)
    return ("payment", record.id, value) if isinstance(record, Payment) else ("invoice", record.number, value)
