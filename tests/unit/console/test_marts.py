"""The warehouse's tables as the console opens them: what is missing is said, with what to do about it."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, Transaction, write_deltalake

from postroad.adapters.marts import tables as marts
from postroad.adapters.marts.tables import Marts, MissingMarts, check_is_current
from postroad.console.billing_data import month_curves
from postroad.console.downloads import csv_file
from postroad.console.plots import list_days

ROWS = pa.table({"day": ["2026-10-01"], "messages": [3]})


def write(folder: Path, name: str, counted: int = 0) -> None:
    told = CommitProperties(app_transactions=[Transaction("billing", counted)]) if counted else None
    write_deltalake(str(folder / name), ROWS, commit_properties=told)


def test_without_tables_the_pipeline_has_to_run(tmp_path: Path) -> None:
    with pytest.raises(MissingMarts) as missing:
        Marts(tmp_path, "usage")
    assert missing.value.command == "postroad pipeline run"


def test_without_the_extra_it_has_to_be_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "usage")
    monkeypatch.setattr(marts, "find_spec", lambda name: None)
    with pytest.raises(MissingMarts) as missing:
        Marts(tmp_path, "usage")
    assert missing.value.command == "pip install '.[warehouse]'\npostroad pipeline run"


def test_the_console_is_there_without_the_extra() -> None:
    code = "import sys; sys.modules |= dict.fromkeys(['deltalake', 'duckdb', 'pyspark']); import postroad.console.pages"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_tables_of_bills_that_are_behind_are_refused(tmp_path: Path) -> None:
    for name in ("log", "charges"):
        write(tmp_path, name)
    with pytest.raises(MissingMarts, match="behind the log"):
        check_is_current(tmp_path, "billing", ["charges"])
    write(tmp_path, "invoice_lines", counted=1)
    check_is_current(tmp_path, "billing", ["invoice_lines"])


def test_reads_what_is_there_now(tmp_path: Path) -> None:
    write(tmp_path, "usage")
    assert Marts(tmp_path, "usage").rows("select messages from usage where day = $1", "2026-10-01") == [(3,)]
    write_deltalake(str(tmp_path / "usage"), ROWS, mode="append")
    assert Marts(tmp_path, "usage").rows("select sum(messages) from usage") == [(6,)]


def test_no_cell_of_a_file_is_a_formula() -> None:
    file = csv_file("usage", ["=name", "count"], [["=1+1", -5], ["-2.50", "+1 more"], ["@x", None], ["plain", 1.5]])
    assert bytes(file.body).decode().splitlines() == ["'=name,count", "'=1+1,-5", "-2.50,'+1 more", "'@x,", "plain,1.5"]
    assert file.headers["content-disposition"] == 'attachment; filename="usage.csv"'


def test_days_that_are_counted_are_not_forecast() -> None:
    days = list_days(date(2026, 11, 1), date(2026, 11, 30))
    charged, forecast = month_curves({date(2026, 11, 9): 150_000}, days, date(2026, 11, 18), 250_000)
    assert charged.values[8:18] == [0.15] * 10, "days without traffic are over, too"
    assert charged.values[18:] == [None] * 12
    assert forecast.values[:17] == [None] * 17
    assert (forecast.values[17], forecast.values[-1]) == (0.15, 0.25)
