"""Data passed between the steps of batching: finished batches, and workers' reports to the driver.

Rule: the data is small and plain, one JSON text for each report, so that steps need not share columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import msgspec
import pyarrow as pa

from postroad.core.model.batch import Batch
from postroad.warehouse.bulk.batch import manifest
from postroad.warehouse.bulk.batch.member_files import MembersPosition, Row
from postroad.warehouse.bulk.output import WRITING, attempt_name, write_file

REPORT_SCHEMA = pa.schema([pa.field("told", pa.string())])
WorkerReport = dict[str, Any]

packed = msgspec.msgpack.Encoder().encode
as_json = msgspec.json.Encoder().encode
_batch_of = msgspec.msgpack.Decoder(Batch).decode


@dataclass(frozen=True, slots=True)
class BatchJob:
    """A finished batch, and how it is to be written."""

    packed: bytes
    at: MembersPosition
    came: tuple[str, int] = ("", 0)  # where its first message lies in the archive
    place: int = 0  # in the order of closing
    numbers: Mapping[str, int] = field(default_factory=dict)  # after which it draws its own
    unfit: Mapping[int, str] = field(default_factory=dict)  # places of members, and what is wrong with them
    why_not: str = ""  # it is not written

    @property
    def batch(self) -> Batch:
        return _batch_of(self.packed)

    @property
    def weight(self) -> int:
        return self.batch.bytes


def write_reports(things: list[WorkerReport]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array([as_json(one).decode() for one in things], pa.string())], schema=REPORT_SCHEMA
    )


def read_report(row: Any) -> WorkerReport:
    found: WorkerReport = msgspec.json.decode(row["told"])
    return found


def write_manifest(rows: Iterator[Row], where: str, prefix: str) -> WorkerReport:
    """Write these rows as one file of the manifest; returns its name and the number of rows per code."""
    first = next(rows, None)
    if first is None:
        return {"manifest": "", "codes": {}}
    name = f"{prefix}{attempt_name()}.parquet"
    batches = manifest.record_batches(chain([first], rows))
    return {"manifest": name, "codes": write_file(batches, manifest.SCHEMA, f"{where}/{WRITING}/{name}")}
