"""Invoices, balances and payments as the HTTP API returns them, and back.

Rule: a view contains everything that the document needs, so a client writes the same files as the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal

from postroad.core.billing.balances import Balance
from postroad.core.billing.invoice_rows import line_text
from postroad.core.model.billing import DocumentKind, Invoice, InvoiceLine, Payment
from postroad.core.resources.billing import BalanceView, InvoiceDetails, InvoiceLineView, InvoiceSummary, PaymentView


def balance_state(balance: Balance, on: date) -> str:
    """Return ``open``, ``overdue``, ``settled`` or ``credit``."""
    if balance.is_overdue(on):
        return "overdue"
    if balance.open > 0:
        return "open"
    return "credit" if balance.open < 0 else "settled"


def invoice_summary(balance: Balance, on: date) -> InvoiceSummary:
    invoice = balance.invoice
    return InvoiceSummary(
        number=invoice.number,
        organization=invoice.organization,
        period=invoice.period,
        currency=invoice.currency,
        issued_on=invoice.issued_on.isoformat(),
        due_on=invoice.due_on.isoformat(),
        charged=f"{balance.charged:f}",
        paid=f"{balance.paid:f}",
        open=f"{balance.open:f}",
        state=balance_state(balance, on),
        days_late=balance.days_late(on) if balance.is_overdue(on) else 0,
        corrections=[item.number for item in balance.corrections],
        payments=[item.id for item in balance.payments],
    )


def invoice_details(
    invoice: Invoice, balance: Balance | None, addresses: Mapping[str, str], on: date
) -> InvoiceDetails:
    """Return a document with its balance; one that is not issued yet has none, and all of its total is open."""
    balance = balance or Balance(invoice=invoice, corrections=(), payments=())
    summary = invoice_summary(balance, on)
    return InvoiceDetails(
        number=invoice.number,
        document=invoice.document.value,
        organization=invoice.organization,
        period=invoice.period,
        currency=invoice.currency,
        issued_on=invoice.issued_on.isoformat(),
        due_on=invoice.due_on.isoformat(),
        seller=invoice.seller,
        through=invoice.through,
        tariffs=dict(invoice.tariffs),
        lines=[_line_view(line, addresses) for line in invoice.lines],
        total=f"{invoice.total:f}",
        corrects=invoice.corrects,
        reason=invoice.reason,
        balance=BalanceView(
            charged=summary.charged,
            paid=summary.paid,
            open=summary.open,
            state=summary.state,
            days_late=summary.days_late,
        ),
        corrections=summary.corrections,
        payments=[payment_view(item) for item in balance.payments],
    )


def payment_view(payment: Payment) -> PaymentView:
    return PaymentView(
        id=payment.id,
        invoice=payment.invoice,
        amount=f"{payment.amount:f}",
        currency=payment.currency,
        received_on=payment.received_on.isoformat(),
        reference=payment.reference,
    )


def invoice_of(view: InvoiceDetails) -> Invoice:
    """Return the document that a view shows, with the addresses of its services."""
    return Invoice(
        number=view.number,
        document=DocumentKind(view.document),
        organization=view.organization,
        period=view.period,
        currency=view.currency,
        issued_on=date.fromisoformat(view.issued_on),
        due_on=date.fromisoformat(view.due_on),
        seller=view.seller,
        through=view.through,
        tariffs=dict(view.tariffs),
        lines=tuple(_line_of(line) for line in view.lines),
        total=Decimal(view.total),
        corrects=view.corrects,
        reason=view.reason,
        addresses={line.service_id: line.service for line in view.lines if line.service_id},
    )


def _line_view(line: InvoiceLine, addresses: Mapping[str, str]) -> InvoiceLineView:
    return InvoiceLineView(
        number=line.number,
        text=line_text(line, addresses),
        kind=line.kind,
        part=line.part,
        service=addresses.get(line.service, line.service),
        service_id=line.service,
        tariff=line.tariff,
        quantity=line.quantity,
        kilobytes=line.kilobytes,
        micros=line.micros,
        amount=f"{line.amount:f}",
    )


def _line_of(view: InvoiceLineView) -> InvoiceLine:
    return InvoiceLine(
        number=view.number,
        kind=view.kind,
        part=view.part,
        service=view.service_id,
        tariff=view.tariff,
        quantity=view.quantity,
        kilobytes=view.kilobytes,
        micros=view.micros,
        amount=Decimal(view.amount),
        text=view.text,
    )
