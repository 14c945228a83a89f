"""Refuses new messages to services for which too many deliveries wait.

Rules: a full recipient never affects another recipient of the same message. Only new messages are refused: responses,
polls and acknowledgments free space. Counting costs a post one comparison for each stop; the desk counts again from its
tables when a service seems full, and from time to time where other nodes post too. A limit may be exceeded by the posts
that are being stored at the moment.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from postroad.core.model.directory import Service
from postroad.core.model.route import Copy
from postroad.core.model.snapshot import Directory
from postroad.core.routing.itinerary import NoRoute, Routed
from postroad.errors import Refused, Unavailable
from postroad.flow.plumbing import Plumbing
from postroad.flow.stages.routed_post import RoutedPost

log = logging.getLogger(__name__)

CODE = "recipient.full"
RETRY_AFTER_S = 5
DEFAULT_WAITING = 1_000_000
COUNT_AGAIN_S = 10.0
COUNTED_SHARE = 50  # counting takes at most a fiftieth of the time
SOON_S = 1.0  # when a service seems full


class FullRecipients:
    """Compares what waits for the stops of a message with the limits of their services."""

    def __init__(self, plumbing: Plumbing, most: int) -> None:
        self._desk, self._clock = plumbing.desk, plumbing.clock
        self._most = most
        self._seems_full = asyncio.Event()

    def limit(self, service: Service) -> int:
        """Return how many deliveries may wait for the service; 0: any number."""
        own = service.limits.waiting_messages
        return min(own, self._most) if own and self._most else own or self._most

    def refuse(self, routed: RoutedPost, directory: Directory) -> RoutedPost:
        """Return the post with the copies to full services refused; raises Refused if no other copy is left."""
        for copy in routed.copies:
            if not copy.code and self._is_full(copy, directory):
                break
        else:
            return routed
        self._seems_full.set()
        copies = tuple([self._checked(copy, directory) for copy in routed.copies])
        if all(copy.code for copy in copies):
            at = next(place for place, copy in enumerate(copies) if copy.code == CODE)
            refusal = Refused(CODE, copies[at].detail, pointer=f"/to/{at}", retry_after_s=RETRY_AFTER_S)
            raise NoRoute(refusal, Routed(copies))
        return routed._replace(copies=copies)

    def _is_full(self, copy: Copy, directory: Directory) -> bool:
        """Whether the next stop of the copy is full, or its recipient."""
        hops = copy.hops
        return self._is_service_full(hops[0].service, directory) or (
            len(hops) > 1 and self._is_service_full(hops[-1].service, directory)
        )

    def _is_service_full(self, gcid: str, directory: Directory) -> bool:
        service = directory.services.get(gcid)
        most = self.limit(service) if service is not None else 0
        return 0 < most <= self._desk.waiting(gcid)

    def _checked(self, copy: Copy, directory: Directory) -> Copy:
        if copy.code or not self._is_full(copy, directory):
            return copy
        detail = (
            f"Too many messages wait for {copy.named}, or on the route to it; post again when some have been received"
        )
        return Copy(copy.named, (), CODE, detail)

    async def run(self, again_s: float | None = None) -> None:
        """Let the desk count again when a service seems full, and every ``again_s`` seconds; until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(again_s):
                    await self._seems_full.wait()
            self._seems_full.clear()
            began = self._clock.monotonic()
            try:
                with suppress(Unavailable):  # the previous numbers stay valid
                    await self._desk.count_waiting()
            except Exception:
                log.exception("recipients.not_counted: waiting deliveries could not be counted; trying again")
            await asyncio.sleep(max(SOON_S, COUNTED_SHARE * (self._clock.monotonic() - began)))
