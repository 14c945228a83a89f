"""``postroad report``: what the warehouse's tables say, as a table, a file or a chart."""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from postroad.bootstrap.settings import Settings
from postroad.cli.command import command
from postroad.cli.configuring import configured
from postroad.cli.on_spark import require_warehouse
from postroad.cli.output import Output
from postroad.cli.pipeline_work import warehouse_folder
from postroad.cli.report_view import show_summary, write_summary

if TYPE_CHECKING:
    from postroad.warehouse.reports.summary import Summary

TOP = 20


@click.group()
def report() -> None:
    """See traffic, errors, latency, partners and what is odd, from the warehouse.

    Reads the tables that `postroad pipeline run` has made; needs neither the server nor Spark.
    """


def reporting(function: Callable[..., None]) -> Callable[..., None]:
    """Options of every report; the command is only a name and a help text."""

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
            out.say(f"written to {target}")
        if plot is not None:
            from postroad.warehouse.reports.plots import draw

            draw(summary.chart, plot)
            out.say(f"drawn to {plot}")

    for option in (
        click.option("--warehouse", "folder", type=click.Path(path_type=Path), help="Where the tables lie."),
        click.option("--out", "target", type=click.Path(path_type=Path), help="Also write it to a .csv or .json file."),
        click.option("--plot", type=click.Path(path_type=Path), help="Draw it to a .png or .svg file."),
        click.option("--top", type=click.IntRange(1), default=TOP, show_default=True, help="Rows at most."),
        click.option("--to", "end", type=click.DateTime(["%Y-%m-%d"]), help="Last day (UTC); else the latest."),
        click.option("--from", "begin", type=click.DateTime(["%Y-%m-%d"]), help="First day (UTC); else the earliest."),
    ):
        run = option(run)
    return configured(run)


def _summary(name: str, folder: Path, begin: datetime | None, end: datetime | None, top: int) -> Summary:
    from postroad.warehouse.reports.summaries import REPORTS
    from postroad.warehouse.reports.tables import Period, ReportTables

    period = Period(begin.date() if begin is not None else None, end.date() if end is not None else None)
    return REPORTS[name](ReportTables(folder), period, top)


@reporting
def traffic(**_: Any) -> None:
    """Messages by day and type."""


@reporting
def errors(**_: Any) -> None:
    """What went wrong, by code, and whose it was most."""


@reporting
def latency(**_: Any) -> None:
    """How long waiting, working and answering took: percentiles."""


@reporting
def slow(**_: Any) -> None:
    """Services that take long with what they are given."""


@reporting
def partners(**_: Any) -> None:
    """Who sends most to whom."""


@reporting
def undelivered(**_: Any) -> None:
    """Messages that expired, failed, were rejected or withdrawn, or are still under way."""


@reporting
def anomalies(**_: Any) -> None:
    """Sudden changes of an organization's volume, error rate or latency."""


@reporting
def cost(**_: Any) -> None:
    """What organizations were charged, and what they earned."""


@reporting
def batches(**_: Any) -> None:
    """What send ports gathered and sent, what closed their batches, and which need somebody."""


for one in (traffic, errors, latency, slow, partners, undelivered, anomalies, cost, batches):
    report.add_command(command(one))
