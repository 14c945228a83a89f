"""Billing data for the console: the current total of a month, its forecast, and its course day by day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import accumulate
from pathlib import Path

from postroad.adapters.marts.billing import read_charged_days, read_month
from postroad.console.plots import Curve, Plot, PlotStyle, list_days
from postroad.core.billing.calendar import day_of, first_day, next_period
from postroad.core.billing.forecast import forecast_micros
from postroad.core.billing.invoices import InvoiceAccount
from postroad.core.billing.issuing import draft_invoices
from postroad.core.model.billing import MICROS, BillingSettings, Invoice

ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthDrafts:
    """The current drafts of a month's invoices."""

    made_at_us: int
    invoices: tuple[Invoice, ...]  # without numbers, since none is issued
    addresses: Mapping[str, str]  # of services, those that are gone too


def load_drafts(folder: Path, organization: str, period: str, books: BillingSettings, today: date) -> MonthDrafts:
    month = read_month(folder, organization, period)
    found = draft_invoices(period, month.counted, "", today, books)
    return MonthDrafts(made_at_us=month.made_at_us, invoices=tuple(found), addresses=month.addresses)


def exactly_micros(document: Invoice) -> int:
    return sum(line.micros for line in document.lines)


def forecast_total(document: Invoice, books: BillingSettings, counted_upto_us: int) -> int | None:
    """Estimate the month's total of a draft, in micro-units."""
    return forecast_micros(exactly_micros(document), document.period, books.time_zone, counted_upto_us)


def plot_month(folder: Path, account: InvoiceAccount, books: BillingSettings, now_us: int) -> Plot:
    """Plot a month day by day: the charges so far, and the forecast."""
    charged, made_at_us = read_charged_days(folder, account)
    days = list_days(first_day(account.period), first_day(next_period(account.period)) - ONE_DAY)
    counted_us = min(now_us, made_at_us)
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


def _units(micros: int) -> float:
    """Convert micro-units for a plot only; bills use whole micro-units."""
    return round(micros / MICROS, 4)
