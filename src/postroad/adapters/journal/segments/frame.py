"""The bytes of a segment: its header, and the groups of records behind it; see ``docs/reference/journal-format.md``.

Rule: pure functions over bytes. A group is intact if its marker, lengths and checksum agree. Its position in the
chain (``link``) and the integrity of its bodies (``find_broken_bodies``) are checked separately.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from struct import Struct
from typing import NamedTuple, Protocol

from postroad.ports import BodyAt, JournalHead, JournalRecord, NewRecord

MAGIC = b"POSTROAD"
VERSION = 1
WITHOUT_BODIES = 1  # flag: retention dropped the bodies; groups follow each other without them
EMPTY = JournalHead(0, bytes(32))

SEGMENT_HEADER = Struct("<8sHHIQ32s8s")  # magic, version, flags, crc, first seq, chain before, marker
GROUP_HEADER = Struct("<8sIIQQQ32s")  # marker, crc, count, first seq, facts bytes, bodies bytes, chain after
ENTRY = Struct("<II32s")  # facts length, body length or NO_BODY, sha256 of the body
PLACE = Struct("<QI")  # covered by the chain, with table and facts: first seq, count
CRC_END = 12  # the checksum covers the group's bytes from here to the end of its facts
NO_BODY = 0xFFFFFFFF
NO_DIGEST = bytes(32)

_sha256 = hashlib.sha256
# Both avoid a Python call for every record.
_body_at: Callable[[tuple[int, int, int, bytes]], BodyAt] = partial(tuple.__new__, BodyAt)
_record: Callable[[tuple[int, bytes, BodyAt | None]], JournalRecord] = partial(tuple.__new__, JournalRecord)


class SegmentHeader(NamedTuple):
    """The header of a segment; ``marker`` is random, so no posted body can look like one of its groups."""

    first_seq: int
    chain: bytes
    marker: bytes
    without_bodies: bool

    @property
    def before(self) -> JournalHead:
        return JournalHead(self.first_seq - 1, self.chain)


class RecordGroup(NamedTuple):
    """An intact group as stored in a segment; ``bodies_at`` is None if retention dropped the bodies."""

    offset: int
    first_seq: int
    record_count: int
    chain: bytes
    table: bytes
    facts: bytes
    bodies_at: int | None
    bodies_bytes: int
    end: int

    @property
    def head(self) -> JournalHead:
        return JournalHead(self.first_seq + self.record_count - 1, self.chain)


class RandomAccess(Protocol):
    """Random access to a file's bytes; the result is shorter than requested at the end of the file."""

    @property
    def size(self) -> int: ...

    def at(self, offset: int, length: int) -> bytes: ...


def encode_segment_header(header: SegmentHeader) -> bytes:
    flags = WITHOUT_BODIES if header.without_bodies else 0
    fields = (header.first_seq, header.chain, header.marker)
    checksum = zlib.crc32(SEGMENT_HEADER.pack(MAGIC, VERSION, flags, 0, *fields))
    return SEGMENT_HEADER.pack(MAGIC, VERSION, flags, checksum, *fields)


def decode_segment_header(data: bytes) -> SegmentHeader | None:
    """Decode a segment header; None if this version cannot read it."""
    if len(data) < SEGMENT_HEADER.size:
        return None
    _, version, flags, _, first_seq, chain, marker = SEGMENT_HEADER.unpack_from(data)
    header = SegmentHeader(first_seq, chain, marker, bool(flags & WITHOUT_BODIES))
    if version != VERSION or encode_segment_header(header) != data[: SEGMENT_HEADER.size]:
        return None
    return header


def group_bytes(records: Sequence[NewRecord]) -> int:
    """Return the length in bytes of a group of these records."""
    size = GROUP_HEADER.size + ENTRY.size * len(records)
    for record in records:
        size += len(record.facts) + (len(record.body) if record.body is not None else 0)
    return size


def chain_value(before: bytes, first_seq: int, count: int, table: bytes, facts: bytes) -> bytes:
    """Compute the chain value after a group. It covers the digests of bodies, not their bytes."""
    chain = _sha256(before)
    chain.update(PLACE.pack(first_seq, count))
    chain.update(table)
    chain.update(facts)
    return chain.digest()


def encode_group(
    records: Sequence[NewRecord], *, before: JournalHead, header: SegmentHeader, offset: int
) -> tuple[bytes, list[BodyAt | None], JournalHead]:
    """Return the bytes of a group to be written at ``offset``, the position of each body, and the head after it."""
    facts = b"".join([record.facts for record in records])
    entries: list[bytes] = []
    places: list[BodyAt | None] = []
    bodies: list[bytes] = []
    start = at = offset + GROUP_HEADER.size + ENTRY.size * len(records) + len(facts)
    for record in records:
        body = record.body
        if body is None:
            entries.append(ENTRY.pack(len(record.facts), NO_BODY, NO_DIGEST))
            places.append(None)
            continue
        length, digest = len(body), _sha256(body).digest()
        entries.append(ENTRY.pack(len(record.facts), length, digest))
        places.append(_body_at((header.first_seq, at, length, digest)))
        bodies.append(body)
        at += length
    table = b"".join(entries)
    head, group = _group_head(before, header.marker, table, facts, at - start)
    return b"".join((group, table, facts, *bodies)), places, head


