"""Batchers at work by themselves: they follow the directory, and what they do needs nobody to drive it."""

from __future__ import annotations

import asyncio

import pytest

from postroad.core.model.batch import BatchState
from postroad.core.model.batch_policy import Policy
from postroad.flow.batching import BatchStage
from tests.unit.flow.batching_bench import Bench, bench


async def until(port: Bench, *states: BatchState) -> None:
    async with asyncio.timeout(5):
        while await port.states() != list(states):  # noqa: ASYNC110 - nobody is told of it
            await asyncio.sleep(0.01)


@pytest.mark.req("B2")
async def test_batches_go_their_way_by_themselves() -> None:
    async with bench(Policy(count=2)) as port:
        stage = BatchStage(port.network)
        stage.start()
        try:
            await port.post_orders(1, 4)
            await until(port, BatchState.ASSEMBLED, BatchState.ASSEMBLED)
            for interchange in await port.poll():
                await port.acknowledge(interchange)
            await until(port, BatchState.SENT, BatchState.SENT)
        finally:
            await stage.close()
