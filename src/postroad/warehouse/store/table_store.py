"""The interface between the warehouse's jobs and its table storage.

Rule: a write is one commit, seen whole or not at all, and carries (app, version): a job's own name and how far it has come.
A version that is not above the one already there is a repetition, and nothing is written; so a job may be killed at any moment
and started again. A table is divided by days: those of landing for ``log``, those of the events in every other table.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NEVER = -1  # the version of a job that has not written yet
DAY = "day"
LANDED_ON = "landed_on"


def partition_column(table: str) -> str:
    """The column by which a table is divided; a table without that column is kept in one piece."""
    return LANDED_ON if table == "log" else DAY


class TableStore(Protocol):
    """Tables by name."""

    def read(self, name: str, days: Collection[date] | None = None) -> DataFrame:
        """The table as it is now, or only these days of its division; a table that was never written is Misconfigured."""
        ...

    def exists(self, name: str) -> bool: ...

    def append(self, df: DataFrame, name: str, app: str, version: int) -> bool:
        """Add rows; False when this version of the app had been written before."""
        ...

    def append_all(self, df: DataFrame, name: str, versions: Mapping[str, int]) -> bool:
        """Add rows for several apps at once; returns False if any of these versions was written before."""
        ...

    def replace_days(self, df: DataFrame, name: str, days: Collection[date], app: str, version: int) -> bool:
        """Replace all rows of these days; ``df`` has no rows of other days."""
        ...

    def replace(self, df: DataFrame, name: str, app: str, version: int) -> bool:
        """Replace the whole table."""
        ...

    def version(self, name: str, app: str) -> int:
        """Return the app's progress in this table; ``NEVER`` if it has not written to it."""
        ...

    def rows(self, name: str) -> int:
        """Return the number of rows of the table, without reading it."""
        ...

    def files(self, name: str) -> list[str]:
        """The Parquet files that make up the table now, for readers that are not Spark."""
        ...

    def compact(self, name: str) -> int:
        """Merge small files; returns by how many their number fell."""
        ...

    def vacuum(self, name: str, older_than_hours: float = 168) -> int:
        """Delete files that no longer belong to the table; returns their number."""
        ...
