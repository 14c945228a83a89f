"""Gauges that take a query: they are computed when a metrics page is read, not while messages flow.

Rules: a page waits at most ``WAIT_S`` for all of them; one that takes longer is on the next page. Each rests for ``REST``
times as long as it took, so that frequent scrapes cost at most a twentieth of one reader. One that fails keeps its last
value, and is counted in ``scrape_errors_total``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from postroad.core.metrics.registry import Metrics
from postroad.ports import Clock

WAIT_S = 2.0
REST = 20
log = logging.getLogger(__name__)

Compute = Callable[[], Awaitable[None]]


class QueriedGauge:
    """One computation, and when it may run again."""

    def __init__(self, compute: Compute) -> None:
        self.compute = compute
        self.rests_until = float("-inf")
        self.task: asyncio.Task[None] | None = None


class QueriedGauges:
    """The computations of one node."""

    def __init__(self, metrics: Metrics, clock: Clock, computations: Sequence[Compute], wait_s: float = WAIT_S) -> None:
        self._gauges = [QueriedGauge(compute) for compute in computations]
        self._clock = clock
        self._wait_s = wait_s
        self._errors = metrics.counter("scrape_errors_total")
        self._took = metrics.gauge("scrape_seconds")

    async def refresh(self) -> None:
        """Compute what is due, and return when it is done or the time is up."""
        began = self._clock.monotonic()
        running = [task for one in self._gauges if (task := self._begin(one, began)) is not None]
        if running:
            await asyncio.wait(running, timeout=self._wait_s)
        self._took.set(self._clock.monotonic() - began)

    async def close(self) -> None:
        tasks = [one.task for one in self._gauges if one.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, one: QueriedGauge, now: float) -> asyncio.Task[None] | None:
        if one.task is None and one.rests_until <= now:
            one.task = asyncio.get_running_loop().create_task(self._run(one))
        return one.task

    async def _run(self, one: QueriedGauge) -> None:
        began = self._clock.monotonic()
        try:
            await one.compute()
        except Exception as error:  # a page without one number is better than none
            self._errors.value += 1
            log.info("metrics.gauge_failed: a gauge could not be computed: %s", error)
        finally:
            ended = self._clock.monotonic()
            one.rests_until = ended + REST * (ended - began)
            one.task = None
