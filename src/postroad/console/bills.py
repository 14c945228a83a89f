"""Bills in the console: what a month comes to by now, and the uses behind a line; from the warehouse's tables.

Kept rule: amounts are what ``core/billing`` makes of the same sums, to the micro-unit; tables behind the log are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from postroad.console.mart_questions import CHARGED_DAYS, DRAFTS, USES
from postroad.console.marts import Marts, check_is_counted
from postroad.console.plots import Curve, Drawn, Plot, all_days
from postroad.core.billing.calendar import day_of, first_day, next_period
from postroad.core.billing.forecast import forecast_micros
from postroad.core.billing.invoicing import Account, Issue, Sum, Sums, invoice
from postroad.core.model.billing import MICROS, Books, Invoice, InvoiceLine, LineKey

APP = "billing"  # under which the tables say how far they have come
LINES, CHARGES = "invoice_lines", "charges"
ONE_DAY = timedelta(days=1)
NAMES = "select service, address from services"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafts:
    """What accounts of a month come to now."""

    made_at_us: int
    invoices: tuple[Invoice, ...]  # without numbers, since none is issued
    addresses: Mapping[str, str]  # of services, those that are gone too


class Counted(NamedTuple):
    """One use behind a line."""

    at_us: int
    session: str
    kilobytes: int
    micros: int


def drafts(folder: Path, house: str, period: str, books: Books, today: date) -> Drafts:
    marts = Marts(folder, LINES, "services")
    check_is_counted(folder, APP, (LINES,))
    sums: dict[Account, Sums] = {}
    versions: dict[Account, dict[str, int]] = {}
    for row in marts.rows(DRAFTS, house, period):
        account = Account(*row[:3])
        sums.setdefault(account, {})[LineKey(*row[3:7])] = Sum(*row[7:10])
        versions.setdefault(account, {})[row[6]] = row[10]
    issues = {
        account: Issue(number="", on=today, books=books, through=0, tariffs=versions[account]) for account in sums
    }
    found = [invoice(account, sums[account], issues[account]) for account in sorted(sums)]
    return Drafts(made_at_us=marts.made_at_us, invoices=tuple(found), addresses=dict(marts.rows(NAMES)))


def exactly_micros(document: Invoice) -> int:
    return sum(line.micros for line in document.lines)


def forecast(document: Invoice, books: Books, counted_upto_us: int) -> int | None:
    """What the month of a draft will come to, in micro-units."""
    return forecast_micros(exactly_micros(document), document.period, books.time_zone, counted_upto_us)


def course(folder: Path, account: Account, books: Books, now_us: int) -> Plot:
    """A month day by day: what was charged until then, and where that leads."""
    marts = Marts(folder, CHARGES)
    check_is_counted(folder, APP, (CHARGES,))
    charged: dict[date, int] = dict(marts.rows(CHARGED_DAYS, *account))
    days = all_days(first_day(account.period), first_day(next_period(account.period)) - ONE_DAY)
    counted_us = min(now_us, marts.made_at_us)
    whole = forecast_micros(sum(charged.values()), account.period, books.time_zone, counted_us)
    curves = course_curves(charged, days, day_of(counted_us, books.time_zone), whole)
    return Plot(
        title=f"{account.period}, day by day", unit=account.currency, days=days, curves=curves, drawn=Drawn.LINES
    )


def course_curves(charged: Mapping[date, int], days: Sequence[date], counted: date, whole: int | None) -> list[Curve]:
    """What was charged by each day up to the last one that is counted, and from there a line to the forecast."""
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


def uses(folder: Path, document: Invoice, line: InvoiceLine, through: int, skipped: int, most: int) -> list[Counted]:
    """Uses behind a line, in the order of the journal."""
    marts = Marts(folder, CHARGES)
    account = (document.organization, document.period, document.currency)
    return [Counted(*row) for row in marts.rows(USES, *account, *line.key, through, most, skipped)]


def _units(micros: int) -> float:
    """Only for the eye: bills are made of whole micro-units."""
    return round(micros / MICROS, 4)
