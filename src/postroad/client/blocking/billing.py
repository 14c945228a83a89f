# Generated from nonblocking/billing.py by `python -m scripts.blocking_client`; edit that file instead.
"""The billing API: usage and invoices; operators issue, credit and record payments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroad.client.billing import BillingConversations
from postroad.client.blocking.runner import RunConversation
from postroad.client.conversations import Conversations
from postroad.core.resources.billing import InvoiceDetails, InvoiceSummary, IssuedInvoices, RecordedPayment, UsageView


class Billing:
    """Bills of the caller's organization, or of all for operators; ``client.billing``."""

    def __init__(self, talks: Conversations, run: RunConversation) -> None:
        self._say = BillingConversations(talks)
        self._run = run

    def usage(self, organization: str = "", period: str = "") -> UsageView:
        """Return what was used in a month (default: the current one), and what that comes to so far."""
        return self._run(self._say.usage(organization, period))

    def invoices(self, organization: str = "", period: str = "", overdue_on: str = "") -> list[InvoiceSummary]:
        """Return invoices with their balances, by number; ``overdue_on``: ``2026-10-31`` or ``today``."""
        return self._run(self._say.invoices(organization, period, overdue_on))

    def documents(self, organization: str = "", period: str = "") -> list[InvoiceDetails]:
        """Return invoices and credit notes, whole, by number."""
        return self._run(self._say.documents(organization, period))

    def invoice(self, number: str) -> InvoiceDetails:
        """Return one invoice or credit note, whole."""
        return self._run(self._say.invoice(number))

    def issue(self, period: str, *, counted: Mapping[str, Any] | None = None, dry_run: bool = False) -> IssuedInvoices:
        """Issue the invoices that a month lacks, and corrections; without ``counted``, from the server's warehouse."""
        return self._run(self._say.issue(period, counted, dry_run=dry_run))

    def credit(self, number: str, amount: str, reason: str) -> InvoiceDetails:
        """Give money back on an invoice; returns the credit note."""
        return self._run(self._say.credit(number, amount, reason))

    def pay(self, number: str, amount: str, *, received_on: str = "", reference: str = "") -> RecordedPayment:
        """Record a payment for an invoice (default: received today); below zero, a refund."""
        return self._run(self._say.pay(number, amount, received_on, reference))
