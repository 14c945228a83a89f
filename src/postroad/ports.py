"""What the flow needs from outside, as small Protocols; adapters implement them, bootstrap chooses.

Kept rule: nothing here knows a database, a file or a socket. A new adapter is finished when it passes the contract suite of
its port in ``postroad.testing``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from postroad.core.delivery.mailbox import EVERY_NUMBER
from postroad.core.delivery.pushing import PushAnswer, PushRequest
from postroad.core.model.delivery import Found, Queued
from postroad.core.model.directory import Service
from postroad.core.model.journal import Entry
from postroad.core.model.selector import Selector
from postroad.core.projection.tables import Changes
from postroad.core.schemas.schema import DocumentFault, Schema
from postroad.errors import Unavailable


class NewRecord(Struct, gc=False, frozen=True):
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

    async def drop_bodies(self, before_seq: int) -> object:
        """Forget bodies of entries before that number, as far as can be done cheaply; facts and digests stay."""
        ...

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


class IndexReader(Protocol):
    """Tables projected from the journal, to be asked."""

    async def position(self) -> Head:
        """The last entry that has been applied."""
        ...

    async def query(self, name: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """The answer to one of ``core.projection.queries.QUERIES``."""
        ...

    async def rows(self, table: str) -> list[tuple[Any, ...]]:
        """A whole table in the order of its key, to compare indexes."""
        ...

    async def close(self) -> None: ...


class Index(IndexReader, Protocol):
    """Tables projected from the journal; losing them costs time, never data."""

    async def apply(self, changes: Changes, head: Head, after: int = 0) -> None:
        """Apply a batch's changes and move the position, atomically.

        ``after`` is where reading the batch began. An index that stands before it has lost what it was given last (a database
        may, when it crashes) and raises Unavailable: going on would leave a gap that nobody fills.
        """
        ...

    async def clear(self) -> None:
        """Empty every table and go back to position 0, for a rebuild."""
        ...


class Step(Struct, gc=False, frozen=True):
    """One unit of work on its way to the journal: an entry, its body, and what must hold for it to be written."""

    entry: Entry
    body: bytes | None = None
    keys: tuple[int, ...] = ()  # must never have been seen before (handles, answers …)
    reserve: bool = False  # may use the storage reserve: acknowledgements and administration
    waiting: tuple[int, ...] = ()  # deliveries that must not have come to an end yet
    absent: tuple[int, ...] = ()  # must never have been used either, and are not used by this step


class Committed(Struct, gc=False, frozen=True):
    """The step's entry is durable under this number."""

    seq: int


class Conflict(NamedTuple):
    """One of the step's keys was used by an earlier entry, which is durable; nothing was written.

    ``key`` is 0 when it is not a key: one of the deliveries that must be waiting has come to its end.
    """

    key: int
    seq: int
    session: str


Outcome = Committed | Conflict | Unavailable


EndJourney = Callable[[Queued, str, str], Awaitable[None]]  # a delivery that is given up, the state and the reason


