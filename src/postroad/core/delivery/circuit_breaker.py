"""A circuit breaker for one receiver: when most pushes fail, pause pushing and send one probe a minute.

Rule: a closed breaker lets every push pass. It opens when at least half of the last twenty pushes failed (and at
least five are known). An open breaker lets one probe a minute pass; ``probe_now`` lets the next push pass at once. A
successful push closes the breaker and clears its record. Time is an argument, in seconds of a monotonic clock.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

REMEMBERED_OUTCOMES = 20
MIN_OUTCOMES = 5
FAILING_SHARE = 0.5
PROBE_EVERY_S = 60.0


class OpenBreaker(NamedTuple):
    """Why a circuit breaker is open, and when it allows the next probe."""

    failed: int
    of: int  # number of latest pushes, of which ``failed`` failed
    probe_at_s: float


class Breaker:
    __slots__ = ("_outcomes", "_probe_at_s", "_why")

    def __init__(self) -> None:
        self._outcomes: deque[bool] = deque(maxlen=REMEMBERED_OUTCOMES)  # True: failed
        self._probe_at_s: float | None = None  # None: closed
        self._why = (0, 0)  # while open: number of failed pushes, and of all counted pushes

    @property
    def is_open(self) -> bool:
        return self._probe_at_s is not None

    @property
    def opened(self) -> OpenBreaker | None:
        """Return why the breaker is open; None while it is closed."""
        return None if self._probe_at_s is None else OpenBreaker(*self._why, self._probe_at_s)

    def probe_now(self, now_s: float) -> None:
        """If the breaker is open, let the next push pass at once, as a probe."""
        if self._probe_at_s is not None:
            self._probe_at_s = now_s

    def allows(self, now_s: float) -> bool:
        """True if a push is allowed now; at an open breaker it is a probe, and the next follows a minute later."""
        if self._probe_at_s is None:
            return True
        if now_s < self._probe_at_s:
            return False
        self._probe_at_s = now_s + PROBE_EVERY_S
        return True

    def allows_from(self, now_s: float) -> float:
        """Return the first moment from ``now_s`` on at which ``allows`` may return True; this takes no probe."""
        return now_s if self._probe_at_s is None else max(now_s, self._probe_at_s)

    def record_success(self, now_s: float) -> bool:
        """Record a successful push, however late; True if that closed the breaker."""
        has_closed = self._probe_at_s is not None
        if has_closed:
            self._outcomes.clear()
            self._probe_at_s = None
        self._outcomes.append(False)
        return has_closed

    def record_failure(self, now_s: float) -> None:
        """Record a failed push; ignored while the breaker is open."""
        if self._probe_at_s is not None:
            return
        self._outcomes.append(True)
        if len(self._outcomes) >= MIN_OUTCOMES and sum(self._outcomes) >= FAILING_SHARE * len(self._outcomes):
            self._why = (sum(self._outcomes), len(self._outcomes))
            self._outcomes.clear()
            self._probe_at_s = now_s + PROBE_EVERY_S
