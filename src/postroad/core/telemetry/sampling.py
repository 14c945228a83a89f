"""Decides which journeys are exported, when they have ended and it is known how.

Rule: every node decides alike, from journal entries only: by the last 7 bytes of the trace ID, the outcome, the
duration, and the number of traces that ended in the same second.
"""

from __future__ import annotations

from typing import NamedTuple

SECOND_US = 1_000_000
TRACE_RANGE = 1 << 56


class TraceSampling(NamedTuple):
    """The settings of sampling: the share of all traces, the duration that counts as slow, and the limit."""

    share: float
    slow_s: float
    per_s: int


class EndedJourney(NamedTuple):
    """What sampling needs to know of a journey."""

    trace_id: bytes
    is_requested: bool  # its poster has sampled the trace
    has_failed: bool  # failed or expired
    posted_us: int
    ended_us: int


def is_in_share(trace_id: bytes, share: float) -> bool:
    return int.from_bytes(trace_id[-7:], "big") < share * TRACE_RANGE


class TraceSampler:
    """Chooses journeys; failed and slow ones have a limit of their own, so no poster can displace them."""

    def __init__(self, sampling: TraceSampling) -> None:
        self._sampling = sampling
        self.share = sampling.share
        self.slow_us = sampling.slow_s * SECOND_US
        self._second = -1
        self._chosen: dict[bool, set[bytes]] = {}  # the traces of this second
        self.skipped = 0  # journeys above the limit

    def chooses(self, journey: EndedJourney) -> bool:
        """Return True if the journey is exported; it then counts towards the limit of its second.

        All copies of a message count once, as one trace.
        """
        sampling = self._sampling
        has_priority = journey.has_failed or journey.ended_us - journey.posted_us > self.slow_us
        if not (has_priority or journey.is_requested or is_in_share(journey.trace_id, sampling.share)):
            return False
        self._begin_second(journey.ended_us // SECOND_US)
        chosen = self._chosen[has_priority]
        if len(chosen) >= sampling.per_s and journey.trace_id not in chosen:
            self.skipped += 1
            return False
        chosen.add(journey.trace_id)
        return True

    def _begin_second(self, second: int) -> None:
        if second != self._second:
            self._second, self._chosen = second, {True: set(), False: set()}
