"""The output of bulk operations: Parquet files written by the workers, and optional JSON lines.

Rules: the output of an earlier job is never mixed or overwritten. A worker writes under a name that is unique to its
attempt; only files that a finished task has reported are moved to the results, so a task that dies, or runs twice,
leaves nothing there. Rows do not pass through the JVM, which would cost more than writing them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from postroad.errors import Misconfigured
from postroad.warehouse.bulk.job import Batches, BulkRun, divide_pieces, map_shares, share_work
from postroad.warehouse.bulk.operation import schema_of
from postroad.warehouse.bulk.read.archive import ArchivePiece, open_file_system

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARQUET, NDJSON, WRITING = "parquet", "ndjson", "_writing"
GROUP_ROWS = 65_536  # that readers take at a time
GROUP_BYTES = 64 << 20  # in memory, before they are written
REPORTED = pa.schema([pa.field("file", pa.string()), pa.field("code", pa.string()), pa.field("rows", pa.int64())])


def require_new_folder(folder: str) -> None:
    """Refuse a folder that is not empty."""
    system, path = open_file_system(folder)
    if system.get_file_info(fs.FileSelector(path, allow_not_found=True)):
        raise Misconfigured([f"{folder} is not empty; name a new folder with --out, or empty this one first"])


def write_results(spark: SparkSession, run: BulkRun, folder: str, *, ndjson: bool = False) -> dict[str, Any]:
    """Run the operation and store its rows; returns the number of rows per code (the empty code: handled)."""
    where = location(folder)
    work = _written(share_work(spark, run), schema_of(run.operation), where)
    counts: Counter[str] = Counter()
    files: set[str] = set()
    for row in map_shares(spark, divide_pieces(spark, run), work, REPORTED).collect():
        files.add(row["file"])
        counts[row["code"]] += row["rows"]
    publish_files(where, sorted(files))
    if ndjson:
        write_lines(spark, where)
    handled = counts.pop("", 0)
    return {"rows": handled + counts.total(), "handled": handled, "faults": dict(sorted(counts.items()))}


def write_lines(spark: SparkSession, where: str) -> None:
    """Write the rows as JSON lines too."""
    spark.read.parquet(f"{where}/{PARQUET}").write.option("ignoreNullFields", "false").json(f"{where}/{NDJSON}")


def location(folder: str) -> str:
    """Return the folder under a name that is the same for Arrow, Spark and any working directory."""
    return folder if "://" in folder else str(Path(folder).absolute())


def _written(
    work: Callable[[Iterator[ArchivePiece]], Batches], schema: pa.Schema, folder: str
) -> Callable[[Iterator[ArchivePiece]], Batches]:
    """Wrap the work so that workers write its rows; it then yields file names and row counts per code."""

    def work_on(pieces: Iterator[ArchivePiece]) -> Batches:
        name = f"{attempt_name()}.parquet"
        counts = write_file(work(pieces), schema, f"{folder}/{WRITING}/{name}")
        rows = [{"file": name, "code": code, "rows": count} for code, count in counts.items()]
        yield pa.RecordBatch.from_pylist(rows or [{"file": name, "code": "", "rows": 0}], schema=REPORTED)

    return work_on


def write_file(batches: Batches, schema: pa.Schema, file: str) -> Counter[str]:
    """Write the batches as one file, and count their codes."""
    system, path = open_file_system(file)
    system.create_dir(str(Path(path).parent), recursive=True)
    counts: Counter[str] = Counter()
    with system.open_output_stream(path) as target, pq.ParquetWriter(target, schema, compression="zstd") as writer:
        for table in _groups(batches, schema):
            writer.write_table(table, row_group_size=GROUP_ROWS)
            counts.update(table.column("code").to_pylist())
    return counts


def _groups(batches: Batches, schema: pa.Schema) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= GROUP_ROWS or sum(one.nbytes for one in waiting) >= GROUP_BYTES:
            yield pa.Table.from_batches(waiting, schema)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting, schema)


def attempt_name() -> str:
    """Return a name that is unique to this task attempt."""
    from pyspark import TaskContext

    task = TaskContext.get()
    return f"{task.partitionId():05}-{task.taskAttemptId()}" if task is not None else "00000"


def publish_files(folder: str, files: list[str]) -> None:
    """Move reported files to their final location, and remove the others."""
    publish_files_as(folder, {file: f"{PARQUET}/{file}" for file in files}, PARQUET)


def publish_files_as(folder: str, files: Mapping[str, str], *folders: str) -> None:
    """Move each reported file to its own location in one of the folders, and remove the others."""
    system, path = open_file_system(folder)
    writing = f"{path}/{WRITING}"
    for one in folders:
        system.create_dir(f"{path}/{one}", recursive=True)
    for file, place in files.items():
        system.move(f"{writing}/{file}", f"{path}/{place}")
    if system.get_file_info(writing).type == fs.FileType.Directory:  # an object store has none once it is empty
        system.delete_dir(writing)
