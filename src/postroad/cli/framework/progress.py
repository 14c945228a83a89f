"""Progress bars for Spark jobs: one for the job with rows and time left, and one per running stage.

Rule: they are drawn on standard error, and only on a terminal. Without a terminal, for example for a program that
started the job, progress can be written to a file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from postroad.cli.framework.output import Advance, Output

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from postroad.warehouse.progress import SparkStage
    from postroad.warehouse.session import SparkSession


@contextmanager
def show_job_progress(
    out: Output,
    spark: SparkSession,
    what: str,
    total: float | None = None,
    unit: str = "rows",
    counted: Callable[[], int] | None = None,
    file: Path | None = None,
) -> Iterator[Advance]:
    """Show a bar for a job; call the yielded function with the rows done, or count them by ``counted``."""
    if file is not None:
        with _write_progress_file(file, spark, what, counted):
            yield lambda done: None
        return
    if out.as_json or not sys.stderr.isatty():
        yield lambda done: None
        return
    from postroad.warehouse.progress import name_stages, watch_stages

    name_stages(spark, what)
    with _progress() as bars:
        job = bars.add_task(what, total=total, unit=unit)
        stages = _StageBars(bars)

        def show(at_work: list[SparkStage]) -> None:
            stages.show(at_work)
            if counted is not None:
                bars.update(job, completed=counted())

        with watch_stages(spark, show):
            yield lambda done: bars.update(job, completed=done)


@contextmanager
def _write_progress_file(
    file: Path, spark: SparkSession, what: str, counted: Callable[[], int] | None
) -> Iterator[None]:
    """Write the job's progress to a file that is always complete."""
    from postroad.warehouse.progress import name_stages, watch_stages

    name_stages(spark, what)

    def write(at_work: list[SparkStage]) -> None:
        told = {"rows": counted() if counted is not None else 0, "stages": [stage._asdict() for stage in at_work]}
        new = file.with_suffix(".new")
        new.write_text(json.dumps(told))
        new.replace(file)

    with watch_stages(spark, write):
        yield


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[unit]}"))
    return Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True)


class _StageBars:
    """One bar per running stage; bars of finished stages are removed."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._shown: dict[str, TaskID] = {}

    def show(self, stages: list[SparkStage]) -> None:
        named = {f"  {number}. {stage.name}": stage for number, stage in enumerate(stages, 1)}
        for name in [name for name in self._shown if name not in named]:
            self._bars.remove_task(self._shown.pop(name))
        for name, stage in named.items():
            if name not in self._shown:
                self._shown[name] = self._bars.add_task(name, total=stage.tasks, unit="tasks")
            unit = f"tasks, {stage.rows:,} rows" if stage.rows else "tasks"
            self._bars.update(self._shown[name], completed=stage.done, total=stage.tasks, unit=unit)
