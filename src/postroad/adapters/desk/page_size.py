"""Chooses how many rows of a long queue to read at once, so that a page stays within some megabytes.

Rule: a row contains the whole header of its message, from a few hundred bytes to a megabyte for one with ten thousand
recipients. So the first page is small, and each later page is as large as the rows of the previous one allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postroad.core.projection.delivery_rows import COLUMN

MIN_ROWS, MAX_ROWS = 16, 2_000
PAGE_BYTES = 4 << 20


class PageSize:
    def __init__(self, most: int = MAX_ROWS) -> None:
        self._most = min(MAX_ROWS, most)
        self._least = min(MIN_ROWS, most)
        self.rows = self._least

    def seen(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Adapt the next page to the size of these rows."""
        if rows:
            each = sum(len(row[COLUMN["header"]]) for row in rows) // len(rows) + 1
            self.rows = max(self._least, min(self._most, PAGE_BYTES // each, 4 * self.rows))
