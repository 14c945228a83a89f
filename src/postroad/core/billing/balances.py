"""Balances: invoices with their corrections and payments.

Rule: a payment counts for the invoice and all its corrections together, whichever of these documents it names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from postroad.core.model.billing import Invoice, Payment


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """An invoice with its corrections and payments."""

    invoice: Invoice
    corrections: tuple[Invoice, ...]
    payments: tuple[Payment, ...]

    @property
    def charged(self) -> Decimal:
        return self.invoice.total + sum((item.total for item in self.corrections), Decimal(0))

    @property
    def paid(self) -> Decimal:
        return sum((item.amount for item in self.payments), abs(self.invoice.total) * 0)  # with its decimals

    @property
    def open(self) -> Decimal:
        return self.charged - self.paid

    def is_overdue(self, on: date) -> bool:
        """True if an amount is still open after its due date."""
        return self.open > 0 and self.invoice.due_on < on

    def days_late(self, on: date) -> int:
        return max(0, (on - self.invoice.due_on).days)


def balances(documents: Iterable[Invoice], payments: Iterable[Payment]) -> list[Balance]:
    """The balance of each invoice, by number; corrections and payments stand with the invoice they belong to."""
    documents = sorted(documents, key=lambda item: item.number)
    roots = {item.number: item.root for item in documents}
    corrections: dict[str, list[Invoice]] = {}
    for item in documents:
        if item.corrects:
            corrections.setdefault(item.corrects, []).append(item)
    received: dict[str, list[Payment]] = {}
    for payment in sorted(payments, key=lambda item: (item.received_on, item.id)):
        received.setdefault(roots.get(payment.invoice, payment.invoice), []).append(payment)
    return [
        Balance(
            invoice=item,
            corrections=tuple(corrections.get(item.number, ())),
            payments=tuple(received.get(item.number, ())),
        )
        for item in documents
        if not item.corrects
    ]


def list_overdue(found: Iterable[Balance], on: date) -> list[Balance]:
    """Those that are overdue, the oldest first."""
    return sorted(
        (item for item in found if item.is_overdue(on)), key=lambda item: (item.invoice.due_on, item.invoice.number)
    )
