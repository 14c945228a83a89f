"""Expire deliveries that were not fetched and journeys that did not end in time.

Rules: the loop sleeps until the next due time and queries the index only for what is due. An expiry is an entry like
any other end, so a late answer and an expiry exclude each other. Every query scans the members of interchanges in
progress; so the longer a query takes, the longer the pause before the next. Overdue messages are not delivered in the
meantime, because the stages that deliver check the time themselves.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from postroad.core.delivery.reasons import make_reason
from postroad.core.model.journal import BY_NETWORK
from postroad.core.model.message import Status
from postroad.core.projection.queries import JOURNEY
from postroad.errors import Unavailable
from postroad.flow.concurrency.next_due import DueTimes
from postroad.flow.plumbing import Plumbing
from postroad.flow.registries.batches import BatchStore
from postroad.flow.stages.end import EndStage
from postroad.flow.stages.mailbox_time_limit import MailboxTimeLimit

log = logging.getLogger(__name__)

AT_NUMBER = JOURNEY.index("at_number")
AT_ONCE = 2_000  # rows of the index at a time
LOOK_AGAIN_S = 1.0  # after errors; and on a shared network, where other nodes accept messages too
IDLE_S = 3_600.0
REST = 10  # the pause between two queries, as a multiple of the duration of the first …
MAX_REST_S = 60.0  # … but at most this long
EXPIRED_REASON = make_reason("delivery.expired")
EXPIRED = Status("route.expired", "The message expired on its way")


async def is_always_leader() -> bool:
    """Return True: the default for ``leads`` on a single node."""
    return True


class ExpireStage:
    """Sleeps until the next due time, then ends what the index reports as due."""

    def __init__(
        self, plumbing: Plumbing, ending: EndStage, time_limit: MailboxTimeLimit, due: DueTimes, batches: BatchStore
    ) -> None:
        self._index, self._clock = plumbing.index, plumbing.clock
        self._wait_until_indexed = plumbing.wait_until_indexed
        self._ending = ending
        self._time_limit = time_limit
        self._due = due
        self._batches = batches
        self._look_s = 0.0  # duration of the last query that found nothing to end

    async def run(self, leads: Callable[[], Awaitable[bool]] = is_always_leader, most_s: float = IDLE_S) -> None:
        """Expire what is due until cancelled; ``most_s`` is the maximum sleep."""
        while True:
            try:
                next_us = await self.expire_due() if await leads() else None
            except Unavailable as trouble:
                log.warning("expiry.waiting: nothing can be expired now: %s", trouble)
                next_us = self._soon_us()
            except Exception:
                log.exception("expiry.failed: what is due could not be ended; trying again")
                next_us = self._soon_us()
            await asyncio.sleep(min(self._look_s * REST, MAX_REST_S))
            await self._sleep(next_us, most_s)

    async def expire_due(self) -> int | None:
        """End everything that is due; returns the next due time, None if there is none."""
        self._due.begin()
        while True:
            await self._wait_until_indexed()
            began, now_us = self._clock.monotonic(), self._clock.now_us()
            # Deliveries first: a journey that advances in between leaves an ended delivery, which must not count as expired.
            deliveries = await self._index.query("due_deliveries", now_us, AT_ONCE)
            journeys = await self._index.query("due_journeys", now_us, AT_ONCE)
            ended = await self._end(journeys)
            if ended and len(journeys) == AT_ONCE:
                continue  # more journeys are due, with their deliveries
            on_the_way = {row[AT_NUMBER] for row in journeys}
            expired = await self._expire([row for row in deliveries if row[0] not in on_the_way])
            if not ended and not expired:  # also if something has advanced meanwhile: it is checked again soon
                break
        kept_us = await self._time_limit.expire_overdue()
        [upcoming] = await self._index.query("next_due")
        self._look_s = self._clock.monotonic() - began
        soonest_us = self._soon_us()  # for those that could not be ended now
        return min(
            (max(at_us, soonest_us if at_us <= now_us else 0) for at_us in (*upcoming, kept_us) if at_us), default=None
        )

    def _soon_us(self) -> int:
        return self._clock.now_us() + int(LOOK_AGAIN_S * 1_000_000)

    async def _expire(self, deliveries: list[tuple[Any, ...]]) -> bool:
        """End deliveries, including batched ones; False if none could be ended now."""
        gathered: dict[str, list[int]] = {}
        for number, _, batch in deliveries:
            gathered.setdefault(batch, []).append(number)
        plain = gathered.pop("", [])
        await self._ending.expire(plain, EXPIRED_REASON)
        reason = make_reason("delivery.expired-in-batch")
        have_left = [
            await self._batches.leave_together(batch, numbers, BY_NETWORK, "expired", reason)
            for batch, numbers in gathered.items()
        ]
        return bool(plain) or any(have_left)

    async def _end(self, journeys: list[tuple[Any, ...]]) -> bool:
        """End journeys, including those whose delivery waits in a batch; False if none could be ended now."""
        reason = make_reason(EXPIRED.code, detail=EXPIRED.text)
        have_left = [
            await self._batches.leave(row[AT_NUMBER], BY_NETWORK, "expired", reason) for row in journeys if row[-1]
        ]
        free = {row[0]: row[AT_NUMBER] for row in journeys if not row[-1]}
        return await self._ending.end_all(free, "expired", EXPIRED) or any(have_left)

    async def _sleep(self, next_us: int | None, most_s: float) -> None:
        latest_us = self._clock.now_us() + int(most_s * 1_000_000)
        if next_us is not None:
            self._due.note(next_us)
        while (left_us := min(self._due.earliest_us, latest_us) - self._clock.now_us()) > 0:
            await self._due.sooner(left_us / 1_000_000)
