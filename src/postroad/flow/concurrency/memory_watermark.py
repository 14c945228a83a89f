"""Tells whether the server uses more memory than it should, so that it reads no new posts until it no longer does.

Rule: above the watermark nothing that was accepted is lost, and polls and acknowledgments continue, since they free memory.
"""

from __future__ import annotations

import logging

from postroad.ports import Clock, MemoryGauge

log = logging.getLogger(__name__)

RELEASE_EVERY_S = 10.0


class MemoryWatermark:
    """``most_share`` is the share of the available memory above which posts wait; 0: never."""

    def __init__(self, gauge: MemoryGauge, most_share: float, clock: Clock) -> None:
        self._gauge = gauge
        self.most_share = most_share
        self._clock = clock
        self._release_at = 0.0
        self._is_exceeded = False
        self.share: float | None = None  # as measured last
        if most_share and gauge.used_share() is None:
            log.warning(
                "memory.unknown: memory_most_share has no effect: this system does not show how much memory the server uses"
            )

    def check(self) -> bool:
        """Measure the memory; returns whether it exceeds the watermark."""
        share = self.share = self._gauge.used_share() if self.most_share else None
        exceeded = share is not None and share > self.most_share
        if exceeded and self._clock.monotonic() >= self._release_at:
            self._gauge.release()
            self._release_at = self._clock.monotonic() + RELEASE_EVERY_S
        if exceeded is not self._is_exceeded:
            self._is_exceeded = exceeded
            if exceeded:
                log.warning("memory.high: the server uses %.0f %% of its memory: new posts wait", 100 * (share or 0))
            else:
                log.warning("memory.recovered: the server's memory is below the watermark again: posts are accepted")
        return exceeded
