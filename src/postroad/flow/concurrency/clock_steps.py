"""Detects changes of the wall clock, so that sleepers check their due times again.

Rule: sleeps are measured by the monotonic clock. After the wall clock was set, newly open delivery windows and passed
expiries are found within one or two seconds, not when the sleep ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from postroad.ports import Clock

LOOK_EVERY_S = 1.0
MIN_STEP_S = 0.5  # less is a clock that is being adjusted slowly

log = logging.getLogger(__name__)


class ClockSteps:
    """Calls its listeners after each step of the wall clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told: set[Callable[[], None]] = set()

    def add(self, tell: Callable[[], None]) -> None:
        """Call ``tell`` after every step until it is removed."""
        self._told.add(tell)

    def remove(self, tell: Callable[[], None]) -> None:
        self._told.discard(tell)

    async def run(self) -> None:
        """Watch the clock until cancelled."""
        ahead_s = self._ahead_s()
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            step_s, ahead_s = self._ahead_s() - ahead_s, self._ahead_s()
            if abs(step_s) >= MIN_STEP_S:
                log.warning("clock.stepped: the clock was set by %+.1f s; due times are checked again", step_s)
                self.report()

    def report(self) -> None:
        """Call the listeners now; for clocks whose steps are known, such as those of tests."""
        for tell in tuple(self._told):
            tell()

    def _ahead_s(self) -> float:
        """How far the wall clock is ahead of the one that never jumps."""
        return self._clock.now_us() / 1_000_000 - self._clock.monotonic()
