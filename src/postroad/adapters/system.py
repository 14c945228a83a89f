"""The system clock and the system's random source."""

from __future__ import annotations

import os
import time

POOL_BYTES = 16_384


class SystemClock:
    def now_us(self) -> int:
        return time.time_ns() // 1_000

    def monotonic(self) -> float:
        return time.monotonic()


class SystemRandomness:
    """Random bytes from the system, drawn in large portions because a system call per message would cost more than the rest."""

    def __init__(self) -> None:
        self._pool = b""
        self._used = 0

    def bytes(self, count: int) -> bytes:
        if self._used + count > len(self._pool):
            self._pool = os.urandom(max(POOL_BYTES, count))
            self._used = 0
        start = self._used
        self._used += count
        return self._pool[start : self._used]
