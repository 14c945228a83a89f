"""Gauges that take a query: bounded, rested, and never the end of a page."""

from __future__ import annotations

import asyncio

from postroad.bootstrap.queried_gauges import REST, QueriedGauges
from postroad.core.metrics.registry import Metrics
from postroad.testing.clocks import ManualClock
from tests.waiting import eventually_async


async def test_a_gauge_rests_as_long_as_its_cost_asks() -> None:
    clock, runs = ManualClock(), []

    async def compute() -> None:
        runs.append(clock.monotonic())
        clock.advance(2.0)  # the query takes two seconds

    gauges = QueriedGauges(Metrics(), clock, [compute])
    await gauges.refresh()
    await gauges.refresh()
    assert len(runs) == 1
    clock.advance(2.0 * REST)
    await gauges.refresh()
    assert len(runs) == 2


async def test_a_gauge_that_fails_is_counted_and_harms_no_other() -> None:
    metrics, done = Metrics(), []

    async def fail() -> None:
        raise OSError("the disk is gone")

    async def succeed() -> None:
        done.append(True)

    await QueriedGauges(metrics, ManualClock(), [fail, succeed]).refresh()
    assert (metrics.value("scrape_errors_total"), done) == (1, [True])


async def test_a_page_does_not_wait_for_a_slow_gauge_and_the_next_one_has_it() -> None:
    metrics, go = Metrics(), asyncio.Event()

    async def slow() -> None:
        await go.wait()
        metrics.gauge("dead_letters").set(7)

    gauges = QueriedGauges(metrics, ManualClock(), [slow], wait_s=0.01)
    await gauges.refresh()
    assert metrics.value("dead_letters") == 0
    go.set()

    async def arrived() -> bool:
        await gauges.refresh()
        return metrics.value("dead_letters") == 7

    await eventually_async(arrived)


async def test_closing_ends_what_runs() -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    gauges = QueriedGauges(Metrics(), ManualClock(), [never], wait_s=0.01)
    await gauges.refresh()
    await gauges.close()
    assert [one.task for one in gauges._gauges] == [None]
