"""The types of a what-if report: traffic, changes, reasons, examples, bills and send ports, with JSON output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec

from postroad.core.model.billing import MICROS, decimals


@dataclass(frozen=True, slots=True, kw_only=True)
class PortSide:
    """The batches of one side. Waits are from a message's arrival until its batch was closed."""

    messages: int = 0  # that are gathered
    alone: int = 0  # sent individually
    undecided: int = 0  # with bodies that are no longer stored
    batches: int = 0  # closed batches; each is one interchange
    left_open: int = 0  # messages in batches that are never closed
    bytes: int = 0  # of all batches
    largest_bytes: int = 0
    wait_s: float = 0.0  # on average
    wait_p95_s: float = 0.0
    wait_most_s: float = 0.0

    @property
    def messages_each(self) -> float:
        return round((self.messages - self.left_open) / self.batches, 1) if self.batches else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PortChange:
    port: str
    before: PortSide
    after: PortSide
    in_other_batches: int  # messages that would be in a batch with other members

    @property
    def is_changed(self) -> bool:
        return self.before != self.after or self.in_other_batches > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficCounts:
    """Messages by result; messages that were refused when posted were not stored and are not replayed."""

    messages: int = 0
    same: int = 0
    changed: int = 0
    undecidable: int = 0
    refused_then: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficDay:
    day: str
    same: int = 0
    changed: int = 0
    undecidable: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceGain:
    """The number of copies that a service gains and loses."""

    service: str
    role: str  # recipient or in transit
    gained: int
    lost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReason:
    text: str
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeExample:
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
    """Return an amount with the decimals of its currency."""
    return (Decimal(micros) / MICROS).quantize(Decimal(1).scaleb(-decimals(currency)))


@dataclass(frozen=True, slots=True, kw_only=True)
class BillComparison:
    """The amount of one organization for the window, before and after, exact to the micro-unit."""

    organization: str
    currency: str
    before_micros: int
    after_micros: int
    before_invoiced_micros: int = 0  # as invoices would total it: each line of each month rounded
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
class WhatIfReport:
    begins: str  # start and end of the window; empty: the whole journal
    ends: str
    baseline: str  # what the change is compared with: today or then
    traffic: TrafficCounts
    days: tuple[TrafficDay, ...] = ()
    differences: dict[str, int] = field(default_factory=dict)  # copies by change of route
    services: tuple[ServiceGain, ...] = ()
    reasons: tuple[ChangeReason, ...] = ()
    examples: tuple[ChangeExample, ...] = ()
    bills: tuple[BillComparison, ...] = ()
    ports: tuple[PortChange, ...] = ()


SUMMED = ("before_micros", "after_micros", "before_invoiced_micros", "after_invoiced_micros")


def sum_bills(bills: Sequence[BillComparison]) -> list[BillComparison]:
    """Return one sum of all bills for each currency, in the order of currencies."""
    return [
        BillComparison(organization="Total", currency=currency, **{name: sum(getattr(bill, name) for bill in bills
             if bill.currency == currency) for name in SUMMED})
        for currency in sorted({bill.currency for bill in bills})
    ]  # fmt: skip


def bill_notes(baseline: str) -> str:
    """Return notes on how amounts are counted, and why they can differ from invoices of the same period."""
    exact = (
        "Before and after are exact sums of charges. Invoiced amounts are what invoices would total: each line of each month is "
        "rounded, without corrections."
    )
    if baseline == "then":
        return exact
    return f'"Before" applies today\'s rules and prices to the traffic of that time, not those that were in force then. {exact}'


def report_value(report: WhatIfReport) -> dict[str, Any]:
    """Return the report for scripts; amounts are decimal strings."""
    told: dict[str, Any] = msgspec.to_builtins(report)
    money = {
        "bills": [_bill(bill) for bill in report.bills],
        "billTotals": [_bill(bill) for bill in sum_bills(report.bills)],
    }
    return told | money | {"billNotes": bill_notes(report.baseline) if report.bills else ""}


def _bill(bill: BillComparison) -> dict[str, str]:
    return {
        "organization": bill.organization,
        "currency": bill.currency,
        "before": str(bill.before),
        "after": str(bill.after),
        "difference": str(bill.difference),
        "beforeInvoiced": str(bill.before_invoiced),
        "afterInvoiced": str(bill.after_invoiced),
    }
