"""The tables that are made from the log, in the order in which they are made, and their refresh.

A table is a pure function of other tables. When events have been landed, the days that they are about are found, those days are
rebuilt as a whole, and each table's old rows of them are replaced in one commit that carries how many rows the log had; so
events that come late, twice or out of order change nothing but what they should, and a run that was killed is simply repeated.
New entries are found by the log's files: those that were not there when the tables were last brought up to date, whatever entries
they hold, so an archive of older entries may be landed at any time.

Rule: every row belongs to the day on which its message was posted, its transaction began, or its batch was opened. What
happens to it days later changes a row of that day.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import Enum

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from postroad.warehouse.jobs.billing_refresh import refresh_billing
from postroad.warehouse.landing.log_frame import log_schema, with_all_columns
from postroad.warehouse.marts.batches import batches
from postroad.warehouse.marts.delivery_attempts import delivery_attempts
from postroad.warehouse.marts.message_histories import message_histories
from postroad.warehouse.marts.transactions import transactions
from postroad.warehouse.reports.anomalies import anomalies
from postroad.warehouse.reports.errors import errors
from postroad.warehouse.reports.latency import latency
from postroad.warehouse.reports.partner_days import partner_days
from postroad.warehouse.reports.partners import partners
from postroad.warehouse.reports.traffic import traffic
from postroad.warehouse.reports.undelivered import undelivered
from postroad.warehouse.staging.distinct_events import distinct_events, entry_ranges
from postroad.warehouse.staging.services import services
from postroad.warehouse.staging.touched_days import Touched, touched_days
from postroad.warehouse.store.table_store import DAY, TableStore

APP = "marts"
LOG = "log"
HISTORIES = "message_histories"
KNOWN_FILES = "known_files"  # of the log, one row each


class Days(Enum):
    """The day column of a table; ``NONE`` is a small table that is always remade whole."""

    MESSAGE = "of the post"
    TRANSACTION = "of the beginning"
    BATCH = "of the batch's first message"
    NONE = "none"


class DaySpan(Enum):
    """The days of an input that some days of a table depend on."""

    SAME = "the same"
    FOLLOWING = "from the first of them on, or the day before by another clock"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineTable:
    """A table; ``make`` receives the ``inputs`` in order, each cut to its span; rows of other days are discarded."""

    name: str
    make: Callable[..., DataFrame]
    inputs: dict[str, DaySpan]
    days: Days = Days.MESSAGE


TABLES: tuple[PipelineTable, ...] = (
    PipelineTable(name="services", make=services, inputs={LOG: DaySpan.ALL}, days=Days.NONE),
    PipelineTable(name=HISTORIES, make=message_histories, inputs={LOG: DaySpan.FOLLOWING}),
    PipelineTable(
        name="delivery_attempts", make=delivery_attempts, inputs={LOG: DaySpan.FOLLOWING, HISTORIES: DaySpan.SAME}
    ),
    PipelineTable(name="transactions", make=transactions, inputs={HISTORIES: DaySpan.FOLLOWING}, days=Days.TRANSACTION),
    PipelineTable(
        name="batches", make=batches, inputs={LOG: DaySpan.FOLLOWING, HISTORIES: DaySpan.FOLLOWING}, days=Days.BATCH
    ),
    PipelineTable(name="traffic", make=traffic, inputs={LOG: DaySpan.FOLLOWING, HISTORIES: DaySpan.SAME}),
    PipelineTable(
        name="errors", make=errors, inputs={LOG: DaySpan.FOLLOWING, HISTORIES: DaySpan.SAME, "services": DaySpan.ALL}
    ),
    PipelineTable(name="latency", make=latency, inputs={HISTORIES: DaySpan.SAME}),
    PipelineTable(name="partners", make=partners, inputs={HISTORIES: DaySpan.SAME, "services": DaySpan.ALL}),
    PipelineTable(name="undelivered", make=undelivered, inputs={HISTORIES: DaySpan.SAME, "services": DaySpan.ALL}),
    PipelineTable(name="partner_days", make=partner_days, inputs={HISTORIES: DaySpan.SAME, "services": DaySpan.ALL}),
    PipelineTable(name="anomalies", make=anomalies, inputs={"partner_days": DaySpan.ALL}, days=Days.NONE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshedTable:
    """A refreshed table and the recomputed days; no days if it is remade whole."""

    table: str
    days: tuple[date, ...]


def earliest_day(days: Collection[date]) -> date:
    """Return the first day to read: by another node's clock, an answer may be dated before its question."""
    return min(days) - timedelta(days=1)


