"""The journal in memory: complete, chained like the one in files, and lost with the process.

Rule: a group has the head that the segment journal would give it, so code that checks the chain can be tested with
it.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Sequence

from postroad.adapters.journal.segments.frame import EMPTY, SegmentHeader, encode_group
from postroad.errors import Unavailable
from postroad.ports import Appended, BodyAt, JournalBatch, JournalHead, JournalRecord, NewRecord

_ONE_SEGMENT = SegmentHeader(first_seq=1, chain=EMPTY.chain, marker=bytes(8), without_bodies=False)


class MemoryJournal:
    """A ``Journal`` that lives in this process; appends are durable only as long as it does."""

    def __init__(self) -> None:
        self._records: list[JournalRecord] = []
        self._heads: list[JournalHead] = []  # after each group
        self._bodies: dict[int, bytes | None] = {}  # by offset; None once dropped
        self._offset = 0

    async def append(self, records: Sequence[NewRecord], *, reserve: bool = False) -> Appended:
        before = await self.head()
        if not records:
            raise ValueError("a group has at least one record")
        group, places, head = encode_group(records, before=before, header=_ONE_SEGMENT, offset=self._offset)
        self._offset += len(group)
        for seq, (new, at) in enumerate(zip(records, places, strict=True), before.seq + 1):
            self._records.append(JournalRecord(seq, new.facts, at))
            if at is not None and new.body:  # an empty body has no place of its own
                self._bodies[at.offset] = new.body
        self._heads.append(head)
        return Appended(before.seq + 1, places, head)

    async def read(self, after_seq: int, limit_bytes: int = 4 << 20) -> JournalBatch:
        group = bisect_left(self._heads, after_seq + 1, key=lambda head: head.seq)
        if group == len(self._heads):
            return JournalBatch([], await self.head())
        end, size = after_seq, 0
        while group < len(self._heads) and size < max(limit_bytes, 1):
            size += sum(len(record.facts) for record in self._records[end : self._heads[group].seq])
            end = self._heads[group].seq
            group += 1
        return JournalBatch(self._records[after_seq:end], self._heads[group - 1])

    async def body(self, at: BodyAt) -> bytes | None:
        data = self._bodies[at.offset] if at.length else b""
        if data is not None and hashlib.sha256(data).digest() != at.digest:
            raise Unavailable("storage.damaged", "a body is not the one that was written", retry_after_s=60)
        return data

    async def head(self) -> JournalHead:
        return self._heads[-1] if self._heads else EMPTY

    async def drop_bodies(self, before_seq: int) -> None:
        """Retention: forget the bodies of the records before this one; facts and chain stay."""
        for record in self._records[: max(before_seq - 1, 0)]:
            if record.body is not None:
                self._bodies[record.body.offset] = None

    async def close(self) -> None:
        """Does nothing; the records are freed with the object."""
