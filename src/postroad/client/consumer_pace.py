"""How many messages a consumer leases at once, so that each is started within its lease.

Rules: a message that would outlast its lease is not started, because another consumer may have it by then. A consumer
that received more messages than it could start leases fewer next time, because every hand-out counts as one of a
delivery's attempts.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import msgspec

from postroad.core.model.polling import PollRequest

Clock = Callable[[], float]  # seconds, from whenever


class ConsumerPace:
    """Adapts the number of leased messages to how long they take."""

    def __init__(self, polling: PollRequest, clock: Clock) -> None:
        self._polling = polling
        self._clock = clock
        self._lease_s = polling.lease_s or inf  # the network's own, which is not known here
        self._most = polling.max
        self._begun_s = self._last_s = 0.0
        self._slowest_s = 0.0
        self._in_time = 0

    def polling(self) -> PollRequest:
        return msgspec.structs.replace(self._polling, max=self._most)

    def handed_out(self) -> None:
        self._begun_s = self._last_s = self._clock()
        self._slowest_s = 0.0
        self._in_time = 0

    def has_time(self) -> bool:
        """Whether the lease lasts for one more message that is as slow as the slowest so far."""
        return self._clock() + self._slowest_s < self._begun_s + self._lease_s

    def done(self) -> None:
        now_s = self._clock()
        self._slowest_s = max(self._slowest_s, now_s - self._last_s)
        self._last_s = now_s
        self._in_time += now_s < self._begun_s + self._lease_s

    def settle_on(self, taken: int) -> None:
        """Lease fewer next time if time ran out, more if half of it was enough."""
        if self._in_time < taken:
            self._most = max(1, self._in_time)
        elif taken == self._most and self._last_s - self._begun_s < self._lease_s / 2:
            self._most = min(self._polling.max, self._most * 2)
