"""Two processes that assemble different batches for one partner at the same moment: no control number is used twice."""

from __future__ import annotations

import asyncio

import pytest

from postroad.core.model.asset import Hosting
from postroad.core.model.batch_policy import BatchPolicy
from postroad.core.model.journal import MessagePosted
from postroad.flow.batching.send_port import SendPortWorker
from postroad.testing.clocks import ManualClock
from tests.property.batch_node import SharedNode
from tests.samples.send_port import order

ROUNDS = 15


@pytest.mark.req("B6", "O3")
async def test_two_processes_draw_no_number_twice(postgres_database: str) -> None:
    first, second = (SharedNode(postgres_database, clock) for clock in [ManualClock()] * 2)
    await first.open()
    await first.set_up(BatchPolicy(count=1))
    batching = first.profile("Acme/orders").batching  # the same two sides, and so the same numbers
    other = await first.running.register("Acme/more", hosted=Hosting.BATCHER, batching=batching, visibility="public")
    await second.open()
    second.port = SendPortWorker(second.network, other.name)
    try:
        for number in range(ROUNDS):
            await first.send(order(2 * number + 1))
            await second.send(order(2 * number + 2), to="Acme/more")
            await asyncio.gather(first.work(), second.work())
        posts = [one for one in await first.entries(MessagePosted) if one.assembled is not None]
    finally:
        await first.close()
        await second.close()
    drawn = [
        one.number for post in posts if post.assembled for one in post.assembled.numbers if "interchange" in one.series
    ]
    assert sorted(drawn) == list(range(1, 2 * ROUNDS + 1))
