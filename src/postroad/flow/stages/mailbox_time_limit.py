"""Expire deliveries that exceed their mailbox's time limit.

Rules: the limits are those of the current profiles, so a change also applies to waiting deliveries. Only mailboxes
with a limit are checked. This is an expiry like any other, and requesters are informed. An empty mailbox is checked
again at the earliest time at which a message that arrived since can be due.
"""

from __future__ import annotations

from postroad.core.delivery.release_schedule import expiry_reason, kept_until_us
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.journal import BY_NETWORK
from postroad.core.model.reason import Reason
from postroad.core.model.snapshot import Directory
from postroad.flow.concurrency.next_due import DueTimes
from postroad.flow.plumbing import Plumbing
from postroad.flow.registries.batches import BatchStore
from postroad.flow.stages.end import EndStage

AT_ONCE = 500  # rows of the index at a time


class MailboxTimeLimit:
    """Expires deliveries that waited longer than their receiver's profile allows."""

    def __init__(self, plumbing: Plumbing, ending: EndStage, due: DueTimes, batches: BatchStore) -> None:
        self._desk, self._index, self._clock = plumbing.desk, plumbing.index, plumbing.clock
        self._ending = ending
        self._due = due
        self._batches = batches
        self._limits: dict[str, int] = {}  # seconds, by GCID

    def follow(self, directory: Directory) -> None:
        """Load the time limits from a new directory."""
        limits = {
            service.gcid: service.release.keep_s
            for service in directory.services.values()
            if service.release is not None and service.release.keep_s
        }
        if limits != self._limits:
            self._limits = limits
            self._due.note(self._clock.now_us())

    async def expire_overdue(self) -> int | None:
        """Expire overdue deliveries; returns the time of the next check, None if no mailbox has a limit."""
        return min([await self._end_at(*limit) for limit in tuple(self._limits.items())], default=None)

    async def _end_at(self, gcid: str, keep_s: int) -> int:
        after = 0
        while True:
            now_us = self._clock.now_us()
            rows = await self._index.query("waiting_at", gcid, after, AT_ONCE)
            ends = {number: kept_until_us(keep_s, queued_at_us) for number, queued_at_us in rows}
            await self._expire([number for number, end_us in ends.items() if end_us <= now_us], expiry_reason(keep_s))
            if upcoming := [end_us for end_us in ends.values() if end_us > now_us]:
                return min(upcoming)
            if len(rows) < AT_ONCE:
                return kept_until_us(keep_s, now_us)
            after = rows[-1][0]

    async def _expire(self, numbers: list[int], reason: Reason) -> None:
        plain = []
        for number in numbers:
            found = await self._desk.find(number)
            if found is None or found.state is not DeliveryState.QUEUED:
                continue
            if await self._batches.leave(number, BY_NETWORK, "expired", reason) is not None:
                continue
            if found.queued.journey:
                await self._ending.give_up(found.queued, "expired", reason)
            else:
                plain.append(number)
        await self._ending.expire(plain, reason)
