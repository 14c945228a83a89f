"""The billing tables of the pipeline: ``usage``, ``charges`` and ``invoice_lines``.

Rules: the units that new events affect are rebuilt completely and replaced in one commit: a day of ``usage``; a month
of ``charges`` and ``invoice_lines``, since allowances and tiers run over a month. A new tariff or billing setting
affects every month, including those under earlier settings; a redelivered event may affect its original day. Each
table records its own progress, so a run that was killed between two of them is simply repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from postroad.core.billing.calendar import begins_us, first_day, next_period
from postroad.warehouse.billing.ledger import APP, CHARGES, LINES, LOG, USAGE
from postroad.warehouse.billing.price_list import KINDS, load_price_list, owners
from postroad.warehouse.billing.uses import local_day, uses
from postroad.warehouse.jobs.refreshed_table import RefreshedTable
from postroad.warehouse.marts import charges, invoices, usage
from postroad.warehouse.staging.distinct_events import entry_ranges, once, overlap
from postroad.warehouse.store.table_store import TableStore

COUNTED = ("message.posted", "invocation.returned")
NAMES = (USAGE, CHARGES, LINES)
ONE_DAY = timedelta(days=1)


class BillingInputs:
    """What the billing tables are made from in one refresh: the log, prices, and the touched days by the books."""

    def __init__(self, store: TableStore, new: DataFrame, version: int) -> None:
        self.store, self.version = store, version
        log = store.read(LOG)
        if overlap(entry_ranges(store.files(LOG))):
            new = log.join(new.select("seq").distinct(), "seq", "left_semi")  # as they were landed before, too
            log = once(log)
        self.log = log
        self.prices = load_price_list(log)
        self.days = sorted(_touched_days(store, new, log, self.time_zone))
        self.months = sorted({day.replace(day=1) for day in self.days})

    @property
    def time_zone(self) -> str:
        return self.prices.books.time_zone

    @property
    def days_of_months(self) -> list[date]:
        return [day for month in self.months for day in _days_of(month)]

    def within(self, days: Collection[date]) -> Column:
        """Whether an event lies in these days, by ranges of its time, which files are chosen by."""
        found = fn.lit(False)
        for first, last in _stretches(sorted(days)):
            at = fn.col("at_us")
            found = found | (
                (at >= begins_us(first, self.time_zone)) & (at < begins_us(last + ONE_DAY, self.time_zone))
            )
        return found


class HasBillingInputs(Protocol):
    """A refresh run that computes the inputs of billing tables when the first of them needs them."""

    store: TableStore
    version: int

    @property
    def billing(self) -> BillingInputs: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BillingTable:
    """A table by the days or months of the billing time zone; ``make`` receives the ``inputs`` for its ``days``."""

    name: str
    make: Callable[..., DataFrame]
    days: Callable[[BillingInputs], list[date]]
    inputs: Callable[[BillingInputs, Collection[date]], tuple[Any, ...]]

    def bring_up(self, run: HasBillingInputs) -> RefreshedTable | None:
        """Refresh the table to the run's version of the log; a current table is left alone."""
        if run.store.version(self.name, APP) >= run.version:
            return None
        billing = run.billing
        days = self.days(billing)
        frame = self.make(*self.inputs(billing, days))
        if days:
            run.store.replace_days(frame, self.name, days, APP, run.version)
        else:
            run.store.append(frame.limit(0), self.name, APP, run.version)
        return RefreshedTable(table=self.name, days=tuple(days))


def _usage_inputs(billing: BillingInputs, days: Collection[date]) -> tuple[Any, ...]:
    return billing.log.where(billing.within(days)), owners(billing.log), billing.time_zone


def _charge_inputs(billing: BillingInputs, days: Collection[date]) -> tuple[Any, ...]:
    return uses(billing.log).where(billing.within(days)), owners(billing.log), billing.prices


def _line_inputs(billing: BillingInputs, months: Collection[date]) -> tuple[Any, ...]:
    charged = billing.store.read(CHARGES)
    return (charged.where(fn.trunc("day", "month").isin(*months) if months else fn.lit(False)),)


BILLING_TABLES: tuple[BillingTable, ...] = (
    BillingTable(name=USAGE, make=usage.usage, days=lambda billing: billing.days, inputs=_usage_inputs),
    BillingTable(
        name=CHARGES, make=charges.charges, days=lambda billing: billing.days_of_months, inputs=_charge_inputs
    ),
    BillingTable(name=LINES, make=invoices.invoice_lines, days=lambda billing: billing.months, inputs=_line_inputs),
)


def _touched_days(store: TableStore, new: DataFrame, log: DataFrame, time_zone: str) -> set[date]:
    reprices = new.where(fn.col("object_kind").isin(*KINDS)).limit(1).count() > 0
    counted = (log if reprices else new).where(fn.col("kind").isin(*COUNTED))
    days = _days_in(counted.select(local_day(fn.col("at_us"), time_zone).alias("day")))
    known = [table for table in NAMES if reprices and store.exists(table)]
    return days.union(*[_days_in(store.read(table)) for table in known])


def _days_in(frame: DataFrame) -> set[date]:
    return {row["day"] for row in frame.select("day").distinct().collect()}


def _days_of(month: date) -> Iterator[date]:
    day, end = month, first_day(next_period(f"{month:%Y-%m}"))
    while day < end:
        yield day
        day += ONE_DAY


def _stretches(days: list[date]) -> Iterator[tuple[date, date]]:
    """Yield runs of consecutive days, as first and last."""
    begun = 0
    for place, day in enumerate(days):
        if place + 1 == len(days) or days[place + 1] - day > ONE_DAY:
            yield days[begun], day
            begun = place + 1
