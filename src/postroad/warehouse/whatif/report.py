"""A finished what-if report: its nouns, as they are printed, written as JSON and drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec

from postroad.core.model.billing import MICROS
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What one organization would owe (or be owed, below zero) for the window, before and after, exact to the micro-unit."""

    organization: str
    currency: str
    before_micros: int
    after_micros: int

    @property
    def before(self) -> Decimal:
        return Decimal(self.before_micros) / MICROS

    @property
    def after(self) -> Decimal:
        return Decimal(self.after_micros) / MICROS

    @property
    def difference(self) -> Decimal:
        return self.after - self.before


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


def totals(bills: Sequence[Bill]) -> list[Bill]:
    """Returns one sum of all bills for each currency, in the order of currencies."""
    sums: dict[str, tuple[int, int]] = {}
    for bill in bills:
        before, after = sums.get(bill.currency, (0, 0))
        sums[bill.currency] = before + bill.before_micros, after + bill.after_micros
    return [Bill(organization="Total", currency=currency, before_micros=before, after_micros=after)
            for currency, (before, after) in sorted(sums.items())]  # fmt: skip


def bill_notes(baseline: str) -> str:
    """Returns why the amounts before the change can differ from invoices of the same time."""
    exact = "Amounts are exact sums of charges; an invoice rounds each line, so its total can differ."
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
    }
