"""The steps of ``postroad pipeline`` on one Spark session: land, refresh, report, each with a progress bar."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from postroad.bootstrap.settings import Settings
from postroad.bootstrap.stores import JOURNAL_FOLDER
from postroad.cli.framework.output import Output
from postroad.cli.framework.progress import show_job_progress
from postroad.cli.framework.stores import is_shared
from postroad.errors import Misconfigured

if TYPE_CHECKING:
    from postroad.warehouse.jobs.landing import Landing
    from postroad.warehouse.jobs.refreshed_table import RefreshedTable
    from postroad.warehouse.session import SparkSession
    from postroad.warehouse.sources import LogSource
    from postroad.warehouse.store import DeltaStore


def warehouse_folder(settings: Settings, chosen: Path | None) -> Path:
    """Return the folder of the warehouse's tables: as chosen, or from the settings."""
    return chosen or settings.warehouse_folder


def journal_source(settings: Settings) -> LogSource:
    """Return the journal of the configured network as a log source."""
    from postroad.warehouse.sources import PostgresLog, SegmentLog

    if is_shared(settings):
        return PostgresLog(url=settings.postgres)
    folder = settings.data / JOURNAL_FOLDER
    if not folder.is_dir():
        raise Misconfigured([f"there is no journal in {settings.data}; use --data for another folder"])
    return SegmentLog(folder=folder.absolute())


@dataclass(slots=True, kw_only=True)
class PipelineWork:
    """A Spark session, the warehouse it writes to, and its start time."""

    out: Output
    spark: SparkSession
    store: DeltaStore
    started: float

    @classmethod
    def begin(cls, out: Output, spark: SparkSession, folder: Path) -> PipelineWork:
        from postroad.warehouse.store import DeltaStore

        return cls(out=out, spark=spark, store=DeltaStore(spark, folder.absolute()), started=time.monotonic())

    def hold_warehouse_lock(self) -> AbstractContextManager[None]:
        from postroad.warehouse.jobs.warehouse_lock import lock_warehouse

        return lock_warehouse(self.store.folder)

    def land(self, source: LogSource, entries_per_batch: int) -> Landing:
        from postroad.warehouse.jobs.landing import land, landed_seq

        after = landed_seq(self.store)
        with show_job_progress(self.out, self.spark, "landing", source.head() - after, "entries") as advance:
            return land(
                self.spark,
                self.store,
                source,
                entries_per_batch=entries_per_batch,
                landed=lambda upto: advance(upto - after),
            )

    def land_archive(self, folder: Path) -> Landing:
        from postroad.warehouse.jobs.landing import land_archive
        from postroad.warehouse.sources import Archive

        archive = Archive.found_in(folder.absolute())
        with show_job_progress(self.out, self.spark, "landing the archive", len(archive.files()), "files") as advance:
            return land_archive(self.spark, self.store, archive, landed=advance)

    def refresh(self) -> list[RefreshedTable]:
        from postroad.warehouse.pipeline import TABLES, Table, refresh
        from postroad.warehouse.progress import name_stages

        with show_job_progress(self.out, self.spark, "tables", len(TABLES), "tables") as advance:

            def begun(table: Table, place: int, count: int) -> None:
                name_stages(self.spark, table.name)
                advance(place)

            return refresh(self.store, begun=begun)

    def report(self, landing: Landing, refreshed: list[RefreshedTable]) -> None:
        seconds = round(time.monotonic() - self.started, 1)
        self.out.value(
            {
                "landed": {
                    "after": landing.after,
                    "upto": landing.upto,
                    "batches": landing.batches,
                    "files": landing.files,
                },
                "rows": self.store.rows("log") if self.store.exists("log") else 0,
                "tables": [{"name": one.table, "days": [day.isoformat() for day in one.days]} for one in refreshed],
                "seconds": seconds,
            }
        )
        self._report(landing, refreshed, seconds)

    def _report(self, landing: Landing, refreshed: list[RefreshedTable], seconds: float) -> None:
        if landing.files:
            self.out.print(f"{landing.files} files of the archive landed")
        elif landing.batches:
            self.out.print(f"entries {landing.after + 1} to {landing.upto} landed with {landing.batches} commits")
        else:
            self.out.print(f"nothing new after entry {landing.upto}")
        if refreshed:
            self.out.print(f"brought up to date: {', '.join(one.table for one in refreshed)}")
        self.out.print(f"{seconds} s; the tables are in {self.store.folder}")
