"""Bars of jobs: one for the job, one for each stage at work, and none where nobody looks."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import Progress

from postroad.cli.framework.output import Output
from postroad.cli.framework.progress import _StageBars, show_job_progress
from postroad.warehouse.progress import SparkStage, watch_stages
from tests.waiting import eventually


def shown(bars: Progress) -> list[tuple[str, float, float | None]]:
    return [(task.description.strip(), task.completed, task.total) for task in bars.tasks]


def test_stages_come_advance_and_go() -> None:
    bars = Progress(console=Console(file=io.StringIO()))
    stages = _StageBars(bars)
    stages.show([SparkStage("reading", 4, 1), SparkStage("writing", 2, 0)])
    assert shown(bars) == [("1. reading", 1, 4), ("2. writing", 0, 2)]
    stages.show([SparkStage("reading", 4, 3)])
    assert shown(bars) == [("1. reading", 3, 4)]
    stages.show([])
    assert shown(bars) == []


def test_a_stage_says_how_many_rows_it_has_read(spark: SparkSession) -> None:
    """Watched while a job is at work that takes long enough to be seen, whatever the machine does meanwhile."""
    heard: list[SparkStage] = []
    with watch_stages(spark, heard.extend):
        slow = spark.range(0, 2_000_000, 1, 8).repartition(4).selectExpr("sum(id * pmod(hash(id), 97))")
        while not any(stage.rows for stage in heard):
            slow.collect()
    seen = next(stage for stage in heard if stage.rows)
    assert 0 <= seen.done <= seen.tasks
    assert seen.rows <= 2_000_000


@pytest.mark.parametrize("as_json", [True, False])
def test_without_a_terminal_nothing_is_drawn_and_spark_is_not_asked(
    capfd: pytest.CaptureFixture[str], as_json: bool
) -> None:
    unasked: Any = None
    with show_job_progress(Output(as_json), unasked, "landing", 10) as advance:
        advance(5)
    assert capfd.readouterr() == ("", "")


def test_a_program_that_started_the_job_reads_from_a_file_how_far_it_is(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "progress.json"
    with show_job_progress(Output(True), spark, "comparing", counted=lambda: 17, file=file):
        eventually(file.exists)
    assert json.loads(file.read_text()) == {"rows": 17, "stages": []}
