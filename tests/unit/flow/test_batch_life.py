"""A batch from its first message to its end, on a clock that stands still until it is moved."""

from __future__ import annotations

import pytest

from postroad.core.interchange import x12
from postroad.core.interchange.nouns import Dirt
from postroad.core.model.batch import BatchState
from postroad.core.model.batch_policy import Policy
from postroad.core.model.delivery import State
from tests.unit.flow.batching_bench import bench, order


@pytest.mark.req("B1", "B6", "B7")
async def test_what_is_gathered_goes_as_one_interchange_and_is_released_when_that_is_delivered() -> None:
    async with bench(Policy(count=3)) as port:
        posted = await port.post_orders(1, 3)
        await port.port.work()
        assert await port.states() == [BatchState.ASSEMBLED]
        assert await port.states_of(*posted) == [State.QUEUED] * 3
        [interchange] = await port.poll()
        split = x12.split(interchange.parts[0].data, Dirt.REFUSE)
        assert [bytes(member.data) for member in split.members] == [order(number) for number in (1, 2, 3)]
        assert interchange.sender == "Acme/orders"
        await port.acknowledge(interchange)
        await port.port.work()
        assert await port.states() == [BatchState.SENT]
        assert await port.states_of(*posted) == [State.DELIVERED] * 3
