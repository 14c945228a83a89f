"""Counts what each party does within a time, and limits it.

Rule: memory is bounded; the parties that were counted longest ago are forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict

from postroad.ports import Clock

MAX_REMEMBERED = 10_000


class WindowLimit:
    """Allows each party ``most`` times within ``window_s`` seconds."""

    def __init__(self, clock: Clock, most: int, window_s: float) -> None:
        self._clock = clock
        self._most = most
        self._window_s = window_s
        self._times: OrderedDict[str, list[float]] = OrderedDict()

    def count(self, who: str) -> float:
        """Count once, and return 0; or return the seconds until the party is allowed again, and count nothing."""
        now = self._clock.monotonic()
        recent = [at for at in self._times.pop(who, []) if at > now - self._window_s]
        self._times[who] = recent
        if len(self._times) > MAX_REMEMBERED:
            self._times.popitem(last=False)
        if len(recent) >= self._most:
            return max(1.0, recent[0] + self._window_s - now)
        recent.append(now)
        return 0.0
