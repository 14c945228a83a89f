"""Removes duplicate events: of an event that was landed twice, every table uses the same row.

Landing is exactly once for one source. If an archive and the journal that it was exported from were both landed, two files
contain the same (seq, ordinal). The ranges of ``seq`` in the footers of the files show whether that is possible, and only then
events are compared.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as fn

from postroad.warehouse.store.table_files import ELSEWHERE

KEY = ("seq", "ordinal")
Range = tuple[int, int]
ANY: Range = (0, 1 << 62)


def distinct_events(log: DataFrame, ranges: Iterable[Range]) -> DataFrame:
    """Return the log with every event once; ``ranges`` are the ranges of entry numbers in its files."""
    return once(log) if overlap(ranges) else log


def once(log: DataFrame) -> DataFrame:
    """The log with every event once: of several rows for one event, the one that was landed last holds.

    Landing writes each event once; archives of the same journal that were landed too may bring it again, or corrected.
    """
    latest = [fn.col(name).desc_nulls_last() for name in ("schema_version", "landed_on") if name in log.columns]
    never_by_chance = fn.hash(*[name for name in log.columns if name not in KEY])
    place = fn.row_number().over(Window.partitionBy(*KEY).orderBy(*latest, never_by_chance))
    return log.withColumn("_place", place).where("_place = 1").drop("_place")


def overlap(ranges: Iterable[Range]) -> bool:
    reached = -1
    for first, last in sorted(ranges):
        if first <= reached:
            return True
        reached = max(reached, last)
    return False


def entry_ranges(files: Iterable[str]) -> list[Range]:
    """Return the first and last entry number of each file; ``ANY`` for a remote file or one without statistics."""
    return [_range(file) for file in files]


def _range(file: str) -> Range:
    if ELSEWHERE in file:
        return ANY
    metadata = pq.read_metadata(file)
    column = metadata.schema.names.index("seq")
    groups = [metadata.row_group(number).column(column).statistics for number in range(metadata.num_row_groups)]
    known = [group for group in groups if group is not None and group.has_min_max]
    if len(known) < len(groups) or not known:
        return ANY
    return min(group.min for group in known), max(group.max for group in known)
