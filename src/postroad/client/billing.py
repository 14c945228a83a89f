"""The billing API of the client: usage, invoices, credits and payments.

    with Client(…) as network:
        for invoice in network.billing.invoices(period="2026-10"):
            print(invoice.number, invoice.open, invoice.currency, invoice.state)
        network.billing.pay("2026-10-0001", "12.50", reference="bank 17")

Rule: credits and payments are sent with an Idempotency-Key, so that a request whose answer was lost is repeated without
recording anything twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

from msgspec import convert

from postroad.client import requests, responses
from postroad.client.conversations import Conversations
from postroad.client.routing import list_all
from postroad.client.steps import ApiRequest, Talk
from postroad.core.resources.billing import (
    InvoiceDetails,
    InvoiceSummary,
    IssuedInvoices,
    RecordedPayment,
    UsageView,
)

PATH = "/v1/billing"
INVOICES = f"{PATH}/invoices"
_Value = TypeVar("_Value")


class BillingConversations:
    """The request sequences of the billing API."""

    def __init__(self, talks: Conversations) -> None:
        self._talks = talks

    def usage(self, organization: str, period: str) -> Talk[UsageView]:
        return self._ask(requests.read(f"{PATH}/usage", organization=organization, period=period), UsageView)

    def invoices(self, organization: str, period: str, overdue_on: str) -> Talk[list[InvoiceSummary]]:
        filters = {"organization": organization, "period": period, "overdueOn": overdue_on}
        items = yield from list_all(self._talks, INVOICES, **filters)
        return [convert(item, InvoiceSummary) for item in items]

    def documents(self, organization: str, period: str) -> Talk[list[InvoiceDetails]]:
        items = yield from list_all(self._talks, f"{PATH}/documents", organization=organization, period=period)
        return [convert(item, InvoiceDetails) for item in items]

    def invoice(self, number: str) -> Talk[InvoiceDetails]:
        return self._ask(requests.read(_path(number)), InvoiceDetails)

    def issue(self, period: str, counted: Mapping[str, Any] | None, *, dry_run: bool) -> Talk[IssuedInvoices]:
        wish = {"period": period, "dryRun": dry_run} | ({"counted": counted} if counted is not None else {})
        return self._ask(requests.change("POST", INVOICES, wish), IssuedInvoices)

    def credit(self, number: str, amount: str, reason: str) -> Talk[InvoiceDetails]:
        wish = {"amount": amount, "reason": reason}
        return self._ask(self._once(f"{_path(number)}/credits", wish), InvoiceDetails)

    def pay(self, number: str, amount: str, received_on: str, reference: str) -> Talk[RecordedPayment]:
        wish = {"amount": amount, "reference": reference} | ({"receivedOn": received_on} if received_on else {})
        return self._ask(self._once(f"{_path(number)}/payments", wish), RecordedPayment)

    def _ask(self, request: ApiRequest, kind: type[_Value]) -> Talk[_Value]:
        return self._talks.ask(request, partial(responses.parse_as, kind=kind))

    def _once(self, path: str, wish: Mapping[str, Any]) -> ApiRequest:
        """Return a request that may be repeated, since the network recognizes its key."""
        request = requests.change("POST", path, wish)
        return replace(request, headers=(*request.headers, ("Idempotency-Key", self._talks.fresh_key())))


def _path(number: str) -> str:
    return f"{INVOICES}/{quote(number, safe='')}"
