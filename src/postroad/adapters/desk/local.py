"""The local desk: keys, queue heads and leases in memory, durable through this node's own journal.

Rules: a step takes effect in memory only after its group is durable. A delivery that is being settled is removed from the
mailbox from the moment the step is submitted, so it cannot be handed out again. A claim returns after its hand-out is
durable; if the hand-out cannot be written, its deliveries return to the mailbox with their previous attempt number.
Lease ends are only in memory: after a crash the delivery is handed out earlier, as the next attempt. Everything can
be rebuilt from the index once the index has caught up with the journal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from postroad.adapters.desk.entry_effects import is_plain_post, list_batched_deliveries, list_ended_deliveries
from postroad.adapters.desk.group_commit import Done, DoneAll, GroupCommit
from postroad.adapters.desk.hot_state import HotState
from postroad.adapters.desk.local_queues import LocalQueues
from postroad.core.delivery.mailbox import MAX_HEAD
from postroad.core.metrics.registry import Metrics
from postroad.core.model.delivery import Queued
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import decode, encode
from postroad.core.projection.unique_keys import FLAGGED_FROM
from postroad.errors import Unavailable
from postroad.flow.concurrency.commit import future_of
from postroad.ports import BodyAt, Clock, Committed, Conflict, IndexReader, Journal, JournalStep, NewRecord, StepOutcome

MAX_ATTEMPTS = 20
NOT_STORED_EITHER = "A concurrent conflicting request could not be stored; try again"


class LocalDesk(LocalQueues):
    """Implements ``postroad.ports.Desk`` over a journal of this node; ``open`` it before use."""

    def __init__(
        self,
        journal: Journal,
        index: IndexReader,
        clock: Clock,
        *,
        wait_for_entry: Callable[[int], Awaitable[None]],
        attempts_most: int = MAX_ATTEMPTS,
        head_most: int = MAX_HEAD,
        on_committed: Callable[[int], None] = lambda seq: None,
        metrics: Metrics | None = None,
    ) -> None:
        hot, group = HotState(clock, head_most=head_most), GroupCommit(self._commit, metrics=metrics)
        super().__init__(
            hot, group, index, clock, wait_for_entry=wait_for_entry, attempts_most=attempts_most, head_most=head_most
        )
        self._journal = journal
        self._on_committed = on_committed

    async def open(self) -> None:
        """Load the state from the index, which must have caught up with the journal."""
        self._hot.applied_seq = (await self._index.position()).seq
        counts = dict(await self._index.query("mailboxes"))
        for recipient in counts:
            self._hot.mailbox(recipient).spilled_to = delivery_number(self._hot.applied_seq, 0)
        self._hot.set_waiting(counts)
        await self._hot.keys.load(self._index)
        await self._hot.flagged.load_from(self._index, FLAGGED_FROM)
        self._group.start()

    async def close(self) -> None:
        await self._group.close()

    @property
    def applied_seq(self) -> int:
        """Return the number of the last entry that was applied."""
        return self._hot.applied_seq

    # --- writing -------------------------------------------------------------------------------------------------

    @property
    def waiting_bytes(self) -> int:
        return self._group.waiting_bytes

    @property
    def waiting_bytes_most(self) -> int:
        return self._group.waiting_bytes_most

    def submit(self, step: JournalStep, done: Done) -> None:
        entry = step.entry
        held = () if is_plain_post(entry) else self._hot.hold(entry)
        if not held:
            self._group.submit(step, done)
            return

        def settled(outcome: StepOutcome) -> None:
            if not isinstance(outcome, Committed):
                self._hot.release(held)
            done(outcome)

        try:
            self._group.submit(step, settled)
        except Unavailable:  # the step was not submitted, so no outcome follows
            self._hot.release(held)
            raise

    def submit_many(self, steps: Sequence[JournalStep], done: DoneAll) -> None:
        self._group.submit_many(steps, done)

    async def commit(self, step: JournalStep) -> StepOutcome:
        """Submit a step and wait for its outcome."""
        return await future_of(partial(self.submit, step))

    async def _commit(self, steps: Sequence[JournalStep]) -> list[StepOutcome]:
        conflicts = self._conflicts(steps)
        if not conflicts:
            return await self._write(steps)
        written = iter(await self._write([step for place, step in enumerate(steps) if place not in conflicts]))
        return [
            await self._resolved(step, conflicts[place]) if place in conflicts else next(written)
            for place, step in enumerate(steps)
        ]

    def _conflicts(self, steps: Sequence[JournalStep]) -> dict[int, Conflict]:
        """Return conflicts with earlier entries, durable or in the same group, by step position."""
        conflicts: dict[int, Conflict] = {}
        used: set[int] = set()
        ended: set[int] = set()
        gathered: set[int] = set()
        for place, step in enumerate(steps):
            if not step.keys and not step.absent and is_plain_post(step.entry):
                continue
            conflict = self._conflict(step, used, ended, gathered)
            if conflict is None:
                used.update(step.keys)
                ended.update(list_ended_deliveries(step.entry))
                gathered.update(list_batched_deliveries(step.entry))
            else:  # it is not written, and does not affect later steps
                conflicts[place] = conflict
        return conflicts

    def _conflict(self, step: JournalStep, used: set[int], ended: set[int], gathered: set[int]) -> Conflict | None:
        for key in (*step.keys, *step.absent):
            if key in used or self._hot.has_key(key):
                return Conflict(key, 0, "")
        if any(number in ended or self._hot.is_over(number) for number in step.waiting):
            return Conflict(0, 0, "")
        for number in list_batched_deliveries(
            step.entry
        ):  # leased by the batcher, and neither ended nor gathered since
            if number in ended or number in gathered or not self._hot.is_open(number):
                return Conflict(0, 0, "")
        return None

    async def _resolved(self, step: JournalStep, conflict: Conflict) -> StepOutcome:
        """Return the conflict with the session of the entry that it collided with, which is durable by now."""
        if not conflict.key:
            return self._conflict(step, set(), set(), set()) or Unavailable("network.unavailable", NOT_STORED_EITHER)
        try:
            first = await self.find_first_use(conflict.key)
        except Unavailable as unavailable:  # concerns only this step; the others of the group are stored
            return unavailable
        if first is None:
            return Unavailable("network.unavailable", NOT_STORED_EITHER)
        return Conflict(conflict.key, *first)

    async def _write(self, steps: Sequence[JournalStep]) -> list[StepOutcome]:
        try:
            return await self._append(steps)
        except Unavailable as error:
            # When storage is nearly full posts are refused, while acknowledgments still go through.
            saved = iter(await self._append([step for step in steps if step.reserve], reserve=True))
            return [next(saved) if step.reserve else error for step in steps]

    async def _append(self, steps: Sequence[JournalStep], *, reserve: bool = False) -> list[StepOutcome]:
        if not steps:
            return []
        records = [NewRecord(encode(step.entry), step.body) for step in steps]
        appended = await self._journal.append(records, reserve=reserve)
        apply, seq = self._hot.apply, appended.first_seq
        for step, body in zip(steps, appended.bodies, strict=True):
            apply(step.entry, seq, body, step.body)
            seq += 1
        self._on_committed(appended.head.seq)
        if self._hot.take_woken():
            # Pollers first: answers to posters cause new posts, which the event loop would read before it reaches pollers.
            await asyncio.sleep(0)
        return [Committed(number) for number in range(appended.first_seq, seq)]

    # --- looking up ----------------------------------------------------------------------------------------------

    def waiting(self, mailbox: str) -> int:
        return self._hot.waiting(mailbox)

    async def count_waiting(self) -> None:
        if self._hot.unseen_ends:
            await self._wait_for_entry(self._hot.applied_seq)
            self._hot.set_waiting(dict(await self._index.query("mailboxes")))

    def checks(self, key: int) -> bool:
        return self._hot.decides(key)

    async def find_first_use(self, key: int) -> tuple[int, str] | None:
        seq = await self._hot.keys.find(key, self._index)
        if seq is None:
            return None
        batch = await self._journal.read(seq - 1, 1)
        return seq, getattr(decode(batch.records[0].facts), "session", "")

    async def bodies(self, queued: Sequence[Queued]) -> list[bytes | None]:
        return [one.data if one.data is not None else await self.body(one) for one in queued]

    async def body(self, queued: Queued) -> bytes | None:
        if queued.data is not None:
            return queued.data
        return await self._journal.body(BodyAt(*queued.content.body)) if queued.content.body else b""
