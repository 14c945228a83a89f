"""Warehouse reports on the terminal, and as files."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from postroad.cli.framework.output import Output
from postroad.core.codecs.csv_cells import csv_cell
from postroad.errors import Misconfigured

if TYPE_CHECKING:
    from postroad.warehouse.reports.summary import Summary

MICROS = 1_000_000


def show_summary(out: Output, summary: Summary) -> None:
    for record in summary.records():
        out.value(record)
    if summary.rows:
        headings = [name.removesuffix("_micros").replace("_", " ").upper() for name in summary.columns]
        out.table(headings, [_shown(summary.columns, row) for row in summary.rows])
    else:
        out.print("Nothing to report.")
    for note in summary.notes if summary.rows else ():
        out.print(note)


def _shown(columns: Sequence[str], row: Sequence[Any]) -> list[str]:
    return [_cell(name, value) for name, value in zip(columns, row, strict=True)]


def _cell(name: str, value: Any) -> str:
    match value:
        case int() if name.endswith("_micros"):
            return f"{value // MICROS:,}.{value % MICROS:06d}"
        case int():
            return f"{value:,}"
        case float() if abs(value) >= 100:
            return f"{value:,.0f}"
        case float():
            return f"{value:.3g}"
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}"
    return "" if value is None else str(value)


def write_summary(summary: Summary, path: Path) -> None:
    """Write the report as a file; the file's suffix selects the format."""
    match path.suffix.casefold():
        case ".csv":
            with path.open("w", newline="", encoding="utf-8") as file:
                rows = csv.writer(file, lineterminator="\n")
                rows.writerow(summary.columns)
                rows.writerows([csv_cell(cell) for cell in row] for row in summary.rows)
        case ".json":
            path.write_text(json.dumps(summary.records(), indent=1, default=str, ensure_ascii=False) + "\n", "utf-8")
        case _:
            raise Misconfigured([f"--out {path}: a report is written as .csv or .json"])
