"""The interfaces between the flow and the outside world, as small Protocols; adapters implement them.

Rule: nothing here depends on a database, a file or a socket. A new adapter is finished when it passes the contract suite of
its port in ``postroad.testing``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from postroad.core.delivery.mailbox import EVERY_NUMBER
from postroad.core.delivery.push_request import PushAnswer, PushRequest
from postroad.core.model.delivery import FoundDelivery, Queued
from postroad.core.model.directory import Service
from postroad.core.model.journal import Entry
from postroad.core.model.mail import Mail
from postroad.core.model.reason import Reason
from postroad.core.model.selector import Selector
from postroad.core.projection.tables import Changes
from postroad.core.schemas.schema import DocumentFault, Schema
from postroad.errors import Unavailable


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
        """Make the group durable, all or nothing. ``reserve`` may use the space kept for acknowledgements."""
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


class FollowerCursors(Protocol):
    """The positions up to which followers have read the journal; not in the index, which can be rebuilt from it."""

    async def load(self, name: str) -> JournalHead | None:
        """Return the head after the last group that the follower has handled, or None for a new follower."""
        ...

    async def load_all(self) -> dict[str, JournalHead]:
        """Return the positions of all followers, by name."""
        ...

    async def save(self, name: str, head: JournalHead) -> None: ...

    async def close(self) -> None: ...


class NotificationStore(Protocol):
    """Keeps the document of what notifications remember; on a shared network for all nodes."""

    async def load(self) -> bytes | None:
        """Return the document as it was saved last, or None."""
        ...

    async def save(self, document: bytes) -> None:
        """Replace the document, durably and as a whole."""
        ...

    async def close(self) -> None: ...


class Mailer(Protocol):
    """Hands e-mail to a mail server."""

    async def send(self, mail: Mail) -> str:
        """Send one e-mail; returns why the server did not accept it, or an empty string."""
        ...

    async def close(self) -> None: ...


class NetworkNode(NamedTuple):
    """A process that serves the network, and the newest network level that it can read."""

    id: str  # empty: a version before levels, which registers nowhere
    host: str
    version: str
    level: int
    started_at_us: int = 0
    seen_at_us: int = 0


class NodeRegistry(Protocol):
    """The nodes of a network."""

    async def seen(self) -> list[NetworkNode]:
        """Return the nodes that were seen in the last ten minutes, this one included."""
        ...

    async def close(self) -> None: ...


class Clock(Protocol):
    """Wall-clock and monotonic time; a simulator supplies its own."""

    def now_us(self) -> int:
        """Wall-clock time in microseconds since 1970, UTC."""
        ...

    def monotonic(self) -> float:
        """Return monotonic seconds, for leases and timeouts."""
        ...


class Randomness(Protocol):
    """Random bytes fit for secrets."""

    def bytes(self, count: int) -> bytes: ...


class MemoryGauge(Protocol):
    """Measures the memory of this process."""

    def used_share(self) -> float | None:
        """Return the used share of the memory that the process may use; None if that cannot be measured."""
        ...

    def release(self) -> None:
        """Return freed memory to the system, where that is possible."""
        ...


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


class JournalStep(Struct, gc=False, frozen=True):
    """One unit of work for the journal: an entry, its body, and the conditions under which it is written."""

    entry: Entry
    body: bytes | None = None
    keys: tuple[int, ...] = ()  # must be new (handles, answers …)
    reserve: bool = False  # may use the storage reserve: acknowledgements and administration
    waiting: tuple[int, ...] = ()  # deliveries that must not have ended
    absent: tuple[int, ...] = ()  # must be new, but are not used by this step
    organization: str = ""  # of the sender of a post, whose waiting bytes are counted; empty: not counted


class Committed(Struct, gc=False, frozen=True):
    """The step was written durably under this number."""

    seq: int


class Conflict(NamedTuple):
    """One of the step's keys was already used by a durable entry; nothing was written.

    ``key`` is 0 if it is not a key: one of the deliveries that must be waiting has ended.
    """

    key: int
    seq: int
    session: str


StepOutcome = Committed | Conflict | Unavailable


EndJourney = Callable[[Queued, str, Reason], Awaitable[None]]  # the delivery that failed, its state and the reason


class Desk(Protocol):
    """Holds the live state: used keys, queue heads and leases. Every durable change passes through ``submit``.

    The local desk keeps the state in memory over a journal of its own; the shared desk keeps it in PostgreSQL.
    """

    @property
    def waiting_bytes(self) -> int:
        """Return the bytes of steps that were submitted and are not being written yet."""
        ...

    @property
    def waiting_bytes_most(self) -> int:
        """Return the limit of ``waiting_bytes``; from half of it on, the organization with the most is refused."""
        ...

    def submit(self, step: JournalStep, done: Callable[[StepOutcome], None]) -> None:
        """Write the step with the next group; ``done`` is called once, from the event loop, after the commit.

        Raises Unavailable if too many steps are waiting.
        """
        ...

    def submit_many(self, steps: Sequence[JournalStep], done: Callable[[list[StepOutcome]], None]) -> None:
        """Write new posts, which settle no delivery, with one group; ``done`` receives all outcomes, in order."""
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
        """Lease waiting deliveries, oldest first, and return them once their hand-out is durable.

        Expired deliveries are ended instead. So are deliveries that were handed out too often: as often as the desk
        allows, or ``tries`` times if that is more.
        Deliveries with a number above ``up_to`` are skipped: they wait for release. ``early``: also lease deliveries that
        wait for their next push; the time of that push stays the same if they are not acknowledged.

        Raises Unavailable if the hand-out cannot be recorded; the deliveries then stay in the mailbox.
        """
        ...

    def on_given_up(self, end_journey: EndJourney) -> None:
        """Register the function that ends the journeys of deliveries that a claim finds expired or exhausted."""
        ...

    async def count_leased(self) -> dict[str, int]:
        """Return the number of leased deliveries by mailbox, for metrics; those given back with a delay count too."""
        ...

    async def hasten(self, mailbox: str) -> int:
        """Make all deliveries that wait for their next push available now; returns their number, if known.

        Nothing is recorded: after a crash, some of them wait again until their push is due.
        """
        ...

    def is_searching(self, mailbox: str, selector: Selector) -> bool:
        """Return True if the last claim with this selector stopped before it had checked all deliveries: claim again."""
        ...

    async def arrival(self, mailbox: str, timeout_s: float) -> None:
        """Wait until a delivery may have become available in the mailbox, or until the timeout."""
        ...

    async def find(self, number: int) -> FoundDelivery | None:
        """Return a delivery and its state, however old it is."""
        ...

    async def find_all(self, numbers: Collection[int]) -> dict[int, FoundDelivery]:
        """Look up deliveries together; returns those that exist, by number."""
        ...

    async def seen(self, key: int) -> tuple[int, str] | None:
        """Return the entry number and session under which a durable entry first used a key."""
        ...

    def checks(self, key: int) -> bool:
        """Return True if steps with this key are checked against all earlier entries; if not, call ``seen`` before submitting."""
        ...

    def waiting(self, mailbox: str) -> int:
        """Return the number of deliveries that wait in the mailbox, leased ones included, as far as known here.

        It may be too high until ``count_waiting``. Where several nodes write, it lacks what others added since.
        """
        ...

    async def count_waiting(self) -> None:
        """Make the numbers of ``waiting`` accurate, if they may not be."""
        ...

    async def body(self, queued: Queued) -> bytes | None:
        """Return the bytes of a delivery's content; None when retention has dropped them."""
        ...

    async def bodies(self, queued: Sequence[Queued]) -> list[bytes | None]:
        """Return the bytes of the contents of many deliveries."""
        ...

    async def close(self) -> None: ...


