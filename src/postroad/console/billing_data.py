"""Billing data for the console: the current total of a month and the uses of an invoice line.

Rule: amounts equal those of ``core/billing`` for the same sums, to the micro-unit; outdated tables are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from postroad.console.mart_queries import CHARGED_DAYS, DRAFTS, USES
from postroad.console.marts import Marts, check_is_current
from postroad.console.plots import Curve, Plot, PlotStyle, list_days
from postroad.core.billing.calendar import day_of, first_day, next_period
from postroad.core.billing.forecast import forecast_micros
from postroad.core.billing.invoices import InvoiceAccount, InvoiceIssue, LineTotal, LineTotals, make_invoice
from postroad.core.model.billing import MICROS, BillingSettings, Invoice, InvoiceLine, LineKey

APP = "billing"  # under which the tables say how far they have come
LINES, CHARGES = "invoice_lines", "charges"
ONE_DAY = timedelta(days=1)
NAMES = "select service, address from services"


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthDrafts:
    """The current drafts of a month's invoices."""

    made_at_us: int
    invoices: tuple[Invoice, ...]  # without numbers, since none is issued
    addresses: Mapping[str, str]  # of services, those that are gone too


class BilledUse(NamedTuple):
    """One billed use of an invoice line."""

    at_us: int
    session: str
    kilobytes: int
    micros: int


def load_drafts(folder: Path, house: str, period: str, books: BillingSettings, today: date) -> MonthDrafts:
    marts = Marts(folder, LINES, "services")
    check_is_current(folder, APP, (LINES,))
    sums: dict[InvoiceAccount, LineTotals] = {}
    versions: dict[InvoiceAccount, dict[str, int]] = {}
    for row in marts.rows(DRAFTS, house, period):
        account = InvoiceAccount(*row[:3])
        sums.setdefault(account, {})[LineKey(*row[3:7])] = LineTotal(*row[7:10])
        versions.setdefault(account, {})[row[6]] = row[10]
    issues = {
        account: InvoiceIssue(number="", on=today, books=books, through=0, tariffs=versions[account])
        for account in sums
    }
    found = [make_invoice(account, sums[account], issues[account]) for account in sorted(sums)]
    return MonthDrafts(made_at_us=marts.made_at_us, invoices=tuple(found), addresses=dict(marts.rows(NAMES)))


def exactly_micros(document: Invoice) -> int:
    return sum(line.micros for line in document.lines)


def forecast_total(document: Invoice, books: BillingSettings, counted_upto_us: int) -> int | None:
    """Estimate the month's total of a draft, in micro-units."""
    return forecast_micros(exactly_micros(document), document.period, books.time_zone, counted_upto_us)


def plot_month(folder: Path, account: InvoiceAccount, books: BillingSettings, now_us: int) -> Plot:
    """Plot a month day by day: the charges so far, and the forecast."""
    marts = Marts(folder, CHARGES)
    check_is_current(folder, APP, (CHARGES,))
    charged: dict[date, int] = dict(marts.rows(CHARGED_DAYS, *account))
    days = list_days(first_day(account.period), first_day(next_period(account.period)) - ONE_DAY)
    counted_us = min(now_us, marts.made_at_us)
    whole = forecast_micros(sum(charged.values()), account.period, books.time_zone, counted_us)
    curves = month_curves(charged, days, day_of(counted_us, books.time_zone), whole)
    return Plot(
        title=f"{account.period}, day by day", unit=account.currency, days=days, curves=curves, drawn=PlotStyle.LINES
    )


def month_curves(charged: Mapping[date, int], days: Sequence[date], counted: date, whole: int | None) -> list[Curve]:
    """Return the cumulated charges of each counted day, and a line from there to the forecast."""
    last = max([min(counted, days[-1]), *charged]) if counted >= days[0] else max(charged, default=days[0])
    sums = list(accumulate(charged.get(day, 0) for day in days))
    total = sums[-1]
    past = [_units(micros) if day <= last else None for day, micros in zip(days, sums, strict=True)]
    curves = [Curve(label="charged so far", values=past)]
    if whole is not None and last < days[-1]:
        steps = (days[-1] - last).days
        ahead = [total + (whole - total) * (day - last).days // steps if day >= last else None for day in days]
        values = [None if micros is None else _units(micros) for micros in ahead]
        curves.append(Curve(label="forecast", values=values))
    return curves


def load_uses(
    folder: Path, document: Invoice, line: InvoiceLine, through: int, skipped: int, most: int
) -> list[BilledUse]:
    """Return the uses of a line, in the order of the journal."""
    marts = Marts(folder, CHARGES)
    account = (document.organization, document.period, document.currency)
    return [BilledUse(*row) for row in marts.rows(USES, *account, *line.key, through, most, skipped)]


def _units(micros: int) -> float:
    """Convert micro-units for a plot only; bills use whole micro-units."""
    return round(micros / MICROS, 4)
