"""A service's mailbox: which delivery is handed out next, and when one that was not acknowledged comes again.

Kept rule: deliveries leave in the order of their numbers, which is the order in which they were accepted; one that was given back
or whose lease lapsed comes again at its old place. Time is an argument, so the same code serves the clock and the simulator.
Only the head of a long queue is kept here; ``spilled_to`` tells that more lies in the index.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from postroad.core.model.delivery import Queued
from postroad.core.model.selector import Selector
from postroad.core.routing.contexts import is_asker_hidden

HEAD_MOST = 20_000  # deliveries of one mailbox kept in memory
EVERY_NUMBER = (1 << 63) - 1  # higher than any
IN_A_BATCH_US = 1 << 62  # when what has joined a batch is available again: never, by itself


class Taken(NamedTuple):
    """What a claim found: deliveries to hand out, and those whose time is over or whose tries are used up."""

    leased: list[Queued]
    expired: list[Queued]
    exhausted: list[Queued]


class Mailbox:
    __slots__ = ("_again", "_due", "_open", "_waiting", "head_most", "loaded_to", "spilled_to")

    def __init__(self, head_most: int = HEAD_MOST) -> None:
        self.head_most = head_most
        self.loaded_to = 0  # highest number that ever was in memory
        self.spilled_to = 0  # highest number that was left to the index; 0 = all of the queue is here
        self._open: dict[int, Queued] = {}
        self._waiting: OrderedDict[int, None] = OrderedDict()
        self._again: list[int] = []  # a heap of numbers that come again; some may have been taken out since
        self._due: list[tuple[float, int]] = []  # when leased or delayed ones become available

    def __len__(self) -> int:
        return len(self._open)

    def get(self, number: int) -> Queued | None:
        return self._open.get(number)

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
        if queued.available_at:  # given back with a delay before the last restart
            queued.leased = True
            heapq.heappush(self._due, (queued.available_at, queued.number))
        else:
            self._waiting[queued.number] = None
        self.loaded_to = max(self.loaded_to, queued.number)

    def adopt(self, queued: Queued) -> None:
        """Add a delivery from behind the head, because a selector asks for it."""
        self._open[queued.number] = queued
        heapq.heappush(self._again, queued.number)

    def take(
        self,
        selector: Selector,
        most: int,
        now: float,
        now_us: int,
        until: float,
        attempts_most: int,
        up_to: int = EVERY_NUMBER,
    ) -> Taken:
        """Lease up to ``most`` matching deliveries until ``until``; expired and exhausted ones are taken out for good.

        None has a number above ``up_to``.
        """
        self._lapse(now)
        taken = Taken([], [], [])
        for number in self._candidates(selector, up_to):
            self._sort(self._open[number], now_us, until, attempts_most, taken)
            if len(taken.leased) == most:
                break
        return taken

    def take_one(self, number: int, now_us: int, until: float, attempts_most: int, taken: Taken) -> None:
        """Lease this one if it is available; for deliveries behind the head that a selector had brought here before."""
        if self._is_available(number):
            self._sort(self._open[number], now_us, until, attempts_most, taken)

    def _sort(self, queued: Queued, now_us: int, until: float, attempts_most: int, taken: Taken) -> None:
        if queued.expires_at_us and queued.expires_at_us <= now_us:
            self.close(queued.number)
            taken.expired.append(queued)
        elif queued.attempt >= attempts_most:
            self.close(queued.number)
            taken.exhausted.append(queued)
        else:
            self._hand_out(queued, until)
            taken.leased.append(queued)

    def give_back(self, number: int, available_at: float) -> None:
        """A leased delivery is not wanted now; it comes again at ``available_at``."""
        queued = self._open.get(number)
        if queued is not None:
            self._waiting.pop(number, None)
            queued.leased = True
            queued.available_at = available_at
            heapq.heappush(self._due, (available_at, number))

    def close(self, number: int) -> Queued | None:
        """Take a delivery out: it is settled, or about to be."""
        queued = self._open.pop(number, None)
        if queued is not None:
            self._waiting.pop(number, None)
        return queued

    def reopen(self, queued: Queued) -> None:
        """Undo ``close``: settling it failed, so it comes again; whoever has it leased keeps it until then, to try once more."""
        self._open[queued.number] = queued
        if queued.leased:
            heapq.heappush(self._due, (queued.available_at, queued.number))
        else:
            heapq.heappush(self._again, queued.number)

    def next_due(self) -> float | None:
        """When the next leased or delayed delivery becomes available again."""
        return self._due[0][0] if self._due else None

    def _hand_out(self, queued: Queued, until: float) -> None:
        self._waiting.pop(queued.number, None)
        queued.attempt += 1
        queued.leased = True
        queued.available_at = until
        heapq.heappush(self._due, (until, queued.number))

    def _lapse(self, now: float) -> None:
        while self._due and self._due[0][0] <= now:
            number = heapq.heappop(self._due)[1]
            queued = self._open.get(number)
            if queued is not None and queued.leased and queued.available_at <= now:
                queued.leased = False
                heapq.heappush(self._again, number)

    def _candidates(self, selector: Selector, up_to: int) -> Iterator[int]:
        """What may be handed out now, in the order of numbers; nothing beyond what may still lie in the index before it."""
        reach = min(self.loaded_to, up_to) if self.spilled_to else up_to
        if not selector.selects_all:
            both = heapq.merge(sorted(set(self._again)), self._waiting)
            available = [number for number in both if number <= reach and self._is_available(number)]
            yield from [number for number in available if is_wanted(selector, self._open[number])]
            return
        while self._waiting or (self._again and self._again[0] <= reach):
            if up_to < EVERY_NUMBER and self._first() > up_to:
                return
            if self._again and (not self._waiting or self._again[0] < next(iter(self._waiting))):
                number = heapq.heappop(self._again)
                if self._is_available(number):
                    yield number
            else:
                yield self._waiting.popitem(last=False)[0]

    def _first(self) -> int:
        """The number that is next; it may have been taken out since."""
        return min(next(iter(self._waiting), EVERY_NUMBER), self._again[0] if self._again else EVERY_NUMBER)

    def _is_available(self, number: int) -> bool:
        queued = self._open.get(number)
        return queued is not None and not queued.leased


def is_wanted(selector: Selector, queued: Queued) -> bool:
    """Whether a poll with this selector asks for the delivery."""
    message = queued.message
    is_hidden = bool(selector.transaction) and is_asker_hidden(message, queued.hop, queued.hops, queued.logical)
    return selector.matches(message, queued.shown_sender, is_asker_hidden=is_hidden)
