"""Finished batches written as interchanges, on Spark: what each will draw is counted first, then numbers are given out.

Kept rule: numbers go by the order in which batches were closed, and those closed at the same moment by the order in which their
first messages came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from postroad.adapters.interchange_plug_ins import installed_catalogue
from postroad.core.model.batch import Batch, BatchState
from postroad.warehouse.bulk import batch_manifest
from postroad.warehouse.bulk.batch_jobs import TOLD, Job, Told, telling, told, write_manifest
from postroad.warehouse.bulk.interchange_files import Counted, InterchangeFiles
from postroad.warehouse.bulk.job import Batches, over_shares, shares_for
from postroad.warehouse.bulk.member_files import Members, Row
from postroad.warehouse.bulk.output import WRITING, attempt
from postroad.warehouse.bulk.send_ports import SendPort

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTERCHANGES = "interchanges"
ENDINGS = {
    "x12": "x12", "edifact": "edi", "hl7": "hl7", "swift": "fin", "iso20022": "xml", "gs1": "xml", "xml": "xml",
    "flat": "txt", "json_lines": "jsonl",
}  # fmt: skip


def numbered(spark: SparkSession, port: SendPort, jobs: list[Job], first_numbers: Mapping[str, int]) -> list[Job]:
    """The jobs in the order of closing, each with the numbers after which it draws; those that stay open come last."""
    ordered = sorted(jobs, key=_closing)
    placed = [replace(job, place=place) for place, job in enumerate(ordered, 1)]
    closed = [job for job in placed if job.batch.state is BatchState.CLOSED]
    found = over_shares(spark, shares_for(spark, closed), _counting(port), TOLD).collect() if closed else []
    counted = {one["place"]: msgspec.convert(one["counted"], Counted, strict=False) for one in map(told, found)}
    latest = Counter({scope: number - 1 for scope, number in first_numbers.items()})
    return [_with_numbers(job, counted.get(job.place), latest) for job in placed]


def _closing(job: Job) -> tuple[bool, int, tuple[str, int]]:
    return job.batch.state is not BatchState.CLOSED, job.batch.closed_at_us, job.came


def _with_numbers(job: Job, counted: Counted | None, latest: Counter[str]) -> Job:
    if counted is None:
        return replace(job, why_not=job.batch.why or "nothing has closed it")
    if counted.fault or (counted.unfit and len(counted.unfit) == job.batch.count):
        return replace(job, unfit=dict(counted.unfit), why_not=counted.fault or "none of its members fits")
    given = dict(latest)
    latest.update(counted.numbers)
    return replace(job, numbers=given, unfit=dict(counted.unfit))


def _counting(port: SendPort) -> Callable[[Iterator[Job]], Batches]:
    def count(jobs: Iterator[Job]) -> Batches:
        files = _files(port)
        for job in jobs:
            counted = files.counted(job.batch, Members(job.at, port.policy))
            yield telling([{"place": job.place, "counted": counted}])
        files.close()

    return count


def _files(port: SendPort) -> InterchangeFiles:
    return InterchangeFiles(port.batching, installed_catalogue().standard(port.batching.standard))


# ---- write -----------------------------------------------------------------------------------------------------------


def written(spark: SparkSession, port: SendPort, jobs: list[Job], where: str) -> list[Told]:
    """What is told of every batch, and of the files of the manifest."""
    return [told(row) for row in over_shares(spark, shares_for(spark, jobs), _writing(port, where), TOLD).collect()]


def _writing(port: SendPort, where: str) -> Callable[[Iterator[Job]], Batches]:
    def write(jobs: Iterator[Job]) -> Batches:
        files, listed = _files(port), list[Told]()
        rows = (row for job in jobs for row in _written(job, files, port, where, listed))
        report = write_manifest(rows, where, "members-")
        files.close()
        yield telling([report, *listed])

    return write


def _written(job: Job, files: InterchangeFiles, port: SendPort, where: str, listed: list[Told]) -> Iterator[Row]:
    """Write the batch where that can be, and note it in the list; the rows of its members."""
    batch, members = job.batch, Members(job.at, port.policy)
    about = _description(job, batch)
    if job.why_not:
        outcome = BatchState.SUSPENDED.value if batch.state is BatchState.CLOSED else batch.state.value
        listed.append(about | {"state": outcome, "why": job.why_not})
        yield from batch_manifest.not_assembled(members, batch, outcome, job.why_not)
        return
    name = f"{INTERCHANGES}/{job.place:08}.{ENDINGS.get(port.batching.standard, 'dat')}"
    kept = f"{attempt()}-{job.place}"
    made = files.write(batch, members, job.unfit, job.numbers, f"{where}/{WRITING}/{kept}")
    as_file = {"state": "assembled", "file": name, "size": made.size, "sha256": made.sha256, "numbers": made.numbers}
    listed.append(about | as_file | {"members": batch.count - len(job.unfit), "written": kept})
    yield from batch_manifest.assembled(members, job.unfit, made.placed, batch, name)


def _description(job: Job, batch: Batch) -> Told:
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
