"""What a job over batches hands from one step to the next: finished batches, and what workers tell the driver about them.

Kept rule: it is small and plain, one JSON text for each thing that is told, so that steps need not share columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import msgspec
import pyarrow as pa

from postroad.core.model.batch import Batch
from postroad.warehouse.bulk import batch_manifest
from postroad.warehouse.bulk.member_files import MembersAt, Row
from postroad.warehouse.bulk.output import WRITING, attempt, write_file

TOLD = pa.schema([pa.field("told", pa.string())])
Told = dict[str, Any]

packed = msgspec.msgpack.Encoder().encode
as_json = msgspec.json.Encoder().encode
_batch_of = msgspec.msgpack.Decoder(Batch).decode


@dataclass(frozen=True, slots=True)
class Job:
    """A finished batch, and what is to be done with it."""

    packed: bytes
    at: MembersAt
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


def telling(things: list[Told]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([as_json(one).decode() for one in things], pa.string())], schema=TOLD)


def told(row: Any) -> Told:
    found: Told = msgspec.json.decode(row["told"])
    return found


def write_manifest(rows: Iterator[Row], where: str, prefix: str) -> Told:
    """Write these rows as one file of the manifest; says where they are, and how many of each code."""
    first = next(rows, None)
    if first is None:
        return {"manifest": "", "codes": {}}
    name = f"{prefix}{attempt()}.parquet"
    batches = batch_manifest.record_batches(chain([first], rows))
    return {"manifest": name, "codes": write_file(batches, batch_manifest.SCHEMA, f"{where}/{WRITING}/{name}")}