def encode_stored_group(group: RecordGroup, bodies: bytes, *, before: JournalHead, marker: bytes) -> bytes:
    """Return the bytes of a group that is stored elsewhere; ``bodies`` is empty where they were dropped."""
    _, head = _group_head(before, marker, group.table, group.facts, group.bodies_bytes)
    return b"".join((head, group.table, group.facts, bodies))


def take_first_records(group: RecordGroup, count: int) -> RecordGroup:
    """Return a group of only the first records; its chain is not computed, and its bodies are the first bytes of the old ones."""
    table = group.table[: count * ENTRY.size]
    entries = list(ENTRY.iter_unpack(table))
    facts = group.facts[: sum(length for length, _, _ in entries)]
    bodies_bytes = sum(length for _, length, _ in entries if length != NO_BODY)
    return group._replace(record_count=count, table=table, facts=facts, bodies_bytes=bodies_bytes)


def _group_head(
    before: JournalHead, marker: bytes, table: bytes, facts: bytes, bodies_bytes: int
) -> tuple[JournalHead, bytes]:
    count, first_seq = len(table) // ENTRY.size, before.seq + 1
    chain = chain_value(before.chain, first_seq, count, table, facts)
    fields = (count, first_seq, len(facts), bodies_bytes, chain)
    checksum = _checksum(GROUP_HEADER.pack(marker, 0, *fields), table, facts)
    return JournalHead(before.seq + count, chain), GROUP_HEADER.pack(marker, checksum, *fields)


def _checksum(group_header: bytes, table: bytes, facts: bytes) -> int:
    return zlib.crc32(facts, zlib.crc32(table, zlib.crc32(group_header[CRC_END:])))


def read_group(source: RandomAccess, offset: int, header: SegmentHeader) -> RecordGroup | None:
    """Return the group at ``offset``, or None if no intact group begins there."""
    start = source.at(offset, GROUP_HEADER.size)
    if len(start) < GROUP_HEADER.size or not start.startswith(header.marker):
        return None
    _, checksum, count, first_seq, facts_bytes, bodies_bytes, chain = GROUP_HEADER.unpack(start)
    table_at = offset + GROUP_HEADER.size
    facts_at = table_at + ENTRY.size * count
    bodies_at = facts_at + facts_bytes
    end = bodies_at if header.without_bodies else bodies_at + bodies_bytes
    if end > source.size:
        return None
    covered = source.at(table_at, bodies_at - table_at)
    table, facts = covered[: facts_at - table_at], covered[facts_at - table_at :]
    if _checksum(start, table, facts) != checksum:
        return None
    where = None if header.without_bodies else bodies_at
    return RecordGroup(
        offset=offset,
        first_seq=first_seq,
        record_count=count,
        chain=chain,
        table=table,
        facts=facts,
        bodies_at=where,
        bodies_bytes=bodies_bytes,
        end=end,
    )


def is_successor(group: RecordGroup, before: JournalHead) -> bool:
    """Whether the group directly continues ``before`` and is unchanged."""
    chain = chain_value(before.chain, group.first_seq, group.record_count, group.table, group.facts)
    return group.first_seq == before.seq + 1 and group.chain == chain


def iter_records(group: RecordGroup, segment: int, after_seq: int = 0) -> Iterator[JournalRecord]:
    """Yield the group's records after ``after_seq``. A dropped body still has its length and digest; its offset is 0."""
    facts, facts_at, body_at = group.facts, 0, group.bodies_at or 0
    for seq, (facts_bytes, body_bytes, digest) in enumerate(ENTRY.iter_unpack(group.table), group.first_seq):
        facts_end = facts_at + facts_bytes
        if body_bytes == NO_BODY:
            if seq > after_seq:
                yield _record((seq, facts[facts_at:facts_end], None))
        else:
            if seq > after_seq:
                place = _body_at((segment, body_at, body_bytes, digest))
                yield _record((seq, facts[facts_at:facts_end], place))
            body_at += body_bytes if group.bodies_at is not None else 0
        facts_at = facts_end


def has_consistent_lengths(group: RecordGroup) -> bool:
    """Whether the table's lengths add up to those in the group's header."""
    entries = list(ENTRY.iter_unpack(group.table))
    bodies = sum(length for _, length, _ in entries if length != NO_BODY)
    return (sum(length for length, _, _ in entries), bodies) == (len(group.facts), group.bodies_bytes)


def find_broken_bodies(source: RandomAccess, group: RecordGroup, segment: int) -> Iterator[JournalRecord]:
    """Return the records whose body is present but does not match its digest."""
    if group.bodies_at is None:
        return
    for record in iter_records(group, segment):
        at = record.body
        if at is not None and _sha256(source.at(at.offset, at.length)).digest() != at.digest:
            yield record


def find_next_intact(source: RandomAccess, offset: int, header: SegmentHeader) -> RecordGroup | None:
    """Return the first intact group at ``offset`` or later: distinguishes damage in the middle from a torn tail."""
    rest = source.at(offset, source.size - offset)
    found = rest.find(header.marker)
    while found >= 0:
        group = read_group(source, offset + found, header)
        if group is not None:
            return group
        found = rest.find(header.marker, found + 1)
    return None
