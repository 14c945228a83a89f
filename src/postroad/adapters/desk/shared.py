"""The shared desk: keys, queue heads and leases in PostgreSQL, shared by any number of nodes.

Rules: a group of steps is one call and one transaction, journal and tables together, so a step happens completely or
not at all; an outcome is reported after its commit. A hand-out is first reserved, which a crash may undo, then
recorded with a group like every other step; a delivery that was settled in between is not handed out. Time comes from
the nodes' clocks, never from the database, so they should agree to within a fraction of a lease.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from postroad.adapters.desk.group_commit import Done, DoneAll, GroupCommit
from postroad.adapters.desk.local import MAX_ATTEMPTS
from postroad.adapters.desk.shared_arrivals import ArrivalListener
from postroad.adapters.desk.shared_claims import SharedClaims, read_queued_row
from postroad.adapters.desk.shared_effects import list_queued_copies
from postroad.adapters.desk.shared_group import EndedDelivery, GroupPlan, UsedKey, Verdict, WrittenRecord
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.postgres_connections import ConnectionPool
from postroad.adapters.journal.postgres_schema import load_named_statements, migrate
from postroad.core.delivery.mailbox import EVERY_NUMBER
from postroad.core.metrics.registry import Metrics
from postroad.core.model.delivery import DeliveryState, FoundDelivery, Queued
from postroad.core.model.journal import (
    DeliveriesAcknowledged,
    DeliveryResent,
    Entry,
    InvocationReturned,
    MessagePosted,
    decode,
)
from postroad.core.model.selector import Selector
from postroad.core.projection.delivery_rows import found_from_row
from postroad.errors import Unavailable
from postroad.ports import BodyAt, Clock, Committed, Conflict, EndJourney, Index, JournalStep, StepOutcome

PACKAGE = "postroad.adapters.desk"
SQL = load_named_statements(PACKAGE, "desk.sql")
LOOK_AGAIN_S = 5.0  # a lease of another node may lapse without a notification


class SharedCounts:
    """How many deliveries wait in each mailbox of a shared network, as far as this node knows.

    Rule: the tables are right. Between two counts, this node adds what it queues and subtracts what it acknowledges;
    deliveries that other nodes queue or end, and ends by the network, appear with the next count.
    """

    __slots__ = ("_changes", "_counted")

    def __init__(self) -> None:
        self._counted: Mapping[str, int] = {}
        self._changes: Counter[str] = Counter()  # since the last count began

    def of(self, mailbox: str) -> int:
        return max(0, self._counted.get(mailbox, 0) + self._changes[mailbox])

    def add(self, entries: Iterable[Entry]) -> None:
        """Count the effect of entries that this node has committed."""
        changes = self._changes
        for entry in entries:
            if isinstance(entry, MessagePosted):
                for _, mailbox in list_queued_copies(entry):
                    changes[mailbox] += 1
            elif isinstance(entry, DeliveriesAcknowledged):
                changes[entry.by] -= len(entry.deliveries)
            elif isinstance(entry, InvocationReturned):
                changes[entry.by] -= 1
                changes[entry.next] += 1
            elif isinstance(entry, DeliveryResent):
                changes[entry.next] += 1

    def begin(self) -> None:
        """Begin a count: changes from now on are added to its result."""
        self._counted = {name: self.of(name) for name in {*self._counted, *self._changes}}
        self._changes = Counter()

    def replace(self, counted: Mapping[str, int]) -> None:
        """End a count that has found these numbers."""
        self._counted = counted


class SharedDesk:
    """Implements ``postroad.ports.Desk`` over a PostgreSQL journal; ``open`` it before use."""

    _forgettable: ConnectionPool
    _claims: SharedClaims

    def __init__(
        self,
        journal: PostgresJournal,
        index: Index,
        clock: Clock,
        *,
        wait_for_entry: Callable[[int], Awaitable[None]],
        attempts_most: int = MAX_ATTEMPTS,
        on_committed: Callable[[int], None] = lambda seq: None,
        metrics: Metrics | None = None,
    ) -> None:
        self._journal = journal
        self._connections = journal.connections
        self._index = index
        self._clock = clock
        self._wait_for_entry = wait_for_entry  # waits until the index has caught up with an entry
        self._attempts_most = attempts_most
        self._arrivals = ArrivalListener(self._connections, on_committed)
        self._group = GroupCommit(self._commit, metrics=metrics)
        self._counts = SharedCounts()
        metrics = metrics or Metrics()
        self._commit_seconds = metrics.histogram("postgres_commit_seconds")
        self._unavailable = metrics.counter("postgres_unavailable_total")
        self._bytes = metrics.counter("journal_bytes_total")

    async def open(self) -> None:
        """Create or update the tables, and start."""
        async with self._connections.use() as connection:
            await migrate(connection, "desk", PACKAGE)
        self._forgettable = await ConnectionPool.open(self._connections.dsn, durable=False)
        self._claims = SharedClaims(self._forgettable, self._group, self._clock, SQL, self._attempts_most)
        await self.count_waiting()
        await self._arrivals.open()
        self._group.start()

    async def close(self) -> None:
        await self._group.close()
        await self._arrivals.close()
        await self._forgettable.close()

    def on_given_up(self, end_journey: EndJourney) -> None:
        self._claims.end_journey = end_journey

    # --- writing -------------------------------------------------------------------------------------------------

    @property
    def waiting_bytes(self) -> int:
        return self._group.waiting_bytes

    @property
    def waiting_bytes_most(self) -> int:
        return self._group.waiting_bytes_most

    def submit(self, step: JournalStep, done: Done) -> None:
        self._group.submit(step, done)

    def submit_many(self, steps: Sequence[JournalStep], done: DoneAll) -> None:
        self._group.submit_many(steps, done)

    async def commit(self, step: JournalStep) -> StepOutcome:
        """Submit a step and wait for its outcome."""
        return await self._group.commit(step)

    async def _commit(self, steps: Sequence[JournalStep]) -> list[StepOutcome]:
        seen: dict[int, int] = {}
        gone: set[int] = set()
        in_batch: set[int] = set()
        while True:  # ends: each round finds more keys and deliveries that are used, gone or in a batch, and stay so
            plan = GroupPlan(steps, seen, gone, in_batch)
            self._claims.forget(plan.dropped)
            if plan.is_empty:
                return await self._outcomes(plan.verdicts, 0)
            [row] = await self._commit_plan(plan)
            first_seq, _, seen_keys, seen_seqs, gone_numbers, batched_numbers = row
            if first_seq is not None:
                self._counts.add(plan.entries)
                return await self._outcomes(plan.verdicts, first_seq)
            seen.update(zip(seen_keys or (), seen_seqs or (), strict=True))
            gone.update(gone_numbers or ())
            in_batch.update(batched_numbers or ())

    async def _commit_plan(self, plan: GroupPlan) -> list[Any]:
        """Run the transaction of a group, and measure it."""
        began = self._clock.monotonic()
        try:
            rows = await self._connections.fetch(SQL["commit"], *plan.parameters())
        except Unavailable:
            self._unavailable.value += 1
            raise
        self._commit_seconds.observe(self._clock.monotonic() - began)
        if rows[0][0] is not None:
            self._bytes.value += plan.written_bytes
        return rows

    async def _outcomes(self, verdicts: list[Verdict], first_seq: int) -> list[StepOutcome]:
        outcomes: list[StepOutcome] = []
        for verdict in verdicts:
            try:
                outcomes.append(await self._outcome(verdict, first_seq))
            except Unavailable as unavailable:  # concerns only this step; the others of the group are stored
                outcomes.append(unavailable)
        return outcomes

    async def _outcome(self, verdict: Verdict, first_seq: int) -> StepOutcome:
        if isinstance(verdict, WrittenRecord):
            return Committed(first_seq + verdict.record)
        if isinstance(verdict, UsedKey):
            seq = verdict.seq or first_seq + verdict.record
            return Conflict(verdict.key, seq, await self._session(seq))
        if isinstance(verdict, EndedDelivery):
            return Conflict(0, 0, "")
        return Committed((await self._journal.head()).seq)  # it happened before, so any later entry is correct

    async def _session(self, seq: int) -> str:
        records = (await self._journal.read(seq - 1, 1)).records
        session: str = getattr(decode(records[0].facts), "session", "")
        return session

    # --- handing out ---------------------------------------------------------------------------------------------

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
        while True:
            before = self._arrivals.count(mailbox)
            leased = await self._claims.claim(
                mailbox=mailbox, selector=selector, most=most, lease_s=lease_s, tries=tries, up_to=up_to, early=early
            )
            if leased or before == self._arrivals.count(mailbox):  # else a delivery arrived during the claim
                return leased

    async def count_leased(self) -> dict[str, int]:
        rows = await self._connections.fetch(SQL["count_leased"], self._clock.now_us())
        return dict(rows)

    async def hasten(self, mailbox: str) -> int:
        [row] = await self._connections.fetch(SQL["hasten"], mailbox)
        if row[0]:
            self._arrivals.wake(mailbox)  # other nodes check again within seconds
        return int(row[0])

    def is_searching(self, mailbox: str, selector: Selector) -> bool:
        return self._claims.searches.is_under_way(mailbox, selector)

    async def arrival(self, mailbox: str, timeout_s: float) -> None:
        before = self._arrivals.count(mailbox)
        due_s = await self._next_due_s(mailbox)
        if before == self._arrivals.count(mailbox):
            await self._arrivals.wait(mailbox, min(timeout_s, due_s))

    async def _next_due_s(self, mailbox: str) -> float:
        """Return the seconds until a leased or delayed delivery becomes available, if known."""
        now_us = self._clock.now_us()
        try:
            [row] = await self._connections.fetch(SQL["next_due"], mailbox, now_us)
        except Unavailable:  # waiting needs no database; the next claim reports that it is unavailable
            return LOOK_AGAIN_S
        return LOOK_AGAIN_S if row[0] is None else min(LOOK_AGAIN_S, max(0.001, (row[0] - now_us) / 1_000_000))

    # --- lookups -------------------------------------------------------------------------------------------------

    async def find(self, number: int) -> FoundDelivery | None:
        return (await self.find_all((number,))).get(number)

    async def find_all(self, numbers: Collection[int]) -> dict[int, FoundDelivery]:
        now, now_us = self._clock.monotonic(), self._clock.now_us()
        found: dict[int, FoundDelivery] = {}
        for row in await self._connections.fetch(SQL["waiting"], list(numbers)):
            number, available_at_us, retry_at_us = row[0], row[17], row[18]
            available_at = now + max(0, available_at_us - now_us) / 1_000_000
            retry_at = now + (retry_at_us - now_us) / 1_000_000 if retry_at_us > now_us else 0.0
            found[number] = FoundDelivery(read_queued_row(row, available_at, retry_at), DeliveryState.QUEUED)
            found[number].queued.leased = available_at_us > now_us and available_at_us != retry_at_us
        if len(ended := set(numbers).difference(found)):
            await self._wait_for_entry((await self._journal.head()).seq)
        for number in ended:
            for row in await self._index.query("delivery", number):
                found[number] = found_from_row(row, now=now, now_us=now_us)
        return found

    def checks(self, key: int) -> bool:
        return True  # the table has every key that was ever used

    def waiting(self, mailbox: str) -> int:
        return self._counts.of(mailbox)

    async def count_waiting(self) -> None:
        self._counts.begin()
        self._counts.replace(dict(await self._connections.fetch(SQL["count_waiting"])))

    async def find_first_use(self, key: int) -> tuple[int, str] | None:
        rows = await self._connections.fetch(SQL["seen"], key)
        return (rows[0][0], await self._session(rows[0][0])) if rows else None

    async def body(self, queued: Queued) -> bytes | None:
        return (await self.bodies([queued]))[0]

    async def bodies(self, queued: Sequence[Queued]) -> list[bytes | None]:
        places = [BodyAt(*one.content.body) for one in queued if one.data is None and one.content.body]
        found = iter(await self._journal.bodies(places))
        return [next(found) if one.data is None and one.content.body else one.data or b"" for one in queued]
