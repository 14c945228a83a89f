"""Lookup tables: CSV with a header row.

Rule: a table is checked when it is saved, so a lookup either finds its columns or reports which ones exist.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from io import StringIO
from itertools import islice

from postroad.core.configuration.document import DocumentError
from postroad.services.arguments import bad_argument

MAX_COLUMNS = 100
MAX_ROWS = 500_000
MAX_FAULTS = 20
MAPPINGS_KEPT = 8  # of one table; senders choose the columns, and thousands of pairs are possible


class LookupTable:
    """The rows of a CSV text; columns are indexed on first use, and a few indexes are kept."""

    __slots__ = ("_mappings", "columns", "rows")

    def __init__(self, content: str) -> None:
        lines = csv.reader(StringIO(content.removeprefix("\ufeff"), newline=""), strict=True)
        self.columns = tuple(name.strip() for name in next(lines, []))
        self.rows = [row for row in lines if row]
        self._mappings: dict[tuple[str, str], Mapping[str, str]] = {}

    def mapping(self, column: str, value: str) -> Mapping[str, str]:
        """Return a mapping from the values of one column to another; the first row wins."""
        known = self.cached_mapping(column, value)
        if known is None:
            at = self._place("column", column) if column else 0
            to = self._place("value", value) if value else 1
            known = {row[at].strip(): row[to].strip() for row in reversed(self.rows)}
            while len(self._mappings) >= MAPPINGS_KEPT:
                self._mappings.pop(next(iter(self._mappings)), None)
            self._mappings[column, value] = known
        return known

    def cached_mapping(self, column: str, value: str) -> Mapping[str, str] | None:
        """Return the mapping if it is cached; None otherwise."""
        return self._mappings.get((column, value))

    def _place(self, argument: str, column: str) -> int:
        if column not in self.columns:
            known = ", ".join(self.columns[:20])
            raise bad_argument(argument, f"The table has no column {column[:80]!r}; its columns are {known}")
        return self.columns.index(column)


def find_table_errors(content: str) -> list[DocumentError]:
    """Return the first errors of a table."""
    try:
        table = LookupTable(content)
    except csv.Error as error:
        return [
            DocumentError(
                "", f"not valid CSV: {error}; put values with commas in quotes, and double the quotes in them"
            )
        ]
    return list(islice(_faults(table), MAX_FAULTS))


def _faults(table: LookupTable) -> Iterator[DocumentError]:
    columns = table.columns
    if len(columns) < 2:
        yield DocumentError("", "a table needs a header line with at least two columns, separated by commas")
        return
    if len(columns) > MAX_COLUMNS or len(table.rows) > MAX_ROWS:
        yield DocumentError("", f"a table has at most {MAX_COLUMNS} columns and {MAX_ROWS} rows")
        return
    if "" in columns or len(set(columns)) < len(columns):
        yield DocumentError("", "every column needs a unique name")
    first_at: dict[str, int] = {}
    for number, row in enumerate(table.rows, 1):
        if len(row) != len(columns):
            yield DocumentError("", f"row {number} has {len(row)} values, but the header line {len(columns)}")
            continue
        key = row[0].strip()
        if first_at.setdefault(key, number) != number:
            yield DocumentError(
                "", f"row {number} repeats the key {key[:80]!r} of row {first_at[key]}; keys must be unique"
            )
