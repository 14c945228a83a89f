"""``postroad pipeline``: what it prints, what it leaves, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from postroad.bootstrap.stores import JOURNAL_FOLDER
from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.main import postroad
from postroad.warehouse.jobs.warehouse_lock import lock_warehouse
from postroad.warehouse.sources import SegmentLog
from postroad.warehouse.store import DeltaStore
from tests.warehouse.pipeline.console_reading import check_that_the_console_reads_them
from tests.warehouse.pipeline.landed import events, landed, made_up_journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("spark")  # the commands take the session that is there


def pipeline(*arguments: str) -> Result:
    return CliRunner().invoke(postroad, ["pipeline", *arguments])


def printed(*arguments: str) -> list[dict[str, Any]]:
    result = pipeline(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    made_up_journal(tmp_path / "data" / JOURNAL_FOLDER, messages=40)
    return tmp_path / "data"


def journal(data: Path) -> SegmentLog:
    return SegmentLog(folder=data / JOURNAL_FOLDER)


@pytest.mark.req("P1")
def test_run_lands_and_brings_every_table_up_to_date(spark: SparkSession, data: Path) -> None:
    head, store = journal(data).head(), DeltaStore(spark, data / "warehouse")
    [first] = printed("run", "--data", str(data))
    assert first["landed"] == {"after": 0, "upto": head, "batches": 1, "files": 0}
    assert first["rows"] == events(journal(data)).num_rows
    made = {table["name"] for table in first["tables"]}
    assert {"message_histories", "transactions"} <= made
    assert made | {"log"} <= set(store.names())
    again = pipeline("run", "--data", str(data))
    assert f"nothing new after entry {head}" in again.output
    check_that_the_console_reads_them(store.folder)


def test_watch_says_what_each_look_brought(data: Path) -> None:
    looks = printed("watch", "--data", str(data), "--log-only", "--times", "3", "--every", "0")
    assert [look["landed"]["batches"] for look in looks] == [1]


def test_an_export_is_landed_as_an_archive(spark: SparkSession, data: Path, tmp_path: Path) -> None:
    archive, tables = str(tmp_path / "archive"), str(tmp_path / "elsewhere")
    [exported] = printed("export", "--data", str(data), "--format", "jsonl", "--out", archive)
    assert exported == {"after": 0, "upto": journal(data).head(), "folder": archive}
    assert "nothing new" in pipeline("export", "--data", str(data), "--format", "jsonl", "--out", archive).output
    [done] = printed("run", "--archive", archive, "--warehouse", tables, "--log-only")
    assert done["landed"]["files"] == 1
    assert landed(Path(tables)).equals(events(journal(data)))


def test_tidy_puts_files_together_and_deletes_what_is_over(spark: SparkSession, data: Path) -> None:
    printed("run", "--data", str(data), "--log-only", "--batch", str(journal(data).head() // 3))
    store = DeltaStore(spark, data / "warehouse")
    files = len(store.files("log"))
    [tidied] = printed("tidy", "--data", str(data), "--older-than", "-1")
    assert tidied == {"table": "log", "fewer_files": files - 1, "deleted_files": files}
    assert landed(store.folder).equals(events(journal(data)))


def test_a_warehouse_that_is_being_written_is_busy(data: Path) -> None:
    with lock_warehouse(data / "warehouse"):
        result = pipeline("run", "--data", str(data), "--log-only", "--json")
    assert result.exit_code == ExitCode.UNAVAILABLE
    assert json.loads(result.stderr)["code"] == "warehouse.busy"


def test_a_folder_without_a_journal_is_said_so(tmp_path: Path) -> None:
    result = pipeline("run", "--data", str(tmp_path))
    assert result.exit_code == ExitCode.ERROR
    assert "there is no journal" in result.output