class Desk(Protocol):
    """Owns what must be known at once: keys seen, queue heads and leases. Everything durable passes through ``submit``.

    The local desk keeps them in memory over a journal of its own; the shared desk keeps them in PostgreSQL.
    """

    def submit(self, step: Step, done: Callable[[Outcome], None]) -> None:
        """Write the step with the next group. ``done`` is called once, from the loop, after the commit that makes it true.

        Raises Unavailable when too much is waiting already.
        """
        ...

    def submit_many(self, steps: Sequence[Step], done: Callable[[list[Outcome]], None]) -> None:
        """Write new posts, which settle nothing, with one group; ``done`` hears all outcomes, in order."""
        ...

    async def claim(
        self,
        mailbox: str,
        selector: Selector,
        most: int,
        lease_s: float,
        tries: int = 0,
        up_to: int = EVERY_NUMBER,
        early: bool = False,
    ) -> list[Queued]:
        """Lease waiting deliveries, oldest first, after their hand-out is durable; expired ones are ended instead.

        So are those that were handed out too often: as often as the desk allows, or ``tries`` times where that is more.
        What has a number above ``up_to`` is left alone: it is held back. ``early``: also deliveries that wait for their next
        push. If one of them is not acknowledged, its next push is due when it was.

        Raises Unavailable if the hand-out cannot be recorded; the deliveries then stay in the mailbox.
        """
        ...

    def on_given_up(self, end_journey: EndJourney) -> None:
        """Have journeys ended by others: a claim that finds an expired or exhausted delivery of one leaves its end to them."""
        ...

    async def hasten(self, mailbox: str) -> int:
        """Make everything available at once that waits for its next push, and return how many that were, as far as known.

        Nothing is recorded: after a crash, some of them wait for their time again.
        """
        ...

    def is_searching(self, mailbox: str, selector: Selector) -> bool:
        """Whether the last claim with this selector stopped before it had looked at all that waits: claim again."""
        ...

    async def arrival(self, mailbox: str, timeout_s: float) -> None:
        """Return when something may have become available in the mailbox, or the time is over."""
        ...

    async def find(self, number: int) -> Found | None:
        """A delivery and its state, however long ago it was made."""
        ...

    async def find_all(self, numbers: Collection[int]) -> dict[int, Found]:
        """Those of these deliveries that exist, by number, looked up together."""
        ...

    async def seen(self, key: int) -> tuple[int, str] | None:
        """Entry number and session under which a key was first used, once that entry is durable."""
        ...

    def checks(self, key: int) -> bool:
        """Whether a step with this key is checked against all earlier entries; if not, ask ``seen`` before submitting it."""
        ...

    async def body(self, queued: Queued) -> bytes | None:
        """The bytes of a delivery's content; None when retention has dropped them."""
        ...

    async def bodies(self, queued: Sequence[Queued]) -> list[bytes | None]:
        """The bytes of many deliveries' contents at once."""
        ...

    async def close(self) -> None: ...


class Passwords(Protocol):
    """Slow hashes for passwords that people choose."""

    async def hash(self, password: str) -> str: ...

    async def verify(self, password: str, hashed: str | None) -> bool:
        """Whether the password belongs to the hash; takes as long for None, and says no."""
        ...


class Secrets(Protocol):
    """The secrets that services' profiles name, as the operator keeps them; nobody can name another's."""

    def secret(self, service: Service, reference: str) -> str:
        """What ``env:NAME`` or ``file:PATH`` stands for; raises Misconfigured when it is not there, or is not this service's."""
        ...

    def file(self, service: Service, reference: str) -> str:
        """Path of the file that ``file:PATH`` stands for, likewise."""
        ...


class Resolver(Protocol):
    """Names to addresses."""

    async def addresses(self, host: str) -> list[str]:
        """All addresses of the name, best first; none when there is no such name."""
        ...

    def close(self) -> None: ...


class Verdict(Struct, gc=False, frozen=True):
    """What one query says about one message: no, yes as it came, or yes with new content; a query that failed says no and why."""

    goes: bool
    content: bytes | None = None  # None: as it came
    media_type: str = ""  # of the new content
    error: str = ""


ItemValue = str | bool | int | float | Decimal | datetime | date | Sequence["ItemValue"]


class QueryEngine(Protocol):
    """Evaluates XQuery where queries reach nothing and are stopped in time."""

    async def check(self, query: str) -> None:
        """Compile it; Refused with ``query.invalid``, naming place and fault, when that fails."""
        ...

    async def evaluate(
        self, queries: Sequence[str], content: bytes, media_type: str, items: Mapping[str, ItemValue]
    ) -> list[Verdict]:
        """The verdicts of all queries about one message, in their order; what one does wrong touches no other.

        ``items`` are the header items, properties and the routing key, each a variable of its name and type.
        """
        ...


class Validator(Protocol):
    """Judges documents by schemas, where neither can do harm. Refused with ``validation.…`` where no judgement was possible."""

    async def check(self, schema: Schema) -> None:
        """Compile it; Refused with ``schema.invalid``, naming line and fault, when that fails."""
        ...

    async def validate(self, schema: Schema, document: bytes) -> tuple[DocumentFault, ...]:
        """What is wrong with the document, the first faults of many; nothing when it is valid. Not being readable is a fault."""
        ...

    async def close(self) -> None:
        """Stop; calls under way and later ones are ``Unavailable``."""
        ...


class Pusher(Protocol):
    """Hands messages to the servers of services."""

    async def push(self, request: PushRequest) -> PushAnswer:
        """One attempt; whatever the receiver does is an answer, never an error, and comes within the request's time."""
        ...

    async def close(self) -> None: ...
