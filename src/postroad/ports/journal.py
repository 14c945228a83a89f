"""The journal and its index: groups of records that are appended and never changed, and tables projected from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from postroad.core.projection.tables import Changes


class NewRecord(Struct, gc=False, frozen=True):
    """A new journal entry: its encoded facts, and its body if any."""

    facts: bytes
    body: bytes | None


class BodyAt(NamedTuple):
    """The position of a body in the journal; ``digest`` is its SHA-256, to verify that it is unchanged."""

    segment: int
    offset: int
    length: int
    digest: bytes


class JournalRecord(NamedTuple):
    """A stored journal entry."""

    seq: int
    facts: bytes
    body: BodyAt | None


class JournalHead(NamedTuple):
    """The end of the journal: the number of its last record (0 when empty) and the hash chain's value after it."""

    seq: int
    chain: bytes


class Appended(NamedTuple):
    """The result of an append: the durable records, numbered from ``first_seq`` on."""

    first_seq: int
    bodies: list[BodyAt | None]
    head: JournalHead


class JournalBatch(NamedTuple):
    """Consecutive records as read, and the journal's head right after the last of them (whole groups, so the chain fits)."""

    records: list[JournalRecord]
    head: JournalHead


class Journal(Protocol):
    """The single source of state, audit, billing and warehouse: groups of records, appended and never changed."""

    async def append(self, records: Sequence[NewRecord], *, reserve: bool = False) -> Appended:
        """Make the group durable, all or nothing. ``reserve`` may use the space kept for acknowledgments."""
        ...

    async def read(self, after_seq: int, limit_bytes: int = 4 << 20) -> JournalBatch:
        """Return durable records from ``after_seq + 1`` on, up to the end of a group; empty when there is nothing new.

        Also fetches single entries, so it must find any position quickly.
        """
        ...

    async def body(self, at: BodyAt) -> bytes | None:
        """Return the body's bytes, or None when retention has dropped it."""
        ...

    async def head(self) -> JournalHead: ...

    async def drop_bodies(self, before_seq: int) -> object:
        """Delete bodies of entries before ``before_seq``, as far as this is cheap; facts and digests stay."""
        ...

    async def close(self) -> None: ...


class IndexReader(Protocol):
    """Read access to the tables projected from the journal."""

    async def position(self) -> JournalHead:
        """Return the position of the last entry that has been applied."""
        ...

    async def query(self, name: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Run one of ``core.projection.queries.QUERIES`` and return its rows."""
        ...

    async def rows(self, table: str) -> list[tuple[Any, ...]]:
        """Return a whole table in the order of its key, to compare indexes."""
        ...

    async def close(self) -> None: ...


class Index(IndexReader, Protocol):
    """Tables projected from the journal; they can always be rebuilt from it."""

    async def apply(self, changes: Changes, head: JournalHead, after: int = 0) -> None:
        """Apply a batch's changes and move the position, atomically.

        ``after`` is the position before the batch. An index before that position has lost its latest batches (a database
        may, when it crashes) and raises Unavailable: continuing would leave a permanent gap.
        """
        ...

    async def clear(self) -> None:
        """Empty every table and go back to position 0, for a rebuild."""
        ...