class Passwords(Protocol):
    """Slow hashes for passwords chosen by people."""

    async def hash(self, password: str) -> str: ...

    async def verify(self, password: str, hashed: str | None) -> bool:
        """Return True if the password belongs to the hash; takes as long for None, and returns False."""
        ...


class Secrets(Protocol):
    """The secrets that service profiles refer to; services cannot name each other's secrets."""

    async def prepare(self, service: Service, *references: str) -> None:
        """Read the stored secrets that the service refers to, so that ``secret`` returns the versions in force now.

        ``references`` are further ones that its profile does not contain.
        """
        ...

    def secret(self, service: Service, reference: str) -> str:
        """Resolve ``env:NAME``, ``file:PATH`` or ``secret:NAME``; raises Misconfigured if it is missing or not the service's.

        ``secret:NAME`` needs ``prepare`` before.
        """
        ...

    def file(self, service: Service, reference: str) -> str:
        """Return the path that ``file:PATH`` refers to; raises Misconfigured like ``secret``."""
        ...

    def check(self, service: Service, reference: str) -> None:
        """Raise Misconfigured if the secret is missing, without reading a stored one."""
        ...


class Resolver(Protocol):
    """Resolves host names to addresses."""

    async def addresses(self, host: str) -> list[str]:
        """Return all addresses of the name, best first; empty when the name does not exist."""
        ...

    def close(self) -> None: ...


class QueryVerdict(Struct, gc=False, frozen=True):
    """The result of one query on one message: no, yes unchanged, yes with new content, or no with an error."""

    goes: bool
    content: bytes | None = None  # None: unchanged
    media_type: str = ""  # of the new content
    error: str = ""


ItemValue = str | bool | int | float | Decimal | datetime | date | Sequence["ItemValue"]


class QueryEngine(Protocol):
    """Evaluates XQuery in a sandbox with time limits."""

    async def check(self, query: str) -> None:
        """Compile the query; raises Refused with ``query.invalid``, naming position and error, when that fails."""
        ...

    async def evaluate(
        self, queries: Sequence[str], content: bytes, media_type: str, items: Mapping[str, ItemValue]
    ) -> list[QueryVerdict]:
        """Return the results of all queries for one message, in their order; a failing query does not affect the others.

        ``items`` are the header items, properties and the routing key, each a variable of its name and type.
        """
        ...


class Validator(Protocol):
    """Validates documents against schemas in a sandbox. Raises Refused with ``validation.…`` if it cannot decide."""

    async def check(self, schema: Schema) -> None:
        """Compile the schema; raises Refused with ``schema.invalid``, naming line and error, when that fails."""
        ...

    async def validate(self, schema: Schema, document: bytes) -> tuple[DocumentFault, ...]:
        """Return the first errors of the document; empty if it is valid. Unreadable input is an error."""
        ...

    async def close(self) -> None:
        """Stop; running and later calls raise ``Unavailable``."""
        ...


class Pusher(Protocol):
    """Delivers messages to the servers of services."""

    async def push(self, request: PushRequest) -> PushAnswer:
        """Make one attempt within the request's time limit. Every response is a result, never an exception."""
        ...

    async def close(self) -> None: ...
