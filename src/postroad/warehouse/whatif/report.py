"""A finished what-if report: its nouns, as they are printed, written as JSON and drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec

from postroad.core.model.billing import MICROS, decimals
from postroad.warehouse.whatif.port_report import PortChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Messages by what can be said of them; those that were refused when posted were not kept, and so not tried again."""

    messages: int = 0
    same: int = 0
    changed: int = 0
    undecidable: int = 0
    refused_then: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    day: str
    same: int = 0
    changed: int = 0
    undecidable: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceChange:
    """How many copies a service would get that it does not get now, and the other way round."""

    service: str
    role: str  # recipient or in transit
    gained: int
    lost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    text: str
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    session: str
    at: str
    sender: str
    topic: str
    recipient: str  # as the sender wrote it
    difference: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    reasons: tuple[str, ...]
    detail: str = ""


def as_money(micros: int, currency: str) -> Decimal:
    """Returns an amount with the decimals of its currency."""
    return (Decimal(micros) / MICROS).quantize(Decimal(1).scaleb(-decimals(currency)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What one organization would owe (or be owed, below zero) for the window, before and after, exact to the micro-unit."""

    organization: str
    currency: str
    before_micros: int
    after_micros: int
    before_invoiced_micros: int = 0  # the same as invoices would total it: each line of each month rounded
    after_invoiced_micros: int = 0

    @property
    def before(self) -> Decimal:
        return Decimal(self.before_micros) / MICROS

    @property
    def after(self) -> Decimal:
        return Decimal(self.after_micros) / MICROS

    @property
    def difference(self) -> Decimal:
        return self.after - self.before

    @property
    def before_invoiced(self) -> Decimal:
        return as_money(self.before_invoiced_micros, self.currency)

    @property
    def after_invoiced(self) -> Decimal:
        return as_money(self.after_invoiced_micros, self.currency)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    begins: str  # first and last moment of the window; empty: the journal's own
    ends: str
    baseline: str  # today, or then: what the traffic is compared with
    traffic: Traffic
    days: tuple[Day, ...] = ()
    differences: dict[str, int] = field(default_factory=dict)  # copies by how their way changes
    services: tuple[ServiceChange, ...] = ()
    reasons: tuple[Reason, ...] = ()
    examples: tuple[Example, ...] = ()
    bills: tuple[Bill, ...] = ()
    ports: tuple[PortChange, ...] = ()


SUMMED = ("before_micros", "after_micros", "before_invoiced_micros", "after_invoiced_micros")


def totals(bills: Sequence[Bill]) -> list[Bill]:
    """Returns one sum of all bills for each currency, in the order of currencies."""
    return [
        Bill(organization="Total", currency=currency, **{name: sum(getattr(bill, name) for bill in bills
             if bill.currency == currency) for name in SUMMED})
        for currency in sorted({bill.currency for bill in bills})
    ]  # fmt: skip


def bill_notes(baseline: str) -> str:
    """Returns how the amounts are counted, and why they can differ from invoices of the same time."""
    exact = (
        "Before and after are exact sums of charges. Invoiced amounts are what invoices would total: each line of each month is "
        "rounded, without corrections."
    )
    if baseline == "then":
        return exact
    return f'"Before" applies today\'s rules and prices to the traffic of that time, not those that were in force then. {exact}'


def as_json(report: Report) -> dict[str, Any]:
    """The report for scripts; money as decimals in quotes."""
    told: dict[str, Any] = msgspec.to_builtins(report)
    money = {
        "bills": [_bill(bill) for bill in report.bills],
        "billTotals": [_bill(bill) for bill in totals(report.bills)],
    }
    return told | money | {"billNotes": bill_notes(report.baseline) if report.bills else ""}


def _bill(bill: Bill) -> dict[str, str]:
    return {
        "organization": bill.organization,
        "currency": bill.currency,
        "before": str(bill.before),
        "after": str(bill.after),
        "difference": str(bill.difference),
        "beforeInvoiced": str(bill.before_invoiced),
        "afterInvoiced": str(bill.after_invoiced),
    }
