"""What the flow needs from outside, as small Protocols; adapters implement them, bootstrap chooses.

Kept rule: nothing here knows a database, a file or a socket. A new adapter is finished when it passes the contract suite of
its port in ``postroad.testing``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class NewRecord(NamedTuple):
    """One entry on its way into the journal: its encoded facts, and the body it brings, if any."""

    facts: bytes
    body: bytes | None


class BodyAt(NamedTuple):
    """Where a body lies in the journal; ``digest`` is its SHA-256, so a reader can tell that it is unchanged."""

    segment: int
    offset: int
    length: int
    digest: bytes


class Record(NamedTuple):
    """One entry as the journal keeps it."""

    seq: int
    facts: bytes
    body: BodyAt | None


class Head(NamedTuple):
    """The end of the journal: number of its last record (0 when empty) and the hash chain's value after it."""

    seq: int
    chain: bytes


class Appended(NamedTuple):
    """What an append made durable; records are numbered from ``first_seq`` on."""

    first_seq: int
    bodies: list[BodyAt | None]
    head: Head


class Batch(NamedTuple):
    """Consecutive records as read, and the journal's head right after the last of them (whole groups, so the chain fits)."""

    records: list[Record]
    head: Head


class Journal(Protocol):
    """The single source of state, audit, billing and warehouse: groups of records, appended and never changed."""

    async def append(self, records: Sequence[NewRecord], *, reserve: bool = False) -> Appended:
        """Make the group durable, all or nothing. ``reserve`` may use the space kept for acknowledgements."""
        ...

    async def read(self, after_seq: int, limit_bytes: int = 4 << 20) -> Batch:
        """Durable records from ``after_seq + 1`` on, up to the end of a group; no records when there is nothing new.

        Also the way to fetch a single entry, so it must find any place quickly.
        """
        ...

    async def body(self, at: BodyAt) -> bytes | None:
        """The body's bytes, or None when retention has dropped it."""
        ...

    async def head(self) -> Head: ...

    async def close(self) -> None: ...


class Clock(Protocol):
    """Time, so that a simulator can bring its own."""

    def now_us(self) -> int:
        """Wall-clock time in microseconds since 1970, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never jump, for leases and time-outs."""
        ...


class Randomness(Protocol):
    """Random bytes fit for secrets."""

    def bytes(self, count: int) -> bytes: ...
