"""Tables for lookups: CSV with a head line, commas between, quotes where needed.

Kept rule: a table is checked when it is saved, so a lookup finds its columns or says which there are.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from io import StringIO
from itertools import islice

from postroad.core.configuration.document import Fault
from postroad.services.arguments import bad_argument

COLUMNS_MOST = 100
ROWS_MOST = 500_000
FAULTS_MOST = 20
MAPPINGS_KEPT = 8  # of one table; senders choose the columns, and there are thousands of pairs of them


class Table:
    """The rows of a CSV text; a column is indexed when it is looked up by, and a few indexes are kept."""

    __slots__ = ("_mappings", "columns", "rows")

    def __init__(self, content: str) -> None:
        lines = csv.reader(StringIO(content.removeprefix("\ufeff"), newline=""), strict=True)
        self.columns = tuple(name.strip() for name in next(lines, []))
        self.rows = [row for row in lines if row]
        self._mappings: dict[tuple[str, str], Mapping[str, str]] = {}

    def mapping(self, column: str, value: str) -> Mapping[str, str]:
        """From the values of one column to those of another; the first row wins."""
        known = self.known_mapping(column, value)
        if known is None:
            at = self._place("column", column) if column else 0
            to = self._place("value", value) if value else 1
            known = {row[at].strip(): row[to].strip() for row in reversed(self.rows)}
            while len(self._mappings) >= MAPPINGS_KEPT:
                self._mappings.pop(next(iter(self._mappings)), None)
            self._mappings[column, value] = known
        return known

    def known_mapping(self, column: str, value: str) -> Mapping[str, str] | None:
        """The same where it was asked for before, at no cost."""
        return self._mappings.get((column, value))

    def _place(self, argument: str, column: str) -> int:
        if column not in self.columns:
            known = ", ".join(self.columns[:20])
            raise bad_argument(argument, f"The table has no column {column[:80]!r}; its columns are {known}")
        return self.columns.index(column)


def table_faults(content: str) -> list[Fault]:
    """What is wrong with a table, the first faults of many."""
    try:
        table = Table(content)
    except csv.Error as error:
        return [Fault("", f"this is not CSV: {error}; put quotes around values with commas, and double quotes in them")]
    return list(islice(_faults(table), FAULTS_MOST))


def _faults(table: Table) -> Iterator[Fault]:
    columns = table.columns
    if len(columns) < 2:
        yield Fault("", "a table has a head line that names at least two columns, separated by commas")
        return
    if len(columns) > COLUMNS_MOST or len(table.rows) > ROWS_MOST:
        yield Fault("", f"a table has at most {COLUMNS_MOST} columns and {ROWS_MOST} rows")
        return
    if "" in columns or len(set(columns)) < len(columns):
        yield Fault("", "every column has a name, and no two have the same")
    first_at: dict[str, int] = {}
    for number, row in enumerate(table.rows, 1):
        if len(row) != len(columns):
            yield Fault("", f"row {number} has {len(row)} values, and the head line {len(columns)}")
            continue
        key = row[0].strip()
        if first_at.setdefault(key, number) != number:
            yield Fault("", f"row {number} has the key {key[:80]!r} of row {first_at[key]}; keys are unique")
