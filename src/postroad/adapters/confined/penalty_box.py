"""Penalty box: refuses a source for a while after it has killed several workers.

Rule: only failures that the source itself caused count (deadline exceeded, memory used up, engine crashed). They are
forgotten after an hour, so the refusal ends by itself.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from hashlib import sha256

from postroad.errors import Refused

KILLS_ALLOWED = 5
MEMORY_S = 3_600.0


class PenaltyBox:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kills: dict[bytes, deque[float]] = {}

    def check(self, source: str, what: str = "stylesheet") -> None:
        """Refuse a source that sits in the box."""
        if not self._kills:
            return
        self._forget()
        kills = self._kills.get(_digest(source))
        if kills is None or len(kills) < KILLS_ALLOWED:
            return
        minutes = int((kills[0] + MEMORY_S - self._clock()) // 60) + 1
        raise Refused(
            "transform.suspended",
            f"This {what} was stopped {len(kills)} times within an hour and is suspended for {minutes} minutes; correct and "
            "save it, and the new version runs at once",
        )

    def suspects(self, source: str) -> bool:
        """Whether a worker has died of this source lately."""
        return bool(self._kills) and _digest(source) in self._kills

    def record(self, source: str) -> None:
        """Remember that a worker died of this source."""
        self._kills.setdefault(_digest(source), deque(maxlen=KILLS_ALLOWED)).append(self._clock())

    def _forget(self) -> None:
        oldest = self._clock() - MEMORY_S
        for digest, kills in list(self._kills.items()):
            while kills and kills[0] <= oldest:
                kills.popleft()
            if not kills:
                del self._kills[digest]


def _digest(source: str) -> bytes:
    return sha256(source.encode()).digest()
