"""The command ``postroad report``: the warehouse's tables as a table, a file or a chart."""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from postroad.bootstrap.settings import Settings
from postroad.cli.commands.warehouse.pipeline_steps import warehouse_folder
from postroad.cli.framework.command import command
from postroad.cli.framework.output import Output
from postroad.cli.framework.settings import with_settings
from postroad.cli.framework.spark import require_warehouse
from postroad.cli.views.reports import show_summary, write_summary

if TYPE_CHECKING:
    from postroad.warehouse.reports.summary import Summary

TOP = 20


@click.group()
def report() -> None:
    """Show traffic, errors, latency, partners and anomalies, from the warehouse.

    Reads the tables that `postroad pipeline run` has made; needs neither the server nor Spark.
    """


def report_command(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options of every report; the command itself is only a name and a help text."""

    @functools.wraps(function)
    def run(
        out: Output,
        begin: datetime | None,
        end: datetime | None,
        top: int,
        plot: Path | None,
        target: Path | None,
        folder: Path | None,
        settings: Settings,
    ) -> None:
        require_warehouse()
        summary = _summary(function.__name__, warehouse_folder(settings, folder), begin, end, top)
        show_summary(out, summary)
        if target is not None:
            write_summary(summary, target)
            out.print(f"written to {target}")
        if plot is not None:
            from postroad.warehouse.reports.chart_files import draw_chart

            draw_chart(summary.chart, plot)
            out.print(f"drawn to {plot}")

    for option in (
        click.option("--warehouse", "folder", type=click.Path(path_type=Path), help="Folder of the tables."),
        click.option("--out", "target", type=click.Path(path_type=Path), help="Also write it to a .csv or .json file."),
        click.option("--plot", type=click.Path(path_type=Path), help="Draw it to a .png or .svg file."),
        click.option("--top", type=click.IntRange(1), default=TOP, show_default=True, help="Maximum number of rows."),
        click.option("--to", "end", type=click.DateTime(["%Y-%m-%d"]), help="Last day (UTC); default: the latest."),
        click.option(
            "--from", "begin", type=click.DateTime(["%Y-%m-%d"]), help="First day (UTC); default: the earliest."
        ),
    ):
        run = option(run)
    return with_settings(run)


def _summary(name: str, folder: Path, begin: datetime | None, end: datetime | None, top: int) -> Summary:
    from postroad.warehouse.reports.catalog import REPORTS
    from postroad.warehouse.reports.report_tables import Period, ReportTables

    period = Period(begin.date() if begin is not None else None, end.date() if end is not None else None)
    return REPORTS[name](ReportTables(folder), period, top)


@report_command
def traffic(**_: Any) -> None:
    """Messages by day and type."""


@report_command
def errors(**_: Any) -> None:
    """Errors by code, and the parties with the most errors."""


@report_command
def latency(**_: Any) -> None:
    """Waiting, processing and response times, as percentiles."""


@report_command
def slow(**_: Any) -> None:
    """Services that take long to process their messages."""


@report_command
def partners(**_: Any) -> None:
    """Sender and recipient pairs with the most messages."""


@report_command
def undelivered(**_: Any) -> None:
    """Messages that expired, failed, were rejected or cancelled, or are still in transit."""


@report_command
def anomalies(**_: Any) -> None:
    """Sudden changes of an organization's volume, error rate or latency."""


@report_command
def cost(**_: Any) -> None:
    """What organizations were charged, and what they earned."""


@report_command
def batches(**_: Any) -> None:
    """What send ports gathered and sent, what closed their batches, and which need attention."""


for one in (traffic, errors, latency, slow, partners, undelivered, anomalies, cost, batches):
    report.add_command(command(one))
