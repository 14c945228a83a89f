"""Invoices, payments and usage."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from postroad.core.resources.base import Page, Resource

Amount = Annotated[
    str, Meta(description="A decimal number as text, such as `12.50`, so that no program makes it a float")
]


class InvoiceLineView(Resource, kw_only=True):
    """One line of an invoice: charges of one sort, summed up exactly and rounded once."""

    number: int
    text: str
    kind: Annotated[str, Meta(description="`message`, `invocation`, or `credit` when no charges stand behind it")]
    part: Annotated[str, Meta(description="The role in which the organization pays, such as `originator`")]
    service: Annotated[str, Meta(description="Address of the service when the document was issued")]
    service_id: Annotated[str, Meta(description="GCID of the service")]
    tariff: str
    quantity: int
    kilobytes: int
    micros: Annotated[int, Meta(description="The exact sum in millionths of the currency")]
    amount: Amount


class BalanceView(Resource, kw_only=True):
    """What is charged, paid and open, of an invoice with all its corrections."""

    charged: Amount
    paid: Amount
    open: Amount
    state: Annotated[str, Meta(description="`open`, `overdue`, `settled` or `credit` on the day of the answer")]
    days_late: int


class PaymentView(Resource, kw_only=True):
    """A payment for an invoice; below zero, a refund."""

    id: str
    invoice: str
    amount: Amount
    currency: str
    received_on: str
    reference: str


class InvoiceSummary(Resource, kw_only=True):
    """An invoice in a list, with its balance."""

    number: str
    organization: str
    period: Annotated[str, Meta(description="The month, such as `2026-10`")]
    currency: str
    issued_on: str
    due_on: str
    charged: Amount
    paid: Amount
    open: Amount
    state: str
    days_late: int
    corrections: Annotated[list[str], Meta(description="Numbers of the documents that correct it")]
    payments: Annotated[list[str], Meta(description="Ids of its payments")]


class InvoicePage(Page[InvoiceSummary]):
    """A page of invoices, by number."""


class InvoiceDetails(Resource, kw_only=True):
    """An issued invoice or credit note, whole."""

    number: str
    document: Annotated[str, Meta(description="`invoice` or `credit note`")]
    organization: str
    period: str
    currency: str
    issued_on: str
    due_on: str
    seller: str
    through: Annotated[int, Meta(description="The last journal entry that is counted")]
    tariffs: Annotated[dict[str, int], Meta(description="Versions of the tariffs that it goes by")]
    lines: list[InvoiceLineView]
    total: Amount
    corrects: Annotated[str, Meta(description="Number of the invoice that this document corrects")]
    reason: str
    balance: Annotated[BalanceView, Meta(description="Of the invoice, or of the one that this document corrects")]
    corrections: Annotated[list[str], Meta(description="Numbers of all documents that correct the invoice")]
    payments: list[PaymentView]


class DocumentPage(Page[InvoiceDetails]):
    """A page of invoices and credit notes, whole, by number."""


class IssuedInvoices(Resource, kw_only=True):
    """The documents that a month lacked; empty when all are right."""

    period: str
    dry_run: bool
    items: list[InvoiceDetails]


class RecordedPayment(Resource, kw_only=True):
    """A payment, and what is open on its invoice now."""

    payment: PaymentView
    invoice: InvoiceSummary


class UsedServiceView(Resource, kw_only=True):
    """What a service was used in one role, on one day, with messages of one size class."""

    organization: str
    service: str
    role: Annotated[str, Meta(description="`sender`, `recipient` or `in transit`")]
    day: str
    size_class: str
    messages: int
    bytes: int
    kilobytes: int


class RunningTotal(Resource, kw_only=True):
    """What a month comes to so far, in one currency."""

    organization: str
    currency: str
    total: Amount
    micros: Annotated[int, Meta(description="The exact sum in millionths of the currency")]
    forecast: Annotated[
        Amount | None, Meta(description="For the whole month, if it continues like this; null on its first day")
    ]


class UsageView(Resource, kw_only=True):
    """What an organization used in a month and what that comes to, as the warehouse has counted it."""

    organization: Annotated[str, Meta(description="Empty: all organizations")]
    period: str
    counted_at: Annotated[str, Meta(description="When the warehouse counted it")]
    running: list[RunningTotal]
    usage: list[UsedServiceView]
