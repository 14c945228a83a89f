"""An archive assembled by the policy of a send port, on Spark: messages → batches → interchanges, the same bytes as the server's.

    gather    every message by itself: what the policy wants to know of it; its document is put aside (``gathering``)
    fold      the messages of each key one after the other, in the order of arrival: batches (``folding``, ``batch_folding``)
    count     every batch by itself: how many control numbers its interchange will draw (``interchange_files``)
    write     every batch by itself: its interchange, as a stream, and where each of its documents went (``batch_writing``)

Kept rule: between these, only batches come to the driver, never messages; numbers are given out there, in the order of closing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from postroad.warehouse.bulk.batch_folding import gathered
from postroad.warehouse.bulk.batch_jobs import Job, Told, as_json, packed
from postroad.warehouse.bulk.batch_writing import INTERCHANGES, numbered, written
from postroad.warehouse.bulk.empty_batches import empty_batches
from postroad.warehouse.bulk.folding import FOR_EVER_US, Folding
from postroad.warehouse.bulk.job import LaneRun
from postroad.warehouse.bulk.member_files import MembersAt
from postroad.warehouse.bulk.output import PARQUET, location, settle_as
from postroad.warehouse.bulk.put_aside import begun
from postroad.warehouse.bulk.send_ports import SendPort

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LISTED = "batches.ndjson"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRun:
    """What is asked: a run of ``GatherLane``, and what the archive leaves open."""

    gather: LaneRun
    port: SendPort
    folder: str
    until_us: int = FOR_EVER_US  # time goes on so far after the last message
    release: bool = False  # what is open then goes too
    first_numbers: Mapping[str, int] = field(default_factory=dict)  # by scope; else 1


def write_batches(spark: SparkSession, run: BatchRun) -> dict[str, Any]:
    """Do the run; says how many rows of each code, batches and interchanges there are."""
    where = location(run.folder)
    folding = Folding(policy=run.port.policy, port=run.port.port, until_us=run.until_us, release=run.release)
    jobs, reports = gathered(spark, run.gather, folding, where)
    told = written(spark, run.port, numbered(spark, run.port, [*jobs, *_empty(run, jobs)], run.first_numbers), where)
    reports = [*reports, *[one for one in told if "manifest" in one]]
    listed = sorted((one for one in told if "batch" in one), key=lambda one: int(one["place"]))
    _settle(where, listed, reports)
    return _counts(reports, listed)


def _empty(run: BatchRun, jobs: list[Job]) -> list[Job]:
    batches = [job.batch for job in jobs]
    last_us = max((batch.changed_at_us for batch in batches), default=0)
    until_us = run.until_us if run.until_us < FOR_EVER_US else last_us
    found = empty_batches(run.port.policy, run.port.port, batches, until_us)
    return [Job(packed(batch), MembersAt()) for batch in found]


def _settle(where: str, listed: list[Told], reports: list[Told]) -> None:
    moves = {one["manifest"]: f"{PARQUET}/{one['manifest']}" for one in reports if one["manifest"]}
    moves |= {one.pop("written"): one["file"] for one in listed if "written" in one}
    settle_as(where, moves, PARQUET, INTERCHANGES)
    with begun(f"{where}/{LISTED}") as target:
        for one in listed:
            target.write(as_json(one) + b"\n")


def _counts(reports: list[Told], listed: list[Told]) -> dict[str, Any]:
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
