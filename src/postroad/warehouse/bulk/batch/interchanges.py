"""Writes finished batches as interchanges, on Spark: counts control numbers first, then assigns them.

Rule: numbers go by the order in which batches were closed, and those closed at the same moment by the order in which their
first messages came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from postroad.adapters.interchange_plug_ins import load_catalogue
from postroad.core.model.batch import Batch, BatchState
from postroad.warehouse.bulk.batch import manifest
from postroad.warehouse.bulk.batch.finished_batches import (
    REPORT_SCHEMA,
    BatchJob,
    WorkerReport,
    read_report,
    write_manifest,
    write_reports,
)
from postroad.warehouse.bulk.batch.interchange_files import InterchangeCount, InterchangeFiles
from postroad.warehouse.bulk.batch.member_files import BatchMembers, Row
from postroad.warehouse.bulk.batch.send_ports import BulkSendPort
from postroad.warehouse.bulk.job import Batches, divide_for_cluster, map_shares
from postroad.warehouse.bulk.output import WRITING, attempt_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTERCHANGES = "interchanges"
ENDINGS = {
    "x12": "x12", "edifact": "edi", "hl7": "hl7", "swift": "fin", "iso20022": "xml", "gs1": "xml", "xml": "xml",
    "flat": "txt", "json_lines": "jsonl",
}  # fmt: skip


def number_jobs(
    spark: SparkSession, port: BulkSendPort, jobs: list[BatchJob], first_numbers: Mapping[str, int]
) -> list[BatchJob]:
    """Return the jobs in closing order, each with its starting numbers; open batches come last."""
    ordered = sorted(jobs, key=_closing_order)
    placed = [replace(job, place=place) for place, job in enumerate(ordered, 1)]
    closed = [job for job in placed if job.batch.state is BatchState.CLOSED]
    found = (
        map_shares(spark, divide_for_cluster(spark, closed), _count_share(port), REPORT_SCHEMA).collect()
        if closed
        else []
    )
    counted = {
        one["place"]: msgspec.convert(one["counted"], InterchangeCount, strict=False) for one in map(read_report, found)
    }
    latest = Counter({scope: number - 1 for scope, number in first_numbers.items()})
    return [_add_numbers(job, counted.get(job.place), latest) for job in placed]


def _closing_order(job: BatchJob) -> tuple[bool, int, tuple[str, int]]:
    return job.batch.state is not BatchState.CLOSED, job.batch.closed_at_us, job.came


def _add_numbers(job: BatchJob, counted: InterchangeCount | None, latest: Counter[str]) -> BatchJob:
    if counted is None:
        return replace(job, why_not=job.batch.why or "no criterion has closed it")
    if counted.fault or (counted.unfit and len(counted.unfit) == job.batch.count):
        return replace(job, unfit=dict(counted.unfit), why_not=counted.fault or "none of its messages fits")
    given = dict(latest)
    latest.update(counted.numbers)
    return replace(job, numbers=given, unfit=dict(counted.unfit))


def _count_share(port: BulkSendPort) -> Callable[[Iterator[BatchJob]], Batches]:
    def count(jobs: Iterator[BatchJob]) -> Batches:
        files = _files(port)
        for job in jobs:
            counted = files.count(job.batch, BatchMembers(job.at, port.policy))
            yield write_reports([{"place": job.place, "counted": counted}])
        files.close()

    return count


def _files(port: BulkSendPort) -> InterchangeFiles:
    return InterchangeFiles(port.batching, load_catalogue().standard(port.batching.standard))


# ---- write -----------------------------------------------------------------------------------------------------------


def write_interchanges(spark: SparkSession, port: BulkSendPort, jobs: list[BatchJob], where: str) -> list[WorkerReport]:
    """Write the batches; returns the reports on batches and manifest files."""
    return [
        read_report(row)
        for row in map_shares(
            spark, divide_for_cluster(spark, jobs), _write_share(port, where), REPORT_SCHEMA
        ).collect()
    ]


def _write_share(port: BulkSendPort, where: str) -> Callable[[Iterator[BatchJob]], Batches]:
    def write(jobs: Iterator[BatchJob]) -> Batches:
        files, listed = _files(port), list[WorkerReport]()
        rows = (row for job in jobs for row in _write_interchange(job, files, port, where, listed))
        report = write_manifest(rows, where, "members-")
        files.close()
        yield write_reports([report, *listed])

    return write


def _write_interchange(
    job: BatchJob, files: InterchangeFiles, port: BulkSendPort, where: str, listed: list[WorkerReport]
) -> Iterator[Row]:
    """Write the batch if possible, record it in the list, and yield the rows of its members."""
    batch, members = job.batch, BatchMembers(job.at, port.policy)
    about = _description(job, batch)
    if job.why_not:
        outcome = BatchState.SUSPENDED.value if batch.state is BatchState.CLOSED else batch.state.value
        listed.append(about | {"state": outcome, "why": job.why_not})
        yield from manifest.not_assembled_rows(members, batch, outcome, job.why_not)
        return
    name = f"{INTERCHANGES}/{job.place:08}.{ENDINGS.get(port.batching.standard, 'dat')}"
    kept = f"{attempt_name()}-{job.place}"
    made = files.write(batch, members, job.unfit, job.numbers, f"{where}/{WRITING}/{kept}")
    as_file = {"state": "assembled", "file": name, "size": made.size, "sha256": made.sha256, "numbers": made.numbers}
    listed.append(about | as_file | {"members": batch.count - len(job.unfit), "written": kept})
    yield from manifest.assembled_rows(members, job.unfit, made.placed, batch, name)


def _description(job: BatchJob, batch: Batch) -> WorkerReport:
    return {
        "place": job.place,
        "batch": batch.id,
        "key": batch.key,
        "members": batch.count,
        "unfit": len(job.unfit),
        "bytes": batch.bytes,
        "opened_at_us": batch.opened_at_us,
        "closed_at_us": batch.closed_at_us or None,
        "closed_by": batch.closed_by.value if batch.closed_by is not None else None,
        "why": batch.why,
    }
