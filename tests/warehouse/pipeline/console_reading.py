"""The console's reports over tables that the pipeline has really made: every column that they ask for is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from postroad.adapters.marts.tables import ALL, RowFilter
from postroad.console.reports import REPORTS, MartReport
from postroad.warehouse.reports.report_tables import ReportTables


def check_that_the_console_reads_them(folder: Path) -> None:
    tables = ReportTables(folder)
    houses = {row["organization"] for row in tables.rows("services")}
    days = [row["day"] for row in tables.rows("message_histories")]
    first, last = min(days), max(days)

    def made(name: str, house: str) -> MartReport:
        return REPORTS[name](folder, RowFilter(organization=house, first=first, last=last))

    used = sum(row["messages"] for row in tables.rows("usage"))
    assert (
        used == _sum(made("usage", ALL), "messages") == sum(_sum(made("usage", house), "messages") for house in houses)
    )
    assert _drawn(made("usage", ALL)) == used
    took = sum(row["count"] for row in tables.rows("latency"))
    assert took == _sum(made("latency", ALL), "count") == sum(_sum(made("latency", house), "count") for house in houses)
    wrong = sum(row["count"] for row in tables.rows("errors"))
    assert wrong == _sum(made("errors", ALL), "count")
    assert _sum(made("batches", ALL), "batches") == len(tables.rows("batches"))
    _check_partners(made, tables, houses)


def _check_partners(made: Callable[[str, str], MartReport], tables: ReportTables, houses: set[str]) -> None:
    """Everybody knows of every message that it sent or got, whoever stood between."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in tables.rows("partners"):
        counts["to", row["sender"]] += row["messages"]
        counts["from", row["recipient"]] += row["messages"]
    for house in houses:
        told: Counter[str] = Counter()
        for way, _, messages, *_ in made("partners", house).rows:
            told[way] += messages
        assert (told["to"], told["from"]) == (counts["to", house], counts["from", house])


def _sum(report: MartReport, column: str) -> int:
    return sum(row[list(report.columns).index(column)] for row in report.rows)


def _drawn(report: MartReport) -> int:
    return sum(int(value or 0) for curve in report.plot.curves for value in curve.values)
