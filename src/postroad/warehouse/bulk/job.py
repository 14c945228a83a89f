"""A lane on Spark: pieces of an archive are dealt out to workers, which read them, do the lane's work, and write rows.

Kept rules: workers read the archive themselves, so its bytes never pass through the JVM; the directory travels once, as versioned
text; what a worker needs is in this package alone, so ``--py-files`` is enough on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

import pyarrow as pa

from postroad.core.model.snapshot import Directory
from postroad.warehouse.bulk.archive import Piece
from postroad.warehouse.bulk.archived import Archived, Unreadable
from postroad.warehouse.bulk.directory_text import DirectoryText, directory_from, text_of
from postroad.warehouse.bulk.lane import Lane, handled, prepared, schema_of
from postroad.warehouse.bulk.reading import Unsaid, read

if TYPE_CHECKING:
    from pyspark import Accumulator, Broadcast
    from pyspark.sql import DataFrame, SparkSession

SHARES_PER_CORE = 4  # so that a slow share does not leave a core idle for long

Batches = Iterator[pa.RecordBatch]


class Weighted(Protocol):
    """Something that workers are given to do; what is heavier takes longer."""

    @property
    def weight(self) -> int: ...


W = TypeVar("W", bound=Weighted)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneRun:
    """What a job does: which lane, over which pieces, under which directory."""

    lane: Lane
    pieces: Sequence[Piece]
    directory: Directory
    unsaid: Unsaid = field(default_factory=Unsaid)
    rows: Accumulator[int] | None = None  # counts them while they are made, for whoever watches


def result_of(spark: SparkSession, run: LaneRun) -> DataFrame:
    """A lane's rows about an archive, for whoever goes on with them in Spark; nothing is done until somebody asks for them."""
    return over_shares(spark, run_shares(spark, run), lane_work(spark, run), schema_of(run.lane))


def run_shares(spark: SparkSession, run: LaneRun) -> list[list[Piece]]:
    return shares_for(spark, run.pieces)


def shares_for(spark: SparkSession, things: Sequence[W]) -> list[list[W]]:
    return shares_of(things, SHARES_PER_CORE * spark.sparkContext.defaultParallelism)


def shares_of(things: Sequence[W], most: int) -> list[list[W]]:
    """The things in shares of about the same weight, at most so many."""
    heaviest_first = sorted(things, key=lambda one: -one.weight)
    count = max(1, min(len(things), most))
    return [heaviest_first[share::count] for share in range(count)]


def counted(batches: Batches, rows: Accumulator[int] | None) -> Batches:
    """The batches as they are; their rows are told to the driver whenever a share is done."""
    for batch in batches:
        if rows is not None:
            rows += batch.num_rows
        yield batch


def over_shares(
    spark: SparkSession, shares: list[list[W]], work: Callable[[Iterator[W]], Batches], schema: pa.Schema
) -> DataFrame:
    """What the work makes of each share, one task a share."""
    from pyspark.sql.pandas.types import from_arrow_schema

    dealt = spark.sparkContext.broadcast(shares)

    def work_on(batches: Batches) -> Batches:
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        yield from work(one for number in numbers for one in dealt.value[number])

    return spark.range(0, len(shares), 1, len(shares)).mapInArrow(work_on, from_arrow_schema(schema))


def lane_work(spark: SparkSession, run: LaneRun) -> Callable[[Iterator[Piece]], Batches]:
    """The run's work on a share, as a function that can be sent to workers."""
    text: Broadcast[DirectoryText] = spark.sparkContext.broadcast(text_of(run.directory))
    lane, unsaid, rows = run.lane, run.unsaid, run.rows

    def work_on(pieces: Iterator[Piece]) -> Batches:
        return counted(lane_rows(pieces, lane, directory_from(text.value), unsaid), rows)

    return work_on


def lane_rows(
    pieces: Iterable[Piece], lane: Lane, directory: Directory, unsaid: Unsaid
) -> Generator[pa.RecordBatch, None, None]:
    """The same without Spark: what one process makes of these pieces. Closing it ends what the lane has started."""
    items: Iterator[Archived | Unreadable] = (item for piece in pieces for item in read(piece, unsaid))
    with prepared(lane, directory) as work:
        yield from handled(items, lane, work)
