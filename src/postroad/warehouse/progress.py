"""The progress of Spark jobs: running stages, their tasks, and rows done.

Rule: watching never changes or delays a job. It asks Spark's status tracker from a thread of its own a few times a second
and passes it to the display; when it receives nothing, the job continues unwatched.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY_S = 0.25


class SparkStage(NamedTuple):
    """A running stage."""

    name: str
    tasks: int
    done: int
    rows: int = 0  # that it has read so far


Watcher = Callable[[list[SparkStage]], None]


@contextmanager
def watch_stages(spark: SparkSession, watcher: Watcher) -> Iterator[None]:
    """Call ``watcher`` with the running stages until the block ends."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(EVERY_S):
            watcher(stages_at_work(spark))

    thread = threading.Thread(target=watch, name="spark-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=2)


def name_stages(spark: SparkSession, name: str) -> None:
    """Name the stages that begin from now on."""
    spark.sparkContext.setLocalProperty("callSite.short", name)
    spark.sparkContext.setJobDescription(name)


def stages_at_work(spark: SparkSession) -> list[SparkStage]:
    try:
        tracker = spark.sparkContext.statusTracker()
        store: Any = spark.sparkContext._jsc.sc().statusStore()
        return [_stage(store.lastStageAttempt(number)) for number in sorted(tracker.getActiveStageIds())]
    except Exception:  # a session that is being stopped, or a stage that is just beginning, answers with anything
        return []


def _stage(data: Any) -> SparkStage:
    return SparkStage(
        data.name(), data.numTasks(), data.numCompleteTasks(), data.inputRecords() + data.shuffleReadRecords()
    )
