"""Messages read back from the index, shared by all deliveries of theirs that are in memory.

Rule: a long header is decoded once, however many deliveries it has. Every row of a queue contains the whole header,
which names every recipient: if each delivery kept its own, ten thousand deliveries of one message would need a
hundred million recipients. Entries are excluded from Python's garbage collection, which rules out weak references; so
unused ones are removed regularly, by their reference count.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any

from postroad.core.model.journal import MessagePosted
from postroad.core.projection.delivery_rows import COLUMN, message_from_row

LONG_BYTES = 4 << 10  # a shorter header is quicker decoded than looked for
GATHERED_BYTES = 8 << 20  # of headers, after which unneeded ones are dropped
OURS = 2  # references to a message that no one else knows: the table's, and the question's own


class KnownMessages:
    def __init__(self) -> None:
        self._by_seq: dict[int, MessagePosted] = {}
        self._gathered_bytes = 0

    def __len__(self) -> int:
        return len(self._by_seq)

    def message(self, row: tuple[Any, ...]) -> MessagePosted:
        """The message of a row of one of the queries that ``found_from_row`` reads."""
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
