"""What every stage and registry of a network uses: its desk, journal, index, clock, randomness, directory and
metrics.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from postroad.core.metrics.registry import Metrics
from postroad.core.model.snapshot import Directory
from postroad.ports import Clock, Desk, IndexReader, Journal, Randomness

WaitUntilIndexed = Callable[[], Awaitable[None]]  # returns when the index has everything that is durable now


@dataclass(frozen=True, slots=True, kw_only=True)
class Plumbing:
    """The first argument of every stage, which takes from it what it needs."""

    desk: Desk
    journal: Journal
    index: IndexReader
    clock: Clock
    randomness: Randomness
    directory: Callable[[], Directory]  # as it is now
    wait_until_indexed: WaitUntilIndexed
    metrics: Metrics = field(default_factory=Metrics)
