"""Messages of an archive on their way to batches, on Spark: gathered each by itself, then folded, one key after the other.

Kept rule: a task goes through its keys as a stream, sorted by Spark, so a key may have any number of messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from postroad.warehouse.bulk import batch_manifest
from postroad.warehouse.bulk.batch_jobs import TOLD, Job, Told, packed, telling, told, write_manifest
from postroad.warehouse.bulk.folding import Come, Folding, Joined
from postroad.warehouse.bulk.gathering import arrival_in
from postroad.warehouse.bulk.job import Batches, LaneRun, result_of
from postroad.warehouse.bulk.member_files import MembersAt, MembersWriter, Row
from postroad.warehouse.bulk.output import WRITING, attempt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALONE_PARTS = 97  # among which messages that go by themselves are spread


class Gathered(NamedTuple):
    jobs: list[Job]
    reports: list[Told]  # of what is in no batch


def gathered(spark: SparkSession, run: LaneRun, folding: Folding, where: str) -> Gathered:
    from pyspark.sql import functions as fn
    from pyspark.sql.pandas.types import from_arrow_schema

    arrivals = result_of(spark, run)
    alone = fn.concat(fn.lit("alone "), (fn.col("position") % ALONE_PARTS).cast("string"))
    parted = arrivals.repartition(fn.coalesce("key", alone)).sortWithinPartitions("key", "file", "position")
    found = [told(row) for row in parted.mapInArrow(_folding(folding, where), from_arrow_schema(TOLD)).collect()]
    jobs = [_job(one) for one in found if "batch" in one]
    return Gathered(jobs, [one for one in found if "manifest" in one])


def _folding(folding: Folding, where: str) -> Callable[[Batches], Batches]:
    def fold(batches: Batches) -> Batches:
        rows = (row for batch in batches for row in batch.to_pylist())
        first: list[Row] = []  # of those that are gathered; messages without a key come before them
        report = write_manifest((batch_manifest.not_gathered(row) for row in _alone(rows, first)), where, "alone-")
        yield telling([report])
        for one in _folded(chain(first, rows), folding, where):
            yield telling([one])

    return fold


def _alone(rows: Iterator[Row], first: list[Row]) -> Iterator[Row]:
    for row in rows:
        if row["key"] is not None:
            first.append(row)
            return
        yield row


def _folded(rows: Iterator[Row], folding: Folding, where: str) -> Iterator[Told]:
    members = MembersWriter(f"{where}/{WRITING}/members/{attempt()}")
    coming = (Come(arrival_in(row, place), row["at_us"], row) for place, row in enumerate(rows))
    came: tuple[str, int] | None = None
    for event in folding.batches(coming):
        if isinstance(event, Joined):
            row = event.come.row
            came = came or (row["file"], row["position"])
            members.add(row)
        else:
            yield {"batch": packed(event.batch).hex(), "at": members.finish(), "came": came}
            came = None
    members.close()


def _job(one: Told) -> Job:
    return Job(bytes.fromhex(one["batch"]), MembersAt(*one["at"]), tuple(one["came"]))
