"""Bills from a program: both clients ask the same, and credits and payments may be repeated."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from postroad.client.blocking.billing import Billing
from postroad.client.nonblocking.billing import AsyncBilling
from postroad.client.steps import Talk
from postroad.core.billing.balances import Balance
from postroad.core.billing.invoice_views import invoice_details, invoice_summary, payment_view
from postroad.core.model.billing import Payment
from postroad.core.model.billing_entries import billing_record
from postroad.testing.contracts.index.story_billing import BILLING
from tests.unit.client.scripted import Script, conversations, ok

NUMBER, DAY = "2026-10-0001", date(2026, 11, 2)
INVOICE: Any = billing_record(BILLING[0])
BALANCE = Balance(invoice=INVOICE, corrections=(), payments=())
PAID = Payment(id=f"{NUMBER}/1", invoice=NUMBER, amount=Decimal("1.00"), currency="EUR", received_on=DAY)
SUMMARY, DETAILS = invoice_summary(BALANCE, DAY), invoice_details(INVOICE, BALANCE, INVOICE.addresses, DAY)
USAGE = {"organization": "Acme", "period": "2026-10", "countedAt": "2026-11-01T00:00:00Z", "running": [], "usage": []}


def both(script: Script) -> tuple[Billing, AsyncBilling]:
    def run(talk: Talk[Any]) -> Any:
        return script.play(talk)

    async def run_async(talk: Talk[Any]) -> Any:
        return script.play(talk)

    return Billing(conversations(), run), AsyncBilling(conversations(), run_async)


CALLS: list[tuple[str, Callable[[Any], Any], Any]] = [
    ("GET /v1/billing/usage?organization=Acme&period=2026-10", lambda one: one.usage("Acme", "2026-10"), USAGE),
    (
        "GET /v1/billing/invoices?limit=200&organization=Acme&overdueOn=today",
        lambda one: one.invoices("Acme", overdue_on="today"),
        {"items": [SUMMARY]},
    ),
    (
        "GET /v1/billing/documents?limit=200&period=2026-10",
        lambda one: one.documents(period="2026-10"),
        {"items": [DETAILS]},
    ),
    (f"GET /v1/billing/invoices/{NUMBER}", lambda one: one.invoice(NUMBER), DETAILS),
    (
        "POST /v1/billing/invoices",
        lambda one: one.issue("2026-10", dry_run=True),
        {"period": "2026-10", "dryRun": True, "items": [DETAILS]},
    ),
    (f"POST /v1/billing/invoices/{NUMBER}/credits", lambda one: one.credit(NUMBER, "1.00", "late"), DETAILS),
    (
        f"POST /v1/billing/invoices/{NUMBER}/payments",
        lambda one: one.pay(NUMBER, "1.00", reference="bank 7"),
        {"payment": payment_view(PAID), "invoice": SUMMARY},
    ),
]


@pytest.mark.parametrize(("asked", "call", "answer"), CALLS, ids=[asked for asked, *_ in CALLS])
def test_both_clients_ask_the_same_and_return_typed_values(asked: str, call: Callable[[Any], Any], answer: Any) -> None:
    value = msgspec.to_builtins(answer)
    script = Script([ok(value), ok(value)])
    blocking, nonblocking = both(script)
    found = call(blocking)
    assert asyncio.run(call(nonblocking)) == found
    assert msgspec.to_builtins(found) == (value["items"] if isinstance(found, list) else value)
    assert [f"{request.method} {request.path}" for request in script.requests] == [asked, asked]


@pytest.mark.parametrize("call", [call for asked, call, _ in CALLS if "/credits" in asked or "/payments" in asked])
def test_what_would_be_recorded_twice_has_a_key(call: Callable[[Any], Any]) -> None:
    answer = next(answer for _, one, answer in CALLS if one is call)
    script = Script([ok(msgspec.to_builtins(answer))])
    call(both(script)[0])
    assert dict(script.requests[0].headers)["Idempotency-Key"]


def test_charges_that_were_counted_elsewhere_are_sent() -> None:
    script = Script([ok({"period": "2026-10", "dryRun": False, "items": []})])
    counted = {"through": 9, "latest": 1, "accounts": []}
    assert both(script)[0].issue("2026-10", counted=counted).items == []
    assert msgspec.json.decode(script.requests[0].body) == {"period": "2026-10", "dryRun": False, "counted": counted}
