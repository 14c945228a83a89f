"""What a month costs and what was used, from the warehouse's billing tables.

Rule: amounts equal those of ``core/billing`` for the same sums, to the micro-unit; tables that do not cover the whole
log are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import NamedTuple

from postroad.adapters.marts.tables import LOG, RUN, Marts, MissingMarts, check_is_current
from postroad.core.billing.calendar import first_day, next_period
from postroad.core.billing.invoices import InvoiceAccount, LineTotal, LineTotals
from postroad.core.billing.issuing import CountedAccount, CountedMonth
from postroad.core.model.billing import Invoice, InvoiceLine, LineKey

APP = "billing"  # under which the tables record how far they have come
LINES, CHARGES, USAGE, SERVICES = "invoice_lines", "charges", "usage", "services"

# Of the organization $1 (empty: all) and the month $2.
DRAFTS = """
    select organization, period, currency, kind, part, service, tariff, quantity, kilobytes, micros, tariff_version
    from invoice_lines where ($1 = '' or organization = $1) and period = $2
"""
# Of the organization $1, the month $2 and the currency $3.
CHARGED_DAYS = """
    select day, sum(micros) from charges where organization = $1 and period = $2 and currency = $3 group by day order by day
"""
# Of the organization $1, the month $2 and the currency $3; of the line $4 to $7, through the entry $8; $9 of them after $10.
USES = """
    select at_us, session, kilobytes, micros from charges
    where organization = $1 and period = $2 and currency = $3 and kind = $4 and part = $5 and service = $6 and tariff = $7
          and seq <= $8
    order by seq, ordinal, part_number limit $9 offset $10
"""
# Of the organization $1 (empty: all), from the day $2 to before the day $3.
USED = """
    select usage.organization, coalesce(address, usage.service), role, day, size_class, sum(messages), sum(bytes),
           sum(kilobytes)
    from usage left join services using (service)
    where ($1 = '' or usage.organization = $1) and day >= $2 and day < $3 group by all order by all
"""
COVERED = "select coalesce(max(seq), 0), coalesce(max(at_us), 0) from log"
NAMES = "select service, address from services"


class BilledUse(NamedTuple):
    """One billed use of an invoice line."""

    at_us: int
    session: str
    kilobytes: int
    micros: int


class UsedService(NamedTuple):
    """What a service was used in one role, on one day, with messages of one size class."""

    organization: str
    service: str
    role: str
    day: date
    size_class: str
    messages: int
    bytes: int
    kilobytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMonth:
    """A counted month, when it was counted, and the addresses of services, removed ones too."""

    counted: CountedMonth
    made_at_us: int
    addresses: Mapping[str, str]


def read_month(folder: Path, organization: str, period: str) -> ReadMonth:
    """Read the charges of a month, of one organization or of all, summed by account and line."""
    marts = Marts(folder, LINES, SERVICES)
    check_is_current(folder, APP, (LINES,))
    sums: dict[InvoiceAccount, LineTotals] = {}
    versions: dict[InvoiceAccount, dict[str, int]] = {}
    for row in marts.rows(DRAFTS, organization, period):
        account = InvoiceAccount(*row[:3])
        sums.setdefault(account, {})[LineKey(*row[3:7])] = LineTotal(*row[7:10])
        versions.setdefault(account, {})[row[6]] = row[10]
    accounts = {account: CountedAccount(sums=found, tariffs=versions[account]) for account, found in sums.items()}
    counted = CountedMonth(through=0, accounts=accounts)
    return ReadMonth(counted=counted, made_at_us=marts.made_at_us, addresses=dict(marts.rows(NAMES)))


def read_whole_month(folder: Path, period: str) -> CountedMonth:
    """Read the charges of a month for issuing, with the last journal entry that they cover."""
    ((through, latest_us),) = Marts(folder, LOG).rows(COVERED)
    month = read_month(folder, "", period)
    if Marts(folder, LOG).rows(COVERED) != [(through, latest_us)]:
        raise MissingMarts("The pipeline is running.", *RUN)
    return CountedMonth(through=through, latest_us=latest_us, accounts=month.counted.accounts)


def read_usage(folder: Path, organization: str, period: str) -> list[UsedService]:
    """Read what was used in a month, by organization, service, role, day and size class."""
    marts = Marts(folder, USAGE, SERVICES)
    check_is_current(folder, APP, (USAGE,))
    begins, ends = first_day(period), first_day(next_period(period))
    return [UsedService(*row) for row in marts.rows(USED, organization, begins, ends)]


def read_uses(
    folder: Path, document: Invoice, line: InvoiceLine, through: int, skipped: int, count: int
) -> list[BilledUse]:
    """Read the uses behind a line in the order of the journal, up to the entry through which it was counted."""
    marts = Marts(folder, CHARGES)
    account = InvoiceAccount(document.organization, document.period, document.currency)
    return [BilledUse(*row) for row in marts.rows(USES, *account, *line.key, through, count, skipped)]


def read_charged_days(folder: Path, account: InvoiceAccount) -> tuple[dict[date, int], int]:
    """Read the charges of an account by day, and when they were counted."""
    marts = Marts(folder, CHARGES)
    check_is_current(folder, APP, (CHARGES,))
    return dict(marts.rows(CHARGED_DAYS, *account)), marts.made_at_us
