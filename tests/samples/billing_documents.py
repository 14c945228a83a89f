"""Invoices and payments as configuration documents have them, which is how earlier versions recorded them."""

from __future__ import annotations

from typing import Any

from postroad.core.model.billing import Invoice, InvoiceLine, Payment


def invoice_entry(invoice: Invoice) -> dict[str, Any]:
    """An invoice as a document has it."""
    return {
        "document": invoice.document.value,
        "organization": invoice.organization,
        "period": invoice.period,
        "currency": invoice.currency,
        "issuedOn": invoice.issued_on.isoformat(),
        "dueOn": invoice.due_on.isoformat(),
        "seller": invoice.seller,
        "through": invoice.through,
        "tariffs": dict(invoice.tariffs),
        "lines": [_line_entry(line) for line in invoice.lines],
        "total": f"{invoice.total:f}",
        "reason": invoice.reason,
    } | ({"corrects": invoice.corrects} if invoice.corrects else {})


def _line_entry(line: InvoiceLine) -> dict[str, Any]:
    key = {"kind": line.kind, "part": line.part, "service": line.service, "tariff": line.tariff}
    sums = {"quantity": line.quantity, "kilobytes": line.kilobytes, "micros": line.micros}
    return key | sums | {"amount": f"{line.amount:f}", "text": line.text}


def payment_entry(payment: Payment) -> dict[str, Any]:
    return {
        "invoice": payment.invoice,
        "amount": f"{payment.amount:f}",
        "currency": payment.currency,
        "receivedOn": payment.received_on.isoformat(),
        "reference": payment.reference,
    }
