"""The local desk's queues: hand out deliveries from memory and the index, and end expired or exhausted ones.

Rules: a claim returns after its hand-out is durable; if that cannot be written, its deliveries return to the mailbox
with their previous attempt number. Only the head of a long queue is in memory; the rest is read from the index, page
by page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any, NamedTuple

from postroad.adapters.desk.group_commit import GroupCommit
from postroad.adapters.desk.hot_state import HotState
from postroad.adapters.desk.queue_pages import KnownMessages, PageSize
from postroad.adapters.desk.searches import PAGE_ROWS, SEARCH_S, Searches
from postroad.adapters.index.gap_check import require_no_gap
from postroad.core.delivery.mailbox import EVERY_NUMBER, UNRECORDED, ClaimedDeliveries, Mailbox, is_wanted
from postroad.core.delivery.reasons import make_reason, reason_text, stored_reason
from postroad.core.model.delivery import DeliveryState, FoundDelivery, Queued
from postroad.core.model.ids import delivery_origin
from postroad.core.model.journal import DeliveriesEnded, DeliveriesLeased
from postroad.core.model.reason import Reason
from postroad.core.model.selector import Selector
from postroad.core.projection.delivery_rows import COLUMN, found_from_row
from postroad.core.projection.queries import DELIVERY, QUERIES
from postroad.errors import Unavailable
from postroad.ports import Clock, Committed, EndJourney, IndexReader, JournalStep, StepOutcome

SEARCH_AGAIN_S = 60.0  # seconds; deliveries that a search found stay in memory
TRANSACTION = QUERIES["message"][1].index("transaction_id")
RECIPIENT = DELIVERY.index("recipient")
ENDED_AT_ONCE = 500  # expired or exhausted journeys that are ended together


class LeaseTerms(NamedTuple):
    """Which deliveries a claim requests, and how often one may be handed out."""

    selector: Selector
    attempts_most: int
    up_to: int  # the highest requested number
    early: bool = False  # include deliveries that wait for a push retry
    searched_to: int = 0  # up to this number, all matching deliveries are in memory

    def take(self, box: Mailbox, most: int, now: float, now_us: int) -> ClaimedDeliveries:
        """Lease up to ``most`` deliveries of the mailbox, until their hand-out is recorded."""
        return box.take(
            self.selector,
            most,
            now,
            now_us,
            UNRECORDED,
            self.attempts_most,
            up_to=self.up_to,
            early=self.early,
            searched_to=self.searched_to,
        )

    def take_one(self, box: Mailbox, number: int, now_us: int, taken: ClaimedDeliveries) -> None:
        """Lease this delivery, if it is available."""
        box.take_one(number, now_us, UNRECORDED, self.attempts_most, taken, self.early)


class LocalQueues:
    def __init__(
        self,
        hot: HotState,
        group: GroupCommit,
        index: IndexReader,
        clock: Clock,
        *,
        wait_for_entry: Callable[[int], Awaitable[None]],
        attempts_most: int,
        head_most: int,
    ) -> None:
        self._hot = hot
        self._group = group
        self._index = index
        self._clock = clock
        self._wait_for_entry = wait_for_entry  # waits until the index has caught up with an entry
        self._attempts_most = attempts_most
        self._refilling: dict[str, asyncio.Lock] = {}
        self._known = KnownMessages()
        self._pages = PageSize(head_most)
        self._searches = Searches(SEARCH_AGAIN_S)
        self._end_journey: EndJourney | None = None

    def on_given_up(self, end_journey: EndJourney) -> None:
        self._end_journey = end_journey

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
        box = self._hot.mailbox(mailbox)
        searched_to = 0 if selector.selects_all else self._searches.begin(mailbox, selector, self._clock.monotonic())
        terms = LeaseTerms(selector, max(self._attempts_most, tries), up_to, early, searched_to)
        handed_out: list[Queued] = []
        while len(handed_out) < most:
            wanted = most - len(handed_out)
            try:
                leased = await self._leased(mailbox, box, terms, wanted)
                taken = len(handed_out) + len(leased)
                handed_out += await self._recorded(mailbox, box, leased, lease_s) if leased else []
            except Unavailable:
                if handed_out:  # these are recorded
                    return handed_out
                raise
            # Replace each delivery that was settled while the hand-out was written.
            handed_out = [queued for queued in handed_out if box.get(queued.number) is queued]
            if len(handed_out) == taken:
                break
        return handed_out

    async def _leased(self, mailbox: str, box: Mailbox, terms: LeaseTerms, most: int) -> list[Queued]:
        """Lease up to ``most`` waiting deliveries, in memory or in the index, until their hand-out is recorded."""
        leased: list[Queued] = []
        try:
            await self._lease(mailbox, box, terms, most, leased)
            # While this claim waited for the index or for journeys to end, a delivery may have been settled with an older
            # token. It is replaced, or the caller would conclude that the mailbox is empty.
            while len(still := [queued for queued in leased if box.get(queued.number) is queued]) < len(leased):
                leased[:] = still
                await self._lease(mailbox, box, terms, most, leased)
        except BaseException:  # also when the caller is cancelled
            self._take_back(mailbox, box, leased)
            raise
        return leased

    async def _lease(self, mailbox: str, box: Mailbox, terms: LeaseTerms, most: int, leased: list[Queued]) -> None:
        await self._take(box, terms, most, leased)
        if box.spilled_to and len(leased) < most and not terms.selector.selects_all:
            await self._take_from_index(mailbox, box, terms, most, leased)
        while box.spilled_to and box.loaded_to < terms.up_to and len(leased) < most and terms.selector.selects_all:
            await self._refill(mailbox, box)
            await self._take(box, terms, most, leased)

    async def _recorded(self, mailbox: str, box: Mailbox, leased: list[Queued], lease_s: float) -> list[Queued]:
        """Make the hand-out durable; returns the deliveries that were not settled or returned in the meantime."""
        future: asyncio.Future[StepOutcome] = asyncio.get_running_loop().create_future()

        def done(outcome: StepOutcome) -> None:  # runs even if the caller was cancelled
            if isinstance(outcome, Unavailable):
                self._take_back(mailbox, box, leased)
            else:
                until = self._clock.monotonic() + lease_s
                leased[:] = [queued for queued in leased if box.begin_lease(queued, until)]
            if not future.done():
                future.set_result(outcome)

        entry = DeliveriesLeased(
            at_us=self._clock.now_us(),
            by=mailbox,
            lease_s=lease_s,
            deliveries=tuple([queued.number for queued in leased]),
        )
        self._group.submit(JournalStep(entry, reserve=True), done)
        outcome = await future
        if isinstance(outcome, Unavailable):
            raise outcome
        return leased

    def _take_back(self, mailbox: str, box: Mailbox, leased: list[Queued]) -> None:
        """Return deliveries that were not handed out to their old positions."""
        for queued in leased:
            box.undo_hand_out(queued)
        if leased:
            self._hot.wake(mailbox)

    async def count_leased(self) -> dict[str, int]:
        return self._hot.count_leased()

    async def hasten(self, mailbox: str) -> int:
        return self._hot.hasten(mailbox)

    def wake_all(self) -> None:
        """Wake every waiting poll, after a test has advanced the clock."""
        self._hot.wake_all()

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
            await future  # directly: each await between an arrival and its poller costs a turn of a busy loop
        finally:
            timer.cancel()
            waiting.discard(future)

    async def _take(self, box: Mailbox, terms: LeaseTerms, most: int, leased: list[Queued]) -> None:
        now, now_us = self._clock.monotonic(), self._clock.now_us()
        taken = terms.take(box, most - len(leased), now, now_us)
        leased += taken.leased
        await self._end_taken(box, terms, taken)

    async def _end_taken(self, box: Mailbox, terms: LeaseTerms, taken: ClaimedDeliveries) -> None:
        if taken.expired:
            await self._end(box, taken.expired, "expired", make_reason("delivery.expired"))
        if taken.exhausted:
            tries = make_reason("delivery.not-acknowledged", count=terms.attempts_most)
            await self._end(box, taken.exhausted, "failed", tries)

    async def _end(self, box: Mailbox, ended: list[Queued], state: str, reason: Reason) -> None:
        left = {queued.number: queued for queued in ended}
        try:
            journeys = [one for one in ended if one.journey] if self._end_journey is not None else []
            for start in range(0, len(journeys), ENDED_AT_ONCE):
                await self._end_journeys(journeys[start : start + ENDED_AT_ONCE], state, reason, left)
            if left:
                await self._end_plain(tuple(left), state, reason)
        except BaseException:  # also when the caller is cancelled: the next claim checks again
            for queued in left.values():
                if self._hot.is_open(queued.number):
                    box.reopen(queued)
            raise

    async def _end_journeys(self, journeys: list[Queued], state: str, reason: Reason, left: dict[int, Queued]) -> None:
        """End journeys concurrently, so that they share groups; removes ended ones from ``left``."""

        async def end(queued: Queued) -> None:
            await self._end_journey(queued, state, reason)  # type: ignore[misc]
            del left[queued.number]

        outcomes = await asyncio.gather(*map(end, journeys), return_exceptions=True)
        for error in outcomes:
            if error is not None:
                raise error

    async def _end_plain(self, numbers: tuple[int, ...], state: str, reason: Reason) -> None:
        """End deliveries, except those that another step has ended in the meantime."""
        while numbers := tuple([number for number in numbers if not self._hot.is_over(number)]):
            text, why = reason_text(reason), stored_reason(reason)
            entry = DeliveriesEnded(
                at_us=self._clock.now_us(), by="network", state=state, reason=text, deliveries=numbers, why=why
            )
            outcome = await self._group.commit(JournalStep(entry, reserve=True, waiting=numbers))
            if isinstance(outcome, Unavailable):
                raise outcome
            if isinstance(outcome, Committed):
                return

    # --- the part of a queue that is in the index ----------------------------------------------------------------

    async def _refill(self, mailbox: str, box: Mailbox) -> None:
        """Load the next part of a long queue; the index need not have caught up if it fills a page."""
        async with self._refilling.setdefault(mailbox, asyncio.Lock()):
            with self._hot.loading():
                most, reach = self._pages.rows, self._hot.index_must_know
                rows = await self._page(mailbox, box.loaded_to, most, reach)
                if len(rows) < most:
                    reach = self._hot.applied_seq
                    rows = await self._page(mailbox, box.loaded_to, most, reach)
                self._pages.adapt(rows)
                now, now_us = self._clock.monotonic(), self._clock.now_us()
                for row in rows:
                    self._hot.load(box, self._found(row, now, now_us).queued)
                    box.loaded_to = max(box.loaded_to, row[0])
            if len(rows) < most and delivery_origin(box.spilled_to)[0] <= reach:
                box.spilled_to = 0

    async def _page(self, mailbox: str, after: int, most: int, reach: int) -> list[tuple[Any, ...]]:
        """Return deliveries waiting after a number, from an index that has at least the entries up to ``reach``."""
        await self._wait_for_entry(reach)
        # A crashed database may have lost rows that it had confirmed; these would never be read.
        require_no_gap((await self._index.position()).seq, reach)
        return await self._index.query("mailbox", mailbox, after, most)

    async def _take_from_index(
        self, mailbox: str, box: Mailbox, terms: LeaseTerms, most: int, leased: list[Queued]
    ) -> None:
        """Lease matching deliveries behind the head in memory, without loading all deliveries between."""
        taken = ClaimedDeliveries(leased, [], [])
        with self._hot.loading():
            await self._wait_for_entry(self._hot.applied_seq)
            if terms.selector.session or terms.selector.transaction:
                self._sort_rows(await self._rows_named(mailbox, box, terms.selector), box, terms, most, taken)
            else:
                await self._search(mailbox, box, terms, most, taken)
        await self._end_taken(box, terms, taken)

    async def _rows_named(self, mailbox: str, box: Mailbox, selector: Selector) -> list[tuple[Any, ...]]:
        """Return the waiting deliveries of one transaction that are not in memory."""
        transaction = selector.transaction
        if not transaction:
            messages = await self._index.query("message", selector.session)
            transaction = messages[0][TRANSACTION] if messages else ""
        rows = await self._index.query("transaction_deliveries", transaction)
        numbers = [row[0] for row in rows if row[RECIPIENT] == mailbox and row[0] > box.loaded_to]
        found = [row for number in numbers for row in await self._index.query("delivery", number)]
        return [row for row in found if row[COLUMN["state"]] == DeliveryState.QUEUED]

    async def _search(self, mailbox: str, box: Mailbox, terms: LeaseTerms, most: int, taken: ClaimedDeliveries) -> None:
        """Search the queue for a limited time, from where the last claim with this selector stopped."""
        began = self._clock.monotonic()
        after, through = max(box.loaded_to, self._searches.begin(mailbox, terms.selector, began)), False
        while len(taken.leased) < most and not through:
            rows = await self._index.query("mailbox", mailbox, after, min(self._pages.rows, PAGE_ROWS))
            self._pages.adapt(rows)
            within = [row for row in rows if row[0] <= terms.up_to]
            through = not rows or len(within) < len(rows)
            after = self._sort_rows(within, box, terms, most, taken) or after
            if self._clock.monotonic() >= began + SEARCH_S:
                break
        self._searches.stop(mailbox, terms.selector, after, self._clock.monotonic(), through=through)

    def is_searching(self, mailbox: str, selector: Selector) -> bool:
        return self._searches.is_under_way(mailbox, selector)

    def _sort_rows(self, rows: list[Any], box: Mailbox, terms: LeaseTerms, most: int, taken: ClaimedDeliveries) -> int:
        """Lease the matching deliveries; returns the last number that was checked."""
        now, now_us = self._clock.monotonic(), self._clock.now_us()
        number = 0
        for row in rows:
            if len(taken.leased) == most:
                break
            queued = self._found(row, now, now_us).queued
            number = queued.number
            if number > terms.up_to or not is_wanted(terms.selector, queued):
                continue
            self._hot.adopt(box, queued)
            if queued.available_at <= now:
                terms.take_one(box, number, now_us, taken)
            elif box.get(number) is queued:  # it is offered from memory when it is due
                box.give_back(number, queued.available_at)
        return number

    # --- lookups -------------------------------------------------------------------------------------------------

    async def find(self, number: int) -> FoundDelivery | None:
        if (found := self._hot.find(number)) is not None:
            return found
        await self._wait_for_entry(self._hot.applied_seq)
        rows = await self._index.query("delivery", number)
        return self._found(rows[0], self._clock.monotonic(), self._clock.now_us()) if rows else None

    async def find_all(self, numbers: Collection[int]) -> dict[int, FoundDelivery]:
        found = {number: self._hot.find(number) or await self.find(number) for number in numbers}
        return {number: one for number, one in found.items() if one is not None}

    def _found(self, row: tuple[Any, ...], now: float, now_us: int) -> FoundDelivery:
        found = found_from_row(row, now=now, now_us=now_us, message_of=self._known.message)
        if found.queued.retry_at and self._hot.is_hastened(found.queued.recipient, row[COLUMN["leased_at_us"]]):
            found.queued.retry_at = 0.0
        return found


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