OnTableBegun = Callable[[PipelineTable, int, int], None]  # told of each table, its place and how many there are


def refresh(
    store: TableStore, tables: Sequence[PipelineTable] = TABLES, begun: OnTableBegun = lambda table, place, count: None
) -> list[RefreshedTable]:
    """Refresh the tables from the landed log; current tables are left alone."""
    if not store.exists(LOG):
        return []
    refresher = Refresher(store=store)
    done = []
    for place, table in enumerate(tables):
        begun(table, place, len(tables))
        found = refresher.bring_up(table)
        if found is not None:
            done.append(found)
    if tables is TABLES:
        done += refresher.bring_up_billing()
    refresher.remember_files()
    return done


@dataclass(slots=True, kw_only=True)
class Refresher:
    """One refresh run: the current log, and what its new files touch."""

    store: TableStore
    version: int = field(init=False)  # rows of the log, which only ever grow
    _log: DataFrame = field(init=False)
    _files: list[str] = field(init=False)
    _touched: Touched | None = None

    def __post_init__(self) -> None:
        self.version = self.store.rows(LOG)
        self._files = self.store.files(LOG)
        self._log = distinct_events(with_all_columns(self.store.read(LOG)), entry_ranges(self._files))

    def bring_up(self, table: PipelineTable) -> RefreshedTable | None:
        if self.store.version(table.name, APP) >= self.version:
            return None
        days = self._days(table)
        frame = table.make(*[self._input(name, span, table, days) for name, span in table.inputs.items()])
        if table.days is Days.NONE:
            self.store.replace(frame, table.name, APP, self.version)
        else:
            of_days = frame.where(fn.col(DAY).isin(*days)) if days else frame.limit(0)
            self.store.replace_days(of_days, table.name, days, APP, self.version)
        return RefreshedTable(table=table.name, days=tuple(sorted(days)))

    def bring_up_billing(self) -> list[RefreshedTable]:
        """Refresh the billing tables, which use the days and months of the billing time zone."""
        renewed = refresh_billing(self.store, self._new(), self.version)
        return [RefreshedTable(table=one.table, days=one.days) for one in renewed]

    def remember_files(self) -> None:
        """Record which files of the log the tables cover."""
        if self.store.version(KNOWN_FILES, APP) < self.version:
            rows = [(file,) for file in self._files]
            known = self._log.sparkSession.createDataFrame(rows, "file string")
            self.store.replace(known.coalesce(1), KNOWN_FILES, APP, self.version)

    @property
    def touched(self) -> Touched:
        if self._touched is None:
            histories = self.store.read(HISTORIES) if self.store.exists(HISTORIES) else None
            self._touched = touched_days(self._new(), self._log, histories)
        return self._touched

    def _new(self) -> DataFrame:
        known = set()
        if self.store.exists(KNOWN_FILES):
            known = {row["file"] for row in self.store.read(KNOWN_FILES).collect()}
        new = [file for file in self._files if file not in known]
        return self._log.sparkSession.read.schema(log_schema()).parquet(*new) if new else self._log.limit(0)

    def _days(self, table: PipelineTable) -> frozenset[date]:
        match table.days:
            case Days.MESSAGE:
                return self.touched.messages
            case Days.TRANSACTION:
                return self.touched.transactions
            case Days.BATCH:
                return self.touched.batches
        return frozenset()

    def _input(self, name: str, span: DaySpan, table: PipelineTable, days: Collection[date]) -> DataFrame:
        if name == LOG:
            return self._log if span is DaySpan.ALL else self._log.where(fn.col("seq") >= self._first_seq(table))
        if span is DaySpan.SAME:
            return self.store.read(name, days)
        whole = self.store.read(name)
        return whole.where(fn.col(DAY) >= earliest_day(days)) if span is DaySpan.FOLLOWING and days else whole

    def _first_seq(self, table: PipelineTable) -> int:
        return self.touched.first_batch_seq if table.days is Days.BATCH else self.touched.first_seq
