"""Clocks that tests advance: a manual clock, and the machine's clock with an offset."""

from __future__ import annotations

from dataclasses import dataclass, field

from postroad.adapters.system import SystemClock

EPOCH_US = 1_790_000_000_000_000  # a Monday in September 2026


@dataclass(slots=True)
class ManualClock:
    """A clock that moves only when a test advances it."""

    elapsed_s: float = 0.0

    def now_us(self) -> int:
        return EPOCH_US + int(self.elapsed_s * 1_000_000)

    def monotonic(self) -> float:
        return 1000.0 + self.elapsed_s

    def advance(self, seconds: float) -> None:
        self.elapsed_s += seconds


@dataclass
class ShiftedClock:
    """The machine's clock, plus the seconds by which a test has advanced it."""

    ahead_s: float = 0.0
    _system: SystemClock = field(default_factory=SystemClock)

    def now_us(self) -> int:
        return self._system.now_us() + int(self.ahead_s * 1_000_000)

    def monotonic(self) -> float:
        return self._system.monotonic() + self.ahead_s

    def advance(self, seconds: float) -> None:
        self.ahead_s += seconds
