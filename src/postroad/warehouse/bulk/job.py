"""Runs a bulk operation on Spark: divides the pieces of an archive among workers, which read and handle them.

Rules: workers read the archive themselves, so its bytes never pass through the JVM; the directory travels once, as versioned
text; what a worker needs is in this package alone, so ``--py-files`` is enough on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

import pyarrow as pa

from postroad.core.model.snapshot import Directory
from postroad.warehouse.bulk.operation import BulkOperation, handle_messages, prepare_operation, schema_of
from postroad.warehouse.bulk.read.archive import ArchivedMessage, ArchivePiece, UnreadableMessage
from postroad.warehouse.bulk.read.directories import DirectoryText, directory_from_text, directory_text
from postroad.warehouse.bulk.read.messages import ArchiveDefaults, read_piece

if TYPE_CHECKING:
    from pyspark import Accumulator, Broadcast
    from pyspark.sql import DataFrame, SparkSession

SHARES_PER_CORE = 4  # so that a slow share does not leave a core idle for long

Batches = Iterator[pa.RecordBatch]


class WeightedWork(Protocol):
    """Work for a worker; a heavier item takes longer."""

    @property
    def weight(self) -> int: ...


W = TypeVar("W", bound=WeightedWork)


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkRun:
    """A bulk job: the operation, the pieces of the archive, and the directory."""

    operation: BulkOperation
    pieces: Sequence[ArchivePiece]
    directory: Directory
    unsaid: ArchiveDefaults = field(default_factory=ArchiveDefaults)
    rows: Accumulator[int] | None = None  # counts them while they are made, for the progress display


def result_frame(spark: SparkSession, run: BulkRun) -> DataFrame:
    """Return the rows of an operation as a lazy DataFrame."""
    return map_shares(spark, divide_pieces(spark, run), share_work(spark, run), schema_of(run.operation))


def divide_pieces(spark: SparkSession, run: BulkRun) -> list[list[ArchivePiece]]:
    return divide_for_cluster(spark, run.pieces)


def divide_for_cluster(spark: SparkSession, things: Sequence[W]) -> list[list[W]]:
    return divide_by_weight(things, SHARES_PER_CORE * spark.sparkContext.defaultParallelism)


def divide_by_weight(things: Sequence[W], most: int) -> list[list[W]]:
    """Divide items into a limited number of shares of about equal weight."""
    heaviest_first = sorted(things, key=lambda one: -one.weight)
    count = max(1, min(len(things), most))
    return [heaviest_first[share::count] for share in range(count)]


def count_rows(batches: Batches, rows: Accumulator[int] | None) -> Batches:
    """Pass the batches through, and add their rows to an accumulator after each share."""
    for batch in batches:
        if rows is not None:
            rows += batch.num_rows
        yield batch


def map_shares(
    spark: SparkSession, shares: list[list[W]], work: Callable[[Iterator[W]], Batches], schema: pa.Schema
) -> DataFrame:
    """Apply the work to each share, one task per share."""
    from pyspark.sql.pandas.types import from_arrow_schema

    dealt = spark.sparkContext.broadcast(shares)

    def work_on(batches: Batches) -> Batches:
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        yield from work(one for number in numbers for one in dealt.value[number])

    return spark.range(0, len(shares), 1, len(shares)).mapInArrow(work_on, from_arrow_schema(schema))


def share_work(spark: SparkSession, run: BulkRun) -> Callable[[Iterator[ArchivePiece]], Batches]:
    """Return the run's work on a share, as a function that can be sent to workers."""
    text: Broadcast[DirectoryText] = spark.sparkContext.broadcast(directory_text(run.directory))
    operation, unsaid, rows = run.operation, run.unsaid, run.rows

    def work_on(pieces: Iterator[ArchivePiece]) -> Batches:
        return count_rows(run_locally(pieces, operation, directory_from_text(text.value), unsaid), rows)

    return work_on


def run_locally(
    pieces: Iterable[ArchivePiece], operation: BulkOperation, directory: Directory, unsaid: ArchiveDefaults
) -> Generator[pa.RecordBatch, None, None]:
    """Run an operation in this process, without Spark. Closing the generator ends what the operation has started."""
    items: Iterator[ArchivedMessage | UnreadableMessage] = (
        item for piece in pieces for item in read_piece(piece, unsaid)
    )
    with prepare_operation(operation, directory) as work:
        yield from handle_messages(items, operation, work)
