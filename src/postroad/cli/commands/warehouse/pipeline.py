"""The command ``postroad pipeline``: load the journal into the warehouse's tables, on Spark."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path

import click

from postroad.bootstrap.settings import Settings
from postroad.cli.commands.operate.doctor import COLOURS
from postroad.cli.commands.warehouse.pipeline_steps import PipelineWork, journal_source, warehouse_folder
from postroad.cli.framework.command import command
from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.framework.output import Output
from postroad.cli.framework.settings import with_settings
from postroad.cli.framework.spark import Cluster, require_warehouse, with_cluster

WATCH_EVERY_S = 10.0
ENTRIES_PER_COMMIT = 1_000_000
KEPT_HOURS = 168.0

with_warehouse_folder = click.option(
    "--warehouse", "folder", type=click.Path(path_type=Path), help="Folder of the tables; default: beside the journal."
)
with_batch_size = click.option(
    "--batch", default=ENTRIES_PER_COMMIT, show_default=True, help="Number of entries landed with one commit."
)


@click.group()
def pipeline() -> None:
    """Load the journal into the warehouse, on Spark."""


@command
@click.option("--archive", type=click.Path(path_type=Path), help="Land the files of an export instead of the journal.")
@click.option("--log-only", is_flag=True, help="Only load the events; do not update the other tables.")
@with_batch_size
@with_warehouse_folder
@with_settings
@with_cluster
def run(
    out: Output, archive: Path | None, log_only: bool, batch: int, folder: Path | None, settings: Settings, cluster: Cluster
) -> None:  # fmt: skip
    """Load new events from the journal, and update all tables.

    May be killed at any moment and run again: every event is landed exactly once. Works beside a running server.
    """
    source = journal_source(settings) if archive is None else None
    work = PipelineWork.begin(out, cluster.session("postroad pipeline"), warehouse_folder(settings, folder))
    with work.hold_warehouse_lock():
        landing = work.land(source, batch) if source is not None else work.land_archive(archive or Path())
        work.report(landing, [] if log_only else work.refresh())


@command
@click.option("--every", default=WATCH_EVERY_S, show_default=True, help="Seconds between checks of the journal.")
@click.option("--times", type=click.IntRange(min=1), help="Stop after this many checks; default: when interrupted.")
@click.option("--log-only", is_flag=True, help="Only load the events; do not update the other tables.")
@with_batch_size
@with_warehouse_folder
@with_settings
@with_cluster
def watch(
    out: Output, every: float, times: int | None, log_only: bool, batch: int, folder: Path | None, settings: Settings,
    cluster: Cluster,
) -> None:  # fmt: skip
    """Run `pipeline run` whenever the journal has grown, until interrupted."""
    source = journal_source(settings)
    work = PipelineWork.begin(out, cluster.session("postroad pipeline"), warehouse_folder(settings, folder))
    looks = 0
    with work.hold_warehouse_lock(), contextlib.suppress(KeyboardInterrupt):
        while times is None or looks < times:
            if looks:
                time.sleep(every)
            looks += 1
            landing = work.land(source, batch)
            if landing.batches or looks == 1:
                work.report(landing, [] if log_only else work.refresh())


@command
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "parquet"]),
    default="parquet",
    show_default=True,
    help="JSON lines, or Parquet.",
)
@click.option("--out", "target", type=click.Path(path_type=Path), required=True, help="Folder for the files.")
@with_settings
def export(out: Output, form: str, target: Path, settings: Settings) -> None:
    """Write the journal's events as files, without Spark.

    Events that the folder already contains are not written again. `postroad pipeline run --archive` lands such a
    folder.
    """
    require_warehouse()
    from postroad.warehouse.jobs.export import export as export_log

    source = journal_source(settings)
    with out.progress("exporting", source.head()) as advance:
        done = export_log(source, target, "jsonl" if form == "jsonl" else "parquet", exported=advance)
    out.value({"after": done.after, "upto": done.upto, "folder": str(target)})
    out.print(f"{len(done)} entries exported to {target}" if len(done) else f"nothing new after entry {done.upto}")


@command
@click.option("--older-than", default=KEPT_HOURS, show_default=True, help="Hours before replaced files are deleted.")
@with_warehouse_folder
@with_settings
@with_cluster
def tidy(out: Output, older_than: float, folder: Path | None, settings: Settings, cluster: Cluster) -> None:
    """Merge small files, and delete files that no table needs any more."""
    work = PipelineWork.begin(out, cluster.session("postroad pipeline"), warehouse_folder(settings, folder))
    with work.hold_warehouse_lock():
        for name in work.store.names():
            merged, deleted = work.store.compact(name), work.store.vacuum(name, older_than)
            out.value({"table": name, "fewer_files": merged, "deleted_files": deleted})
            out.print(f"{name}: {merged} fewer files, {deleted} deleted")


@command
@with_warehouse_folder
@with_settings
@click.option("--master", default="local[*]", show_default=True, help="Spark master.")
@click.option("--driver-memory", default="2g", show_default=True, help="Memory of Spark's driver.")
def doctor(out: Output, folder: Path | None, settings: Settings, master: str, driver_memory: str) -> None:
    """Check that Spark can work here: Java, packages, memory, disk.

    Exit code 1 when something is missing.
    """
    from postroad.warehouse.doctor import check_all
    from postroad.warehouse.session import WarehouseSettings

    wanted = WarehouseSettings(folder=warehouse_folder(settings, folder), master=master, driver_memory=driver_memory)
    findings = check_all(wanted)
    out.value([finding._asdict() for finding in findings])
    for finding in findings:
        out.print(f"{click.style(f'{finding.state:<8}', fg=COLOURS[finding.state])}{finding.what}: {finding.detail}")
    if any(finding.state == "fault" for finding in findings):
        sys.exit(ExitCode.ERROR)


for step in (run, watch, export, tidy, doctor):
    pipeline.add_command(step)
