"""The tables that are made from the log, in the order in which they are made, and their refresh.

A table is a pure function of other tables. After a landing, the pipeline finds the days that the new events affect, rebuilds
those days completely, and replaces each table's old rows of them in one commit, which records how many rows the log had. So
events that come late, twice or out of order change only the rows of their days, and a run that was killed is repeated. New
events are those in files of the log that were not there at the last refresh, whatever entries they contain; so an archive of
older entries may be landed at any time.

Rule: every row belongs to the day on which its message was posted, its transaction began, or its batch was opened. Later events
change the row of that day. Billing tables go by the days and months of the billing time zone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import Enum

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from postroad.warehouse.jobs.billing_refresh import BILLING_TABLES, BillingInputs, BillingTable
from postroad.warehouse.jobs.refreshed_table import RefreshedTable
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
from postroad.warehouse.staging.days import Touched, touched_days
from postroad.warehouse.staging.distinct_events import distinct_events, entry_ranges
from postroad.warehouse.staging.services import services
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

    def bring_up(self, run: Refresher) -> RefreshedTable | None:
        """Refresh the table to the run's version of the log; a current table is left alone."""
        if run.store.version(self.name, APP) >= run.version:
            return None
        days = run.days(self)
        frame = self.make(*[run.input(name, span, self, days) for name, span in self.inputs.items()])
        if self.days is Days.NONE:
            run.store.replace(frame, self.name, APP, run.version)
        else:
            of_days = frame.where(fn.col(DAY).isin(*days)) if days else frame.limit(0)
            run.store.replace_days(of_days, self.name, days, APP, run.version)
        return RefreshedTable(table=self.name, days=tuple(sorted(days)))


Table = PipelineTable | BillingTable

TABLES: tuple[Table, ...] = (
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
    *BILLING_TABLES,
)


def earliest_day(days: Collection[date]) -> date:
    """Return the first day to read: by another node's clock, an answer may be dated before its question."""
    return min(days) - timedelta(days=1)


OnTableBegun = Callable[[Table, int, int], None]  # told of each table, its place and how many there are


def refresh(
    store: TableStore, tables: Sequence[Table] = TABLES, begun: OnTableBegun = lambda table, place, count: None
) -> list[RefreshedTable]:
    """Refresh the tables from the landed log; current tables are left alone."""
    if not store.exists(LOG):
        return []
    refresher = Refresher(store=store)
    done = []
    for place, table in enumerate(tables):
        begun(table, place, len(tables))
        found = table.bring_up(refresher)
        if found is not None:
            done.append(found)
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
    _billing: BillingInputs | None = None

    def __post_init__(self) -> None:
        self.version = self.store.rows(LOG)
        self._files = self.store.files(LOG)
        self._log = distinct_events(with_all_columns(self.store.read(LOG)), entry_ranges(self._files))

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

    @property
    def billing(self) -> BillingInputs:
        """What billing tables are made from, by the days and months of the billing time zone."""
        if self._billing is None:
            self._billing = BillingInputs(self.store, self._new(), self.version)
        return self._billing

    def _new(self) -> DataFrame:
        known = set()
        if self.store.exists(KNOWN_FILES):
            known = {row["file"] for row in self.store.read(KNOWN_FILES).collect()}
        new = [file for file in self._files if file not in known]
        return self._log.sparkSession.read.schema(log_schema()).parquet(*new) if new else self._log.limit(0)

    def days(self, table: PipelineTable) -> frozenset[date]:
        """Return the days of the table that new events touch."""
        match table.days:
            case Days.MESSAGE:
                return self.touched.messages
            case Days.TRANSACTION:
                return self.touched.transactions
            case Days.BATCH:
                return self.touched.batches
        return frozenset()

    def input(self, name: str, span: DaySpan, table: PipelineTable, days: Collection[date]) -> DataFrame:
        """Return an input of the table, cut to what these days depend on."""
        if name == LOG:
            return self._log if span is DaySpan.ALL else self._log.where(fn.col("seq") >= self._first_seq(table))
        if span is DaySpan.SAME:
            return self.store.read(name, days)
        whole = self.store.read(name)
        return whole.where(fn.col(DAY) >= earliest_day(days)) if span is DaySpan.FOLLOWING and days else whole

    def _first_seq(self, table: PipelineTable) -> int:
        return self.touched.first_batch_seq if table.days is Days.BATCH else self.touched.first_seq
