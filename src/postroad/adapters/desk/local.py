"""The local desk: keys, queue heads and leases in memory, durable through this node's own journal.

Kept rules: a step takes effect in memory only after its group is durable; a delivery that is being settled is out of the mailbox
from the moment the step is submitted, so it cannot be handed out again; a lease is memory only, and losing it at a crash
means no more than being handed out again. Everything can be rebuilt from the index once that has caught up with the journal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, NamedTuple

from postroad.adapters.desk.group_commit import Done, DoneAll, GroupCommit
from postroad.adapters.desk.hot_state import HotState, ended_by, gathered_by, is_plain_post
from postroad.adapters.desk.known_messages import KnownMessages
from postroad.adapters.desk.pages import PageSize
from postroad.adapters.index.gaps import require_no_gap
from postroad.core.delivery.mailbox import EVERY_NUMBER, HEAD_MOST, Mailbox, Taken, is_wanted
from postroad.core.delivery.waiting import found_from_row
from postroad.core.model.delivery import Found, Queued
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import DeliveriesEnded, DeliveriesLeased, decode, encode
from postroad.core.model.selector import Selector
from postroad.errors import Unavailable
from postroad.ports import (
    BodyAt,
    Clock,
    Committed,
    Conflict,
    EndJourney,
    IndexReader,
    Journal,
    NewRecord,
    Outcome,
    Step,
)

ATTEMPTS_MOST = 20
NOT_STORED_EITHER = "What this collided with at the same moment could not be stored; try again"


class Terms(NamedTuple):
    """What a claim asks for, until when it leases, and how often a delivery may be handed out."""

    selector: Selector
    until: float  # monotonic
    attempts_most: int
    up_to: int  # the highest number that is asked for


class LocalDesk:
    def __init__(
        self,
        journal: Journal,
        index: IndexReader,
        clock: Clock,
        *,
        indexed: Callable[[int], Awaitable[None]],
        attempts_most: int = ATTEMPTS_MOST,
        head_most: int = HEAD_MOST,
        on_committed: Callable[[int], None] = lambda seq: None,
    ) -> None:
        self._journal = journal
        self._index = index
        self._clock = clock
        self._indexed = indexed  # waits until the index has caught up with an entry
        self._attempts_most = attempts_most
        self._on_committed = on_committed
        self._hot = HotState(clock, head_most=head_most)
        self._group = GroupCommit(self._commit)
        self._refilling: dict[str, asyncio.Lock] = {}
        self._known = KnownMessages()
        self._pages = PageSize(head_most)
        self._end_journey: EndJourney | None = None

    async def open(self) -> None:
        """Take over from the index, which must have caught up with the journal before."""
        self._hot.applied_seq = (await self._index.position()).seq
        for recipient, _ in await self._index.query("mailboxes"):
            self._hot.mailbox(recipient).spilled_to = delivery_number(self._hot.applied_seq, 0)
        await self._hot.keys.load(self._index)
        self._group.start()

    async def close(self) -> None:
        await self._group.close()

    @property
    def applied_seq(self) -> int:
        """The last durable entry that has taken effect."""
        return self._hot.applied_seq

    def on_given_up(self, end_journey: EndJourney) -> None:
        self._end_journey = end_journey

    # --- writing -------------------------------------------------------------------------------------------------

    def submit(self, step: Step, done: Done) -> None:
        entry = step.entry
        held = () if is_plain_post(entry) else self._hot.hold(entry)
        if not held:
            self._group.submit(step, done)
            return

        def settled(outcome: Outcome) -> None:
            if not isinstance(outcome, Committed):
                self._hot.release(held)
            done(outcome)

        try:
            self._group.submit(step, settled)
        except Unavailable:  # nobody will be told of an outcome
            self._hot.release(held)
            raise

    def submit_many(self, steps: Sequence[Step], done: DoneAll) -> None:
        self._group.submit_many(steps, done)

    async def commit(self, step: Step) -> Outcome:
        """Submit a step and wait for its outcome."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.submit(step, lambda outcome: None if future.done() else future.set_result(outcome))
        return await future

    async def _commit(self, steps: Sequence[Step]) -> list[Outcome]:
        conflicts = self._conflicts(steps)
        if not conflicts:
            return await self._write(steps)
        written = iter(await self._write([step for place, step in enumerate(steps) if place not in conflicts]))
        return [
            await self._resolved(step, conflicts[place]) if place in conflicts else next(written)
            for place, step in enumerate(steps)
        ]

    def _conflicts(self, steps: Sequence[Step]) -> dict[int, Conflict]:
        """By place, what stands against a step: an earlier entry, durable already or in this very group."""
        conflicts: dict[int, Conflict] = {}
        used: set[int] = set()
        ended: set[int] = set()
        gathered: set[int] = set()
        for place, step in enumerate(steps):
            if not step.keys and is_plain_post(step.entry):
                continue
            conflict = self._conflict(step, used, ended, gathered)
            if conflict is None:
                used.update(step.keys)
                ended.update(ended_by(step.entry))
                gathered.update(gathered_by(step.entry))
            else:  # it is not written, and has no effect on those that follow
                conflicts[place] = conflict
        return conflicts

    def _conflict(self, step: Step, used: set[int], ended: set[int], gathered: set[int]) -> Conflict | None:
        for key in step.keys:
            if key in used or self._hot.keys.has(key):
                return Conflict(key, 0, "")
        if any(number in ended or self._hot.is_over(number) for number in step.waiting):
            return Conflict(0, 0, "")
        for number in gathered_by(step.entry):  # which its batcher was handed, and nobody has ended or gathered since
            if number in ended or number in gathered or not self._hot.is_open(number):
                return Conflict(0, 0, "")
        return None

    async def _resolved(self, step: Step, conflict: Conflict) -> Outcome:
        """A conflict is answered with the entry it collided with, which is durable by now."""
        if not conflict.key:
            return self._conflict(step, set(), set(), set()) or Unavailable("network.unavailable", NOT_STORED_EITHER)
        try:
            first = await self.seen(conflict.key)
        except Unavailable as unavailable:  # says nothing about the others of the group, which are stored
            return unavailable
        if first is None:
            return Unavailable("network.unavailable", NOT_STORED_EITHER)
        return Conflict(conflict.key, *first)

    async def _write(self, steps: Sequence[Step]) -> list[Outcome]:
        try:
            return await self._append(steps)
        except Unavailable as error:
            # When storage is nearly full posts are refused, while acknowledgements still go through.
            saved = iter(await self._append([step for step in steps if step.reserve], reserve=True))
            return [next(saved) if step.reserve else error for step in steps]

    async def _append(self, steps: Sequence[Step], *, reserve: bool = False) -> list[Outcome]:
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
            # Pollers first: answers to posters bring the next posts, which the loop would read before it came to them.
            await asyncio.sleep(0)
        return [Committed(number) for number in range(appended.first_seq, seq)]

    # --- handing out ---------------------------------------------------------------------------------------------

    async def claim(
        self, mailbox: str, selector: Selector, most: int, lease_s: float, tries: int = 0, up_to: int = EVERY_NUMBER
    ) -> list[Queued]:
        box = self._hot.mailbox(mailbox)
        terms = Terms(selector, self._clock.monotonic() + lease_s, max(self._attempts_most, tries), up_to)
        taken = await self._leased(mailbox, box, terms, most)
        # While we waited for something to be ended or read, one of these may have been settled with an older token: then
        # there is room for another, or whoever asked would think that nothing more was there.
        while len(leased := [queued for queued in taken if box.get(queued.number) is queued]) < len(taken):
            taken = leased + await self._leased(mailbox, box, terms, most - len(leased))
        if leased:
            self._record_lease(mailbox, leased, lease_s)
        return leased

    async def _leased(self, mailbox: str, box: Mailbox, terms: Terms, most: int) -> list[Queued]:
        """Lease up to ``most`` that wait, in memory or in the index."""
        leased = await self._take(box, terms, most)
        if box.spilled_to and len(leased) < most and not terms.selector.selects_all:
            leased += await self._take_from_index(mailbox, box, terms, most - len(leased))
        while box.spilled_to and box.loaded_to < terms.up_to and len(leased) < most and terms.selector.selects_all:
            await self._refill(mailbox, box)
            leased += await self._take(box, terms, most - len(leased))
        return leased

    async def arrival(self, mailbox: str, timeout_s: float) -> None:
        box = self._hot.mailbox(mailbox)
        if (due := box.next_due()) is not None:
            timeout_s = min(timeout_s, max(0.001, due - self._clock.monotonic()))
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        waiting = self._hot.arrivals(mailbox)
        waiting.add(future)
        timer = loop.call_later(timeout_s, _resolve, future)
        try:
            await future  # and nothing around it: each step between an arrival and its poller is a turn of a busy loop
        finally:
            timer.cancel()
            waiting.discard(future)

    async def _take(self, box: Mailbox, terms: Terms, most: int) -> list[Queued]:
        now, now_us = self._clock.monotonic(), self._clock.now_us()
        taken = box.take(terms.selector, most, now, now_us, terms.until, terms.attempts_most, terms.up_to)
        await self._end_taken(box, terms, taken)
        return taken.leased

    async def _end_taken(self, box: Mailbox, terms: Terms, taken: Taken) -> None:
        if taken.expired:
            await self._end(box, taken.expired, "expired", "not fetched before it expired")
        if taken.exhausted:
            tries = f"handed out {terms.attempts_most} times without being acknowledged"
            await self._end(box, taken.exhausted, "failed", tries)

    async def _end(self, box: Mailbox, ended: list[Queued], state: str, reason: str) -> None:
        left = {queued.number: queued for queued in ended}
        try:
            for queued in [one for one in ended if self._end_journey is not None and one.journey]:
                await self._end_journey(queued, state, reason)  # type: ignore[misc]
                del left[queued.number]
            if left:
                await self._end_plain(tuple(left), state, reason)
        except BaseException:  # also when whoever polls is stopped: it is looked at again by the next one
            for queued in left.values():
                if self._hot.is_open(queued.number):
                    box.reopen(queued)
            raise

    async def _end_plain(self, numbers: tuple[int, ...], state: str, reason: str) -> None:
        entry = DeliveriesEnded(self._clock.now_us(), "network", state, reason, numbers)
        outcome = await self._group.commit(Step(entry, reserve=True))
        if isinstance(outcome, Unavailable):
            raise outcome

    def _record_lease(self, mailbox: str, leased: list[Queued], lease_s: float) -> None:
        """Write the hand-out down with the next group. Nobody waits for it: a lease that a crash forgets is none."""
        entry = DeliveriesLeased(self._clock.now_us(), mailbox, lease_s, tuple(queued.number for queued in leased))
        self._group.submit(Step(entry, reserve=True), lambda outcome: None)

    # --- the part of a queue that lies in the index --------------------------------------------------------------

    async def _refill(self, mailbox: str, box: Mailbox) -> None:
        """Bring the next stretch of a long queue into memory; what the index has already is enough while it fills a page."""
        async with self._refilling.setdefault(mailbox, asyncio.Lock()):
            with self._hot.loading():
                most, reach = self._pages.rows, self._hot.index_must_know
                rows = await self._page(mailbox, box.loaded_to, most, reach)
                if len(rows) < most:
                    reach = self._hot.applied_seq
                    rows = await self._page(mailbox, box.loaded_to, most, reach)
                self._pages.seen(rows)
                now, now_us = self._clock.monotonic(), self._clock.now_us()
                for row in rows:
                    self._hot.load(box, self._found(row, now, now_us).queued)
                    box.loaded_to = max(box.loaded_to, row[0])
            if len(rows) < most and box.spilled_to >> 16 <= reach:
                box.spilled_to = 0

    async def _page(self, mailbox: str, after: int, most: int, reach: int) -> list[tuple[Any, ...]]:
        """What waits behind a number, by an index that knows at least the entries up to ``reach``."""
        await self._indexed(reach)
        # A database that has crashed may have lost what it had said it had, and what it lost would never be read.
        require_no_gap((await self._index.position()).seq, reach)
        return await self._index.query("mailbox", mailbox, after, most)

    async def _take_from_index(self, mailbox: str, box: Mailbox, terms: Terms, most: int) -> list[Queued]:
        """Matching deliveries behind the head in memory, without loading all that lies between."""
        taken = Taken([], [], [])
        after = box.loaded_to
        with self._hot.loading():
            await self._indexed(self._hot.applied_seq)
            while len(taken.leased) < most and (
                rows := await self._index.query("mailbox", mailbox, after, self._pages.rows)
            ):
                self._pages.seen(rows)
                after = rows[-1][0]
                self._sort_rows(rows, box, terms, most, taken)
        await self._end_taken(box, terms, taken)
        return taken.leased

    def _sort_rows(self, rows: list[Any], box: Mailbox, terms: Terms, most: int, taken: Taken) -> None:
        now, now_us = self._clock.monotonic(), self._clock.now_us()
        for row in rows:
            queued = self._found(row, now, now_us).queued
            if len(taken.leased) == most:
                return
            if queued.number <= terms.up_to and queued.available_at <= now and is_wanted(terms.selector, queued):
                self._hot.adopt(box, queued)
                box.take_one(queued.number, now_us, terms.until, terms.attempts_most, taken)

    # --- looking up ----------------------------------------------------------------------------------------------

    async def find(self, number: int) -> Found | None:
        if (found := self._hot.find(number)) is not None:
            return found
        await self._indexed(self._hot.applied_seq)
        rows = await self._index.query("delivery", number)
        return self._found(rows[0], self._clock.monotonic(), self._clock.now_us()) if rows else None

    async def find_all(self, numbers: Collection[int]) -> dict[int, Found]:
        found = {number: self._hot.find(number) or await self.find(number) for number in numbers}
        return {number: one for number, one in found.items() if one is not None}

    def _found(self, row: tuple[Any, ...], now: float, now_us: int) -> Found:
        return found_from_row(row, now=now, now_us=now_us, message_of=self._known.message)

    async def seen(self, key: int) -> tuple[int, str] | None:
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


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
