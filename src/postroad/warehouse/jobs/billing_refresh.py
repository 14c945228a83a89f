"""Refreshes the billing tables after a landing: ``usage``, ``charges`` and ``invoice_lines``.

Rules: the units that new events affect are rebuilt completely and replaced in one commit: a day of ``usage``; a month
of ``charges`` and ``invoice_lines``, since allowances and tiers run over a month. A new tariff or billing setting
affects every month, including those under earlier settings; a redelivered event may affect its original day. Each
table records its own progress, so a run that was killed between two of them is simply repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from postroad.core.billing.calendar import begins_us, first_day, next_period
from postroad.warehouse.billing.ledger import APP, CHARGES, LINES, LOG, USAGE
from postroad.warehouse.billing.price_list import KINDS, PriceList, load_price_list, owners
from postroad.warehouse.billing.uses import local_day, uses
from postroad.warehouse.marts import charges, invoices, usage
from postroad.warehouse.staging.distinct_events import entry_ranges, once, overlap
from postroad.warehouse.store.table_store import TableStore

COUNTED = ("message.posted", "invocation.returned")
TABLES = (USAGE, CHARGES, LINES)
OnBillingTableBegun = Callable[[str], None]
ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshedBillingTable:
    """A refreshed billing table, and the days that were recomputed."""

    table: str
    days: tuple[date, ...]


def refresh_billing(
    store: TableStore, new: DataFrame, version: int, begun: OnBillingTableBegun = lambda table: None
) -> list[RefreshedBillingTable]:
    """Refresh the tables to ``version`` of the log; ``new`` are its new events."""
    behind = [table for table in TABLES if store.version(table, APP) < version]
    if not behind:
        return []
    log = store.read(LOG)
    if overlap(entry_ranges(store.files(LOG))):
        new = log.join(new.select("seq").distinct(), "seq", "left_semi")  # as they were landed before, too
        log = once(log)
    prices = load_price_list(log)
    days = _touched_days(store, new, log, prices.books.time_zone)
    months = sorted({day.replace(day=1) for day in days})
    whole_months = [day for month in months for day in _days_of(month)]
    work = _Work(store=store, log=log, prices=prices, version=version)
    touched = {USAGE: sorted(days), CHARGES: whole_months, LINES: months}
    done = []
    for table in behind:
        begun(table)
        work.replace(table, touched[table])
        done.append(RefreshedBillingTable(table=table, days=tuple(touched[table])))
    return done


def _touched_days(store: TableStore, new: DataFrame, log: DataFrame, time_zone: str) -> set[date]:
    reprices = new.where(fn.col("object_kind").isin(*KINDS)).limit(1).count() > 0
    counted = (log if reprices else new).where(fn.col("kind").isin(*COUNTED))
    days = _days_in(counted.select(local_day(fn.col("at_us"), time_zone).alias("day")))
    known = [table for table in TABLES if reprices and store.exists(table)]
    return days.union(*[_days_in(store.read(table)) for table in known])


def _days_in(frame: DataFrame) -> set[date]:
    return {row["day"] for row in frame.select("day").distinct().collect()}


def _days_of(month: date) -> Iterator[date]:
    day, end = month, first_day(next_period(f"{month:%Y-%m}"))
    while day < end:
        yield day
        day += ONE_DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """The inputs of the billing tables."""

    store: TableStore
    log: DataFrame
    prices: PriceList
    version: int

    def replace(self, table: str, days: Collection[date]) -> None:
        frame = self._made(table, days)
        if days:
            self.store.replace_days(frame, table, days, APP, self.version)
        else:
            self.store.append(frame.limit(0), table, APP, self.version)

    def _made(self, table: str, days: Collection[date]) -> DataFrame:
        if table == USAGE:
            rows = self.log.where(self._within(days))
            return usage.usage(rows, owners(self.log), self.prices.books.time_zone)
        if table == CHARGES:
            return charges.charges(uses(self.log).where(self._within(days)), owners(self.log), self.prices)
        charged = self.store.read(CHARGES)
        return invoices.invoice_lines(charged.where(fn.trunc("day", "month").isin(*days) if days else fn.lit(False)))

    def _within(self, days: Collection[date]) -> Column:
        """Whether an event lies in these days, by ranges of its time, which files are chosen by."""
        zone = self.prices.books.time_zone
        found = fn.lit(False)
        for first, last in _stretches(sorted(days)):
            at = fn.col("at_us")
            found = found | ((at >= begins_us(first, zone)) & (at < begins_us(last + ONE_DAY, zone)))
        return found


def _stretches(days: list[date]) -> Iterator[tuple[date, date]]:
    """Yield runs of consecutive days, as first and last."""
    begun = 0
    for place, day in enumerate(days):
        if place + 1 == len(days) or days[place + 1] - day > ONE_DAY:
            yield days[begun], day
            begun = place + 1
