"""A service's mailbox: the order of deliveries, leases, and redelivery after a lease ends.

Rule: deliveries leave in the order of their numbers, which is the order in which they were accepted. A delivery that
was returned or whose lease ended is offered again at its old position. Time is an argument, so the same code serves
the clock and the simulator. Only the head of a long queue is in memory; ``spilled_to`` shows that the index has more.
A delivery that waits for a push retry is not leased: it is pushed when the pause is over, and an early claim leases it
at once. A lease does not change the time of the next push.
"""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import NamedTuple

from postroad.core.model.contexts import is_requester_hidden
from postroad.core.model.delivery import Queued
from postroad.core.model.selector import Selector

MAX_HEAD = 20_000  # deliveries of one mailbox kept in memory
EVERY_NUMBER = (1 << 63) - 1  # higher than any
UNRECORDED = math.inf  # end of a lease until its hand-out is durable; then ``begin_lease`` sets the time
IN_A_BATCH_US = 1 << 62  # when a delivery in a batch is available again: never by itself


class ClaimedDeliveries(NamedTuple):
    """The result of a claim: leased deliveries, expired ones, and those without attempts left."""

    leased: list[Queued]
    expired: list[Queued]
    exhausted: list[Queued]


class Mailbox:
    __slots__ = ("_again", "_due", "_open", "_put_off", "_waiting", "head_most", "loaded_to", "queued",
                 "spilled_to")  # fmt: skip

    def __init__(self, head_most: int = MAX_HEAD) -> None:
        self.head_most = head_most
        self.loaded_to = 0  # highest number that has ever been in memory
        self.queued = (
            0  # deliveries that wait, in memory or only in the index; too high after an end that was not seen here
        )
        self.spilled_to = 0  # highest number that is only in the index; 0 = the whole queue is in memory
        self._open: dict[int, Queued] = {}
        self._waiting: OrderedDict[int, None] = OrderedDict()
        self._again: list[int] = []  # a heap of numbers to redeliver; some may have been removed since
        self._due: list[tuple[float, int]] = []  # when leased or delayed deliveries become available
        self._put_off: set[int] = set()  # not leased, and not pushed before their ``retry_at``

    def __len__(self) -> int:
        return len(self._open)

    def get(self, number: int) -> Queued | None:
        return self._open.get(number)

    def count_leased(self, now: float) -> int:
        """Return how many deliveries in memory are leased or were given back with a delay."""
        self._lapse(now)
        aside = {number for number in self._again if (one := self._open.get(number)) is not None and not one.leased}
        return max(0, len(self._open) - len(self._waiting) - len(aside | self._put_off))

    def offer(self, queued: Queued) -> bool:
        """Add a new delivery at the end; False when it is left to the index because the head is full."""
        if self.spilled_to or len(self._waiting) >= self.head_most:
            self.spilled_to = max(self.spilled_to, queued.number)
            return False
        number = queued.number
        self._open[number] = queued
        self._waiting[number] = None
        if number > self.loaded_to:
            self.loaded_to = number
        return True

    def load(self, queued: Queued) -> None:
        """Add a delivery from the index."""
        self._open[queued.number] = queued
        if queued.retry_at:  # was waiting for its next push at the last restart
            self._wait_for_push(queued)
        elif queued.available_at:  # was returned with a delay before the last restart
            queued.leased = True
            heapq.heappush(self._due, (queued.available_at, queued.number))
        else:
            self._waiting[queued.number] = None
        self.loaded_to = max(self.loaded_to, queued.number)

    def adopt(self, queued: Queued) -> None:
        """Add a delivery from behind the head, because a selector matches it."""
        self._open[queued.number] = queued
        self._wait_for_push(queued)

    def take(
        self,
        selector: Selector,
        most: int,
        now: float,
        now_us: int,
        until: float,
        attempts_most: int,
        up_to: int = EVERY_NUMBER,
        early: bool = False,
        searched_to: int = 0,
    ) -> ClaimedDeliveries:
        """Lease up to ``most`` matching deliveries until ``until``; expired and exhausted ones are removed permanently.

        ``until`` may be ``UNRECORDED``. Only numbers up to ``up_to`` are leased. ``early`` includes deliveries that
        wait for a push retry. All matching deliveries up to ``searched_to`` are in memory, even if the head of the
        queue ends before.
        """
        self._lapse(now)
        taken = ClaimedDeliveries([], [], [])
        for number in self._candidates(selector, up_to, early, searched_to):
            self._sort(self._open[number], now_us, until, attempts_most, taken)
            if len(taken.leased) == most:
                break
        return taken

    def take_one(
        self, number: int, now_us: int, until: float, attempts_most: int, taken: ClaimedDeliveries, early: bool = False
    ) -> None:
        """Lease this delivery if it is available; used for deliveries beyond the head of the queue."""
        if self._is_available(number, early):
            self._sort(self._open[number], now_us, until, attempts_most, taken)

    def _sort(self, queued: Queued, now_us: int, until: float, attempts_most: int, taken: ClaimedDeliveries) -> None:
        if queued.expires_at_us and queued.expires_at_us <= now_us:
            self.close(queued.number)
            taken.expired.append(queued)
        elif queued.attempt >= attempts_most:
            self.close(queued.number)
            taken.exhausted.append(queued)
        else:
            self._hand_out(queued, until)
            taken.leased.append(queued)

    def begin_lease(self, queued: Queued, until: float) -> bool:
        """Lease a delivery whose hand-out is durable; False if it was settled or returned in the meantime."""
        if queued.available_at != UNRECORDED:
            return False
        queued.available_at = until
        heapq.heappush(self._due, (until, queued.number))
        return self._open.get(queued.number) is queued

    def undo_hand_out(self, queued: Queued) -> None:
        """Return a delivery whose hand-out was not recorded to its old position, with its previous attempt number."""
        queued.attempt -= 1
        if queued.available_at == UNRECORDED:  # else it was returned in the meantime
            queued.leased = False
            queued.available_at = 0.0
            if self._open.get(queued.number) is queued:
                self._wait_for_push(queued)

    def give_back(self, number: int, available_at: float) -> None:
        """Return a leased delivery to the queue; it is available again at ``available_at``."""
        queued = self._open.get(number)
        if queued is not None:
            self._waiting.pop(number, None)
            queued.leased = True
            queued.available_at = available_at
            heapq.heappush(self._due, (available_at, number))

    def put_off(self, number: int, retry_at: float) -> None:
        """End the lease of a delivery after a failed push; it is not pushed again before ``retry_at``."""
        queued = self._open.get(number)
        if queued is not None:
            self._waiting.pop(number, None)
            queued.leased = False
            queued.available_at = 0.0
            queued.retry_at = retry_at
            self._wait_for_push(queued)

    def hasten(self) -> int:
        """Make all deliveries that wait for a push retry available; returns their number."""
        hastened = len(self._put_off)
        for number in self._put_off:
            self._open[number].retry_at = 0.0
            heapq.heappush(self._again, number)
        self._put_off.clear()
        return hastened

    def close(self, number: int) -> Queued | None:
        """Remove a delivery that is settled or about to be."""
        queued = self._open.pop(number, None)
        if queued is not None:
            self._waiting.pop(number, None)
            self._put_off.discard(number)
        return queued

    def reopen(self, queued: Queued) -> None:
        """Undo ``close`` after settling failed; an existing lease remains until it ends."""
        self._open[queued.number] = queued
        if queued.leased and queued.available_at != UNRECORDED:
            heapq.heappush(self._due, (queued.available_at, queued.number))
        elif not queued.leased:
            self._wait_for_push(queued)

    def next_due(self) -> float | None:
        """Return when the next leased or delayed delivery becomes available."""
        return self._due[0][0] if self._due else None

    def _hand_out(self, queued: Queued, until: float) -> None:
        self._waiting.pop(queued.number, None)
        self._put_off.discard(queued.number)
        queued.attempt += 1
        queued.leased = True
        queued.available_at = until
        if until != UNRECORDED:
            heapq.heappush(self._due, (until, queued.number))

    def _lapse(self, now: float) -> None:
        while self._due and self._due[0][0] <= now:
            number = heapq.heappop(self._due)[1]
            queued = self._open.get(number)
            if queued is None:
                continue
            if queued.retry_at <= now:
                queued.retry_at = 0.0
            if queued.leased and queued.available_at <= now:
                queued.leased = False
                self._wait_for_push(queued)
            elif number in self._put_off and not queued.retry_at:
                self._put_off.discard(number)
                heapq.heappush(self._again, number)

    def _wait_for_push(self, queued: Queued) -> None:
        """Make an unleased delivery wait for its next push, or make it available if it does not wait for one."""
        if queued.retry_at:
            self._put_off.add(queued.number)
            heapq.heappush(self._due, (queued.retry_at, queued.number))
        else:
            heapq.heappush(self._again, queued.number)

    def _candidates(self, selector: Selector, up_to: int, early: bool, searched_to: int) -> Iterator[int]:
        """Yield the numbers that may be leased now, in order, up to the last one loaded from the index."""
        reach = min(max(self.loaded_to, searched_to), up_to) if self.spilled_to else up_to
        early = early and bool(self._put_off)
        if not selector.selects_all:
            both = heapq.merge(self._set_aside(early), self._waiting)
            available = [number for number in both if number <= reach and self._is_available(number, early)]
            yield from [number for number in available if is_wanted(selector, self._open[number])]
            return
        if early:
            yield from self._all_in_order(reach)
            return
        while self._waiting or (self._again and self._again[0] <= reach):
            if up_to < EVERY_NUMBER and self._first() > up_to:
                return
            if self._again and (not self._waiting or self._again[0] < next(iter(self._waiting))):
                number = heapq.heappop(self._again)
                if self._is_available(number, early=False):
                    yield number
            else:
                yield self._waiting.popitem(last=False)[0]

    def _all_in_order(self, reach: int) -> Iterator[int]:
        """Yield all unleased deliveries in order, including those that wait for a push retry."""
        aside = deque(self._set_aside(early=True))
        while True:
            first = next(iter(self._waiting), EVERY_NUMBER)
            number = aside.popleft() if aside and aside[0] < first else first
            if number > reach or number == EVERY_NUMBER:
                return
            if number == first:
                del self._waiting[number]
            if self._is_available(number, early=True):
                yield number

    def _set_aside(self, early: bool) -> list[int]:
        """Return the numbers that are offered again, in order; ``early`` includes those that wait for a push retry."""
        return sorted({*self._again, *self._put_off} if early else set(self._again))

    def _first(self) -> int:
        """Return the next number; it may have been removed since."""
        return min(next(iter(self._waiting), EVERY_NUMBER), self._again[0] if self._again else EVERY_NUMBER)

    def _is_available(self, number: int, early: bool) -> bool:
        queued = self._open.get(number)
        return queued is not None and not queued.leased and (early or number not in self._put_off)


def is_wanted(selector: Selector, queued: Queued) -> bool:
    """Whether the selector matches the delivery."""
    message = queued.message
    is_hidden = bool(selector.transaction) and is_requester_hidden(message, queued.hop, queued.hops, queued.logical)
    return selector.matches(message, queued.shown_sender, is_asker_hidden=is_hidden)
