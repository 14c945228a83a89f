"""Bars for jobs on Spark: one for the whole job, with rows and the time left, and one for each stage at work.

Kept rule: they are drawn on standard error, and only while a terminal looks at it. Whoever has no terminal, as a program that
started the job, can have the same written to a file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from postroad.cli.output import Advance, Output

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from postroad.warehouse.progress import Stage
    from postroad.warehouse.session import SparkSession


@contextmanager
def job_bar(
    out: Output,
    spark: SparkSession,
    what: str,
    total: float | None = None,
    unit: str = "rows",
    counted: Callable[[], int] | None = None,
    file: Path | None = None,
) -> Iterator[Advance]:
    """A bar for a job; call what it yields with the rows done so far, or say by ``counted`` where they are counted."""
    if file is not None:
        with _written(file, spark, what, counted):
            yield lambda done: None
        return
    if out.as_json or not sys.stderr.isatty():
        yield lambda done: None
        return
    from postroad.warehouse.progress import name_stages, watched

    name_stages(spark, what)
    with _progress() as bars:
        job = bars.add_task(what, total=total, unit=unit)
        stages = _StageBars(bars)

        def show(at_work: list[Stage]) -> None:
            stages.show(at_work)
            if counted is not None:
                bars.update(job, completed=counted())

        with watched(spark, show):
            yield lambda done: bars.update(job, completed=done)


@contextmanager
def _written(file: Path, spark: SparkSession, what: str, counted: Callable[[], int] | None) -> Iterator[None]:
    """How far the job is, in a file that is always whole."""
    from postroad.warehouse.progress import name_stages, watched

    name_stages(spark, what)

    def write(at_work: list[Stage]) -> None:
        told = {"rows": counted() if counted is not None else 0, "stages": [stage._asdict() for stage in at_work]}
        new = file.with_suffix(".new")
        new.write_text(json.dumps(told))
        new.replace(file)

    with watched(spark, write):
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
    """One bar per stage at work; those that are over go away."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._shown: dict[str, TaskID] = {}

    def show(self, stages: list[Stage]) -> None:
        named = {f"  {number}. {stage.name}": stage for number, stage in enumerate(stages, 1)}
        for name in [name for name in self._shown if name not in named]:
            self._bars.remove_task(self._shown.pop(name))
        for name, stage in named.items():
            if name not in self._shown:
                self._shown[name] = self._bars.add_task(name, total=stage.tasks, unit="tasks")
            unit = f"tasks, {stage.rows:,} rows" if stage.rows else "tasks"
            self._bars.update(self._shown[name], completed=stage.done, total=stage.tasks, unit=unit)
