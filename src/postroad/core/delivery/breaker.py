"""A circuit breaker for one receiver: when most pushes fail, stop pushing, and ask once a minute whether it is back.

Kept rule: while closed, everything passes; it opens when at least half of the last twenty pushes failed (and five are known).
While open, nothing passes but one probe a minute; a push that succeeds closes it with a clean slate. Time is an argument, in
seconds of any clock that does not go back.
"""

from __future__ import annotations

from collections import deque

REMEMBERED = 20
KNOWN_LEAST = 5
FAILING_SHARE = 0.5
PROBE_EVERY_S = 60.0


class Breaker:
    __slots__ = ("_outcomes", "_probe_at_s")

    def __init__(self) -> None:
        self._outcomes: deque[bool] = deque(maxlen=REMEMBERED)  # True: failed
        self._probe_at_s: float | None = None  # None: closed

    @property
    def is_open(self) -> bool:
        return self._probe_at_s is not None

    def allows(self, now_s: float) -> bool:
        """Whether to push now. A yes while open is the probe: the next one is a minute later, whatever becomes of this."""
        if self._probe_at_s is None:
            return True
        if now_s < self._probe_at_s:
            return False
        self._probe_at_s = now_s + PROBE_EVERY_S
        return True

    def allows_from(self, now_s: float) -> float:
        """The first moment from ``now_s`` on at which ``allows`` may say yes; asking takes no probe."""
        return now_s if self._probe_at_s is None else max(now_s, self._probe_at_s)

    def succeeded(self, now_s: float) -> None:
        """A push was answered with a yes: also a late one shows that the receiver is there."""
        if self._probe_at_s is not None:
            self._outcomes.clear()
            self._probe_at_s = None
        self._outcomes.append(False)

    def failed(self, now_s: float) -> None:
        """A push failed. While open this changes nothing: the next probe is already set."""
        if self._probe_at_s is not None:
            return
        self._outcomes.append(True)
        if len(self._outcomes) >= KNOWN_LEAST and sum(self._outcomes) >= FAILING_SHARE * len(self._outcomes):
            self._outcomes.clear()
            self._probe_at_s = now_s + PROBE_EVERY_S
