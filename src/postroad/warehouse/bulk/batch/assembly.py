"""The batch operation: assembles an archive by the policy of a send port, to the server's bytes.

    gather    every message by itself: what the policy needs to know of it; its document is stored (``gathering``)
    fold      the messages of each key one after the other, in the order of arrival: batches (``folding``)
    count     every batch by itself: how many control numbers its interchange will draw (``interchange_files``)
    write     every batch by itself: its interchange, as a stream, and the positions of its documents (``interchanges``)

Rules: a task reads its keys as a stream, sorted by Spark, so a key may have any number of messages. Between these steps only
batches come to the driver, never messages; numbers are assigned there, in the order of closing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from postroad.warehouse.bulk.batch import manifest
from postroad.warehouse.bulk.batch.finished_batches import (
    REPORT_SCHEMA,
    BatchJob,
    WorkerReport,
    as_json,
    packed,
    read_report,
    write_manifest,
    write_reports,
)
from postroad.warehouse.bulk.batch.folding import NO_END_US, BatchArrival, BatchFolding, JoinedBatch, make_empty_batches
from postroad.warehouse.bulk.batch.gathering import read_arrival
from postroad.warehouse.bulk.batch.interchanges import INTERCHANGES, number_jobs, write_interchanges
from postroad.warehouse.bulk.batch.member_files import MembersPosition, MembersWriter, Row
from postroad.warehouse.bulk.batch.send_ports import BulkSendPort
from postroad.warehouse.bulk.batch.stored_documents import create_file
from postroad.warehouse.bulk.job import Batches, BulkRun, result_frame
from postroad.warehouse.bulk.output import PARQUET, WRITING, attempt_name, location, publish_files_as

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALONE_PARTS = 97  # among which messages that go by themselves are spread


class GatheredJobs(NamedTuple):
    jobs: list[BatchJob]
    reports: list[WorkerReport]  # of what is in no batch


def gather_batches(spark: SparkSession, run: BulkRun, folding: BatchFolding, where: str) -> GatheredJobs:
    from pyspark.sql import functions as fn
    from pyspark.sql.pandas.types import from_arrow_schema

    arrivals = result_frame(spark, run)
    alone = fn.concat(fn.lit("alone "), (fn.col("position") % ALONE_PARTS).cast("string"))
    parted = arrivals.repartition(fn.coalesce("key", alone)).sortWithinPartitions("key", "file", "position")
    found = [
        read_report(row)
        for row in parted.mapInArrow(_fold_partition(folding, where), from_arrow_schema(REPORT_SCHEMA)).collect()
    ]
    jobs = [_job_of(one) for one in found if "batch" in one]
    return GatheredJobs(jobs, [one for one in found if "manifest" in one])


def _fold_partition(folding: BatchFolding, where: str) -> Callable[[Batches], Batches]:
    def fold(batches: Batches) -> Batches:
        rows = (row for batch in batches for row in batch.to_pylist())
        first: list[Row] = []  # of those that are gathered; messages without a key come before them
        report = write_manifest(
            (manifest.not_gathered_row(row) for row in _single_message_rows(rows, first)), where, "alone-"
        )
        yield write_reports([report])
        for one in _fold_rows(chain(first, rows), folding, where):
            yield write_reports([one])

    return fold


def _single_message_rows(rows: Iterator[Row], first: list[Row]) -> Iterator[Row]:
    for row in rows:
        if row["key"] is not None:
            first.append(row)
            return
        yield row


def _fold_rows(rows: Iterator[Row], folding: BatchFolding, where: str) -> Iterator[WorkerReport]:
    members = MembersWriter(f"{where}/{WRITING}/members/{attempt_name()}")
    coming = (BatchArrival(read_arrival(row, place), row["at_us"], row) for place, row in enumerate(rows))
    came: tuple[str, int] | None = None
    for event in folding.batches(coming):
        if isinstance(event, JoinedBatch):
            row = event.come.row
            came = came or (row["file"], row["position"])
            members.add(row)
        else:
            yield {"batch": packed(event.batch).hex(), "at": members.finish(), "came": came}
            came = None
    members.close()


def _job_of(one: WorkerReport) -> BatchJob:
    return BatchJob(bytes.fromhex(one["batch"]), MembersPosition(*one["at"]), tuple(one["came"]))


LISTED = "batches.ndjson"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRun:
    """The parameters of a run: the gather run, the send port, the output folder and the first control numbers."""

    gather: BulkRun
    port: BulkSendPort
    folder: str
    until_us: int = NO_END_US  # time goes on so far after the last message
    release: bool = False  # what is open then goes too
    first_numbers: Mapping[str, int] = field(default_factory=dict)  # by scope; else 1


def write_batches(spark: SparkSession, run: BatchRun) -> dict[str, Any]:
    """Run the operation; returns the number of rows per code, of batches and of interchanges."""
    where = location(run.folder)
    folding = BatchFolding(policy=run.port.policy, port=run.port.port, until_us=run.until_us, release=run.release)
    jobs, reports = gather_batches(spark, run.gather, folding, where)
    told = write_interchanges(
        spark, run.port, number_jobs(spark, run.port, [*jobs, *_add_empty_batches(run, jobs)], run.first_numbers), where
    )
    reports = [*reports, *[one for one in told if "manifest" in one]]
    listed = sorted((one for one in told if "batch" in one), key=lambda one: int(one["place"]))
    _move_results(where, listed, reports)
    return _count_results(reports, listed)


def _add_empty_batches(run: BatchRun, jobs: list[BatchJob]) -> list[BatchJob]:
    batches = [job.batch for job in jobs]
    last_us = max((batch.changed_at_us for batch in batches), default=0)
    until_us = run.until_us if run.until_us < NO_END_US else last_us
    found = make_empty_batches(run.port.policy, run.port.port, batches, until_us)
    return [BatchJob(packed(batch), MembersPosition()) for batch in found]


def _move_results(where: str, listed: list[WorkerReport], reports: list[WorkerReport]) -> None:
    moves = {one["manifest"]: f"{PARQUET}/{one['manifest']}" for one in reports if one["manifest"]}
    moves |= {one.pop("written"): one["file"] for one in listed if "written" in one}
    publish_files_as(where, moves, PARQUET, INTERCHANGES)
    with create_file(f"{where}/{LISTED}") as target:
        for one in listed:
            target.write(as_json(one) + b"\n")


def _count_results(reports: list[WorkerReport], listed: list[WorkerReport]) -> dict[str, Any]:
    codes: Counter[str] = Counter()
    for one in reports:
        codes.update(one["codes"])
    handled = codes.pop("", 0)
    states = Counter(one["state"] for one in listed)
    return {
        "rows": handled + codes.total(),
        "handled": handled,
        "faults": dict(sorted(codes.items())),
        "batches": len(listed),
        "states": dict(sorted(states.items())),
        "interchanges": states["assembled"],
        "bytes": sum(one.get("size", 0) for one in listed),
    }
