"""Verifies a PostgreSQL journal and reports every difference from what was written.

Rule: verify changes nothing, continues after an error, and trusts no number that it can recompute. A missing tail is
detected by the table ``journal_head`` and by the head in the index.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterator, Sequence

from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.postgres_group import group_records
from postroad.adapters.journal.segments import frame
from postroad.adapters.journal.segments.frame import EMPTY, ENTRY, RecordGroup
from postroad.adapters.journal.segments.verification import JournalDefect, KnownHeads, VerificationProgress
from postroad.ports import JournalHead

TABLE = "journal_group"
PROGRESS_EVERY_GROUPS = 200

_sha256 = hashlib.sha256


async def verify(
    journal: PostgresJournal, expected_head: JournalHead | None = None, noted: Sequence[JournalHead] = ()
) -> AsyncIterator[VerificationProgress | JournalDefect]:
    """Check every group in order; yields progress, counted in records, and each defect with its row."""
    written = await journal.head()
    walk = _Walk(KnownHeads(expected_head, noted))
    count = 0
    async for group, bodies in journal.groups():
        for fault in walk.check(group, bodies):
            yield fault
        count += 1
        if count % PROGRESS_EVERY_GROUPS == 0:
            yield VerificationProgress(walk.head.seq, written.seq, *walk.head)
    for fault in walk.end(written):
        yield fault
    yield VerificationProgress(walk.head.seq, written.seq, *walk.head)


class _Walk:
    """The state of a verification; ``head`` is the head that the next group must continue."""

    def __init__(self, witnesses: KnownHeads) -> None:
        self.head = EMPTY
        self._witnesses = witnesses

    def check(self, group: RecordGroup, bodies: bytes | None) -> Iterator[JournalDefect]:
        due = self.head.seq + 1
        if group.first_seq > due:
            yield _fault("missing", due, f"records {due} to {group.first_seq - 1} are missing before this place")
        elif group.first_seq < due:
            yield _fault("repeated", group.first_seq, f"record {group.first_seq} is repeated after record {due - 1}")
        elif not frame.is_successor(group, self.head):
            yield _fault("changed", due, "the group is not the one in the chain")
        yield from self._contents(group, bodies)
        self.head = group.head
        for seq, detail in self._witnesses.contradict(group.first_seq, group.head):
            yield _fault("changed", seq, detail)

    def _contents(self, group: RecordGroup, bodies: bytes | None) -> Iterator[JournalDefect]:
        if len(group.table) != ENTRY.size * group.record_count or not frame.has_consistent_lengths(group):
            yield _fault("changed", group.first_seq, "the group's lengths do not add up")
        elif bodies is not None:
            for record in group_records(group):
                at = record.body
                if at is not None and _sha256(bodies[at.offset : at.offset + at.length]).digest() != at.digest:
                    yield _fault("changed", record.seq, "the body is not the one that was written")

    def end(self, written: JournalHead) -> Iterator[JournalDefect]:
        """Compare the end with the heads recorded by the database and the index."""
        known = max(written.seq, self._witnesses.last_seq)
        if known > self.head.seq:
            detail = f"records {self.head.seq + 1} to {known} were durable and are missing at the end"
            yield _fault("truncated", self.head.seq + 1, detail)
        elif written.seq == self.head.seq and written.chain != self.head.chain:
            yield _fault("changed", written.seq, "journal_head does not have the chain of the last group")


def _fault(kind: str, seq: int, detail: str) -> JournalDefect:
    return JournalDefect(kind, TABLE, 0, seq, detail)
