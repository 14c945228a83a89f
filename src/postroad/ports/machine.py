"""Time, randomness and memory of the machine; a simulator supplies its own."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Wall-clock and monotonic time; a simulator supplies its own."""

    def now_us(self) -> int:
        """Wall-clock time in microseconds since 1970, UTC."""
        ...

    def monotonic(self) -> float:
        """Return monotonic seconds, for leases and timeouts."""
        ...


class Randomness(Protocol):
    """Random bytes fit for secrets."""

    def bytes(self, count: int) -> bytes: ...


class MemoryGauge(Protocol):
    """Measures the memory of this process."""

    def used_share(self) -> float | None:
        """Return the used share of the memory that the process may use; None if that cannot be measured."""
        ...

    def release(self) -> None:
        """Begin to return freed memory to the system, where that is possible; does not wait for it."""
        ...
