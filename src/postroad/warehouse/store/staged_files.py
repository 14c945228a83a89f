"""Staged rows: written by Spark to a folder of their own, then moved beside the table's files.

Rule: until ``publish`` nothing is outside the folder, and what is published is still in no commit. The name of a file
begins with the name of the write that made it, so files of two writes never meet.
"""

from __future__ import annotations

import json
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow.parquet as pq
from deltalake.transaction import AddAction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

STAGING = "_staging"
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFile:
    """A staged Parquet file; ``path`` is its future path in the table."""

    path: str
    written: Path
    partition: str | None
    rows: int
    size: int
    modified_ms: int

    def action(self, partition_by: list[str]) -> AddAction:
        """Return the file's entry in a commit."""
        values = dict.fromkeys(partition_by, self.partition)
        return AddAction(self.path, self.size, values, self.modified_ms, True, json.dumps({"numRecords": self.rows}))


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedRows:
    """A finished write that is not yet part of its table."""

    folder: Path  # of the table
    staging: Path
    schema: StructType
    partition_column: str | None
    files: tuple[StagedFile, ...]

    @property
    def partition_by(self) -> list[str]:
        return [self.partition_column] if self.partition_column else []

    def actions(self) -> list[AddAction]:
        return [file.action(self.partition_by) for file in self.files]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    def largest(self, column: str) -> Any | None:
        """Return the largest value of a column from the file statistics; None if there are no rows."""
        found = [largest for file in self.files if (largest := _largest(file.written, column)) is not None]
        return max(found, default=None)

    def publish(self) -> None:
        """Move the files to where a commit can name them."""
        for file in self.files:
            target = self.folder / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            file.written.rename(target)
        self.discard()

    def discard(self) -> None:
        shutil.rmtree(self.staging, ignore_errors=True)


def stage_rows(df: DataFrame, folder: Path, partition_column: str | None) -> StagedRows:
    """Write the rows as Parquet, in one folder per value of the partition column."""
    job = uuid.uuid4().hex
    staging = folder / STAGING / job
    writer = df.write.partitionBy(partition_column) if partition_column else df.write
    writer.parquet(str(staging))
    found = tuple(_file(path, staging, job) for path in sorted(staging.rglob("*.parquet")))
    kept = tuple(file for file in found if file.rows)
    return StagedRows(folder=folder, staging=staging, schema=df.schema, partition_column=partition_column, files=kept)


def _file(path: Path, staging: Path, job: str) -> StagedFile:
    inside = path.relative_to(staging)
    value = unquote(inside.parts[0].partition("=")[2]) if len(inside.parts) > 1 else None
    state = path.stat()
    return StagedFile(
        path=str(inside.with_name(f"{job[:12]}-{inside.name}")),
        written=path,
        partition=None if value == NULL_PARTITION else value,
        rows=pq.read_metadata(path).num_rows,
        size=state.st_size,
        modified_ms=state.st_mtime_ns // 1_000_000,
    )


def _largest(path: Path, column: str) -> Any | None:
    metadata = pq.read_metadata(path)
    place = metadata.schema.names.index(column)
    groups = [metadata.row_group(number).column(place).statistics for number in range(metadata.num_row_groups)]
    return max((group.max for group in groups if group is not None and group.has_min_max), default=None)
