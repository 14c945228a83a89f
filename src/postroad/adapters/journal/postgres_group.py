"""A group of records in the PostgreSQL journal, with the table, facts and chain of a group in a segment file.

Rule: pure. A body is stored in the group named by its first number, at an offset in the group's bodies. The chain
covers lengths and digests but not the bytes of bodies, so ``verify`` reads both journals in the same way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from postroad.adapters.journal.segments.frame import ENTRY, NO_BODY, NO_DIGEST, RecordGroup
from postroad.ports import BodyAt, JournalRecord, NewRecord

_sha256 = hashlib.sha256


class RecordLocation(NamedTuple):
    """The location of one record's facts and body in its group; without a body the offset is None."""

    facts_at: int
    facts_bytes: int
    body_at: int | None
    body_bytes: int
    digest: bytes

    def body(self, first_seq: int) -> BodyAt | None:
        return None if self.body_at is None else BodyAt(first_seq, self.body_at, self.body_bytes, self.digest)


class PackedGroup(NamedTuple):
    """A group to be written; the database assigns its number."""

    entries: bytes
    facts: bytes
    bodies: bytes
    places: list[RecordLocation]


def pack(records: Sequence[NewRecord]) -> PackedGroup:
    entries: list[bytes] = []
    places: list[RecordLocation] = []
    bodies: list[bytes] = []
    facts_at = body_at = 0
    for record in records:
        facts, body = record.facts, record.body
        size = len(facts)
        if body is None:
            entries.append(ENTRY.pack(size, NO_BODY, NO_DIGEST))
            places.append(RecordLocation(facts_at, size, None, 0, NO_DIGEST))
        else:
            digest = _sha256(body).digest()
            entries.append(ENTRY.pack(size, len(body), digest))
            places.append(RecordLocation(facts_at, size, body_at, len(body), digest))
            bodies.append(body)
            body_at += len(body)
        facts_at += size
    return PackedGroup(b"".join(entries), b"".join([record.facts for record in records]), b"".join(bodies), places)


def group_from_row(row: Sequence[Any]) -> RecordGroup:
    """Convert a row of the statement ``read`` to a group, without checking its contents."""
    first_seq, last_seq, chain, entries, facts, has_bodies, bodies_bytes = row
    return RecordGroup(
        offset=0,
        first_seq=first_seq,
        record_count=last_seq - first_seq + 1,
        chain=chain,
        table=entries,
        facts=facts,
        bodies_at=0 if has_bodies else None,
        bodies_bytes=bodies_bytes,
        end=0,
    )


def group_records(group: RecordGroup, after_seq: int = 0) -> Iterator[JournalRecord]:
    """Yield the group's records after ``after_seq``; a dropped body still has its position, length and digest."""
    facts_at = body_at = 0
    for seq, (facts_bytes, body_bytes, digest) in enumerate(ENTRY.iter_unpack(group.table), group.first_seq):
        at = None if body_bytes == NO_BODY else BodyAt(group.first_seq, body_at, body_bytes, digest)
        if seq > after_seq:
            yield JournalRecord(seq, group.facts[facts_at : facts_at + facts_bytes], at)
        facts_at += facts_bytes
        body_at += at.length if at is not None else 0
