"""The desk: the live state of a network, and the steps by which it changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct

from postroad.core.delivery.mailbox import EVERY_NUMBER
from postroad.core.model.delivery import FoundDelivery, Queued
from postroad.core.model.journal import Entry
from postroad.core.model.reason import Reason
from postroad.core.model.selector import Selector
from postroad.errors import Unavailable


class JournalStep(Struct, gc=False, frozen=True):
    """One unit of work for the journal: an entry, its body, and the conditions under which it is written."""

    entry: Entry
    body: bytes | None = None
    keys: tuple[int, ...] = ()  # must be new (handles, answers …)
    reserve: bool = False  # may use the storage reserve: acknowledgments and administration
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

    async def find_first_use(self, key: int) -> tuple[int, str] | None:
        """Return the entry number and session under which a durable entry first used a key."""
        ...

    def checks(self, key: int) -> bool:
        """Return True if steps with this key are checked against all earlier entries; if not, call ``find_first_use``."""
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
