"""Pages of long queues, read from the index: how many rows a page has, and headers that deliveries share.

Rules: a page has at most a few megabytes. A row contains the whole header of its message, from a few hundred bytes to a
megabyte for one with ten thousand recipients; so the first page is small, and each later page is as large as the rows of
the previous one allow. A long header is decoded once, however many deliveries it has: it names every recipient, and if
each delivery kept its own, ten thousand deliveries of one message would need a hundred million recipients. Entries are
excluded from Python's garbage collection, which rules out weak references; so unused ones are removed regularly, by
their reference count.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import Any

from postroad.core.model.journal import MessagePosted
from postroad.core.projection.delivery_rows import COLUMN, message_from_row

MIN_ROWS, MAX_ROWS = 16, 2_000
PAGE_BYTES = 4 << 20


class PageSize:
    def __init__(self, most: int = MAX_ROWS) -> None:
        self._most = min(MAX_ROWS, most)
        self._least = min(MIN_ROWS, most)
        self.rows = self._least

    def adapt(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Adapt the next page to the size of these rows."""
        if rows:
            each = sum(len(row[COLUMN["header"]]) for row in rows) // len(rows) + 1
            self.rows = max(self._least, min(self._most, PAGE_BYTES // each, 4 * self.rows))


LONG_BYTES = 4 << 10  # decoding a shorter header is faster than looking it up
GATHERED_BYTES = 8 << 20  # of headers, after which unused ones are dropped
OURS = 2  # references to an unused message: the table's, and that of the check itself


class KnownMessages:
    def __init__(self) -> None:
        self._by_seq: dict[int, MessagePosted] = {}
        self._gathered_bytes = 0

    def __len__(self) -> int:
        return len(self._by_seq)

    def message(self, row: tuple[Any, ...]) -> MessagePosted:
        """Return the message of a row from a query that ``found_from_row`` reads."""
        header_bytes, seq = len(row[COLUMN["header"]]), row[COLUMN["message_seq"]]
        if header_bytes < LONG_BYTES:
            return message_from_row(row)
        known = self._by_seq.get(seq)
        if known is None:
            self._make_room(header_bytes)
            known = self._by_seq[seq] = message_from_row(row)
        return known

    def _make_room(self, header_bytes: int) -> None:
        self._gathered_bytes += header_bytes
        if self._gathered_bytes > GATHERED_BYTES:
            for seq in tuple(self._by_seq):
                if getrefcount(self._by_seq[seq]) <= OURS:
                    del self._by_seq[seq]
            self._gathered_bytes = header_bytes
