"""Rate limit for registrations and for adding members.

Without mail, the answer to a registration inevitably shows whether the address has an account: the new person can log
in or cannot. So frequent registrations are slowed down like password guesses. Rule: the number of organizations
registered from one address per day is limited.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from math import ceil

from postroad.core.configuration.document import DocumentError
from postroad.core.configuration.sections.organization import FOREIGN_ACCOUNT
from postroad.core.metrics.registry import Metrics
from postroad.errors import Refused
from postroad.flow.access.throttle import MAX_REMEMBERED, Throttle, normalize_peer
from postroad.flow.administration.base import InvalidChange
from postroad.flow.concurrency.keyed_limit import KeyedSemaphore
from postroad.ports import Clock

DAY_S = 24 * 3_600.0


def _faults_of(refusal: Refused) -> Sequence[DocumentError]:
    return refusal.faults if isinstance(refusal, InvalidChange) else ()


class RegistrationLimit:
    """Limits registrations per address and additions of members per organization."""

    def __init__(
        self, clock: Clock, throttle: Throttle, slots: KeyedSemaphore, metrics: Metrics, per_day: int = 0
    ) -> None:
        self._clock = clock
        self._refused = metrics.counter("rate_limited_total", "registration")
        self._throttle = throttle
        self._slots = slots
        self._per_day = per_day  # 0: as many as they like
        self._made_at: OrderedDict[str, list[float]] = OrderedDict()  # within a day, the oldest first

    @asynccontextmanager
    async def slot(self, peer: str) -> AsyncIterator[None]:
        """Allow one registration from an address; raises Refused after too many attempts or successes."""
        peer = normalize_peer(peer)
        async with self._slots.slot(peer):
            self._throttle.wait_s(peer, "")
            self._check_number(peer)
            try:
                yield
            except Refused as refusal:
                if refusal.code == "name.taken":
                    self._throttle.record_failure(peer, "")
                raise
            self._made(peer)

    @contextmanager
    def adding(self, organization: str) -> Iterator[None]:
        """Allow one addition of members; raises Refused after too many addresses that have an account.

        Counted per organization, wherever its members ask from: the answer shows whether an address has an account.
        """
        who = f"members of {organization.casefold()}"
        self._throttle.wait_s(who, "")
        try:
            yield
        except Refused as refusal:
            if refusal.code == "name.taken" or any(fault.detail == FOREIGN_ACCOUNT for fault in _faults_of(refusal)):
                self._throttle.record_failure(who, "")
            raise

    def _check_number(self, peer: str) -> None:
        made = self._within_a_day(peer)
        if not self._per_day or len(made) < self._per_day:
            return
        self._refused.value += 1
        left_s = ceil(made[-self._per_day] + DAY_S - self._clock.monotonic())
        raise Refused(
            "rate.exceeded",
            f"{self._per_day} organizations were registered from your address within a day; wait, or ask the network's "
            "operator to create yours",
            retry_after_s=max(1, left_s),
        )

    def _made(self, peer: str) -> None:
        self._made_at[peer] = [*self._within_a_day(peer), self._clock.monotonic()]
        self._made_at.move_to_end(peer)
        if len(self._made_at) > MAX_REMEMBERED:
            self._made_at.popitem(last=False)

    def _within_a_day(self, peer: str) -> list[float]:
        since = self._clock.monotonic() - DAY_S
        return [at for at in self._made_at.get(peer, ()) if at > since]
