"""A send port whose batches are completed by a plug-in: by a message, by its timer, and after a restart."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest

from postroad.core.interchange.standard import BUILT_IN
from postroad.core.model.batch import BatchState, Criterion
from postroad.core.model.batch_policy import BatchPolicy
from postroad.core.model.batcher import AddedMessage, BatcherPlugIn, Decision
from tests.samples.send_port import SendPortScenario, order, send_port

MINUTE_US = 60_000_000


def initialise(_settings: Mapping[str, str], opened_at_us: int) -> str:
    return f"0 {opened_at_us}"


def add(settings: Mapping[str, str], state: str, message: AddedMessage) -> Decision:
    count, opened_at_us = map(int, state.split())
    return Decision(f"{count + 1} {opened_at_us}", count + 1 >= int(settings["wanted"]), "enough")


def timer(_settings: Mapping[str, str], state: str) -> int:
    return int(state.split()[1]) + MINUTE_US


COUNTING = BatcherPlugIn(name="counting", initialise=initialise, add=add, timer=timer)
POLICY = BatchPolicy(batcher="counting", batcher_settings=(("wanted", "3"),))


@pytest.fixture
async def port(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SendPortScenario]:
    async with send_port(POLICY) as made:
        monkeypatch.setattr(made.network, "standards", BUILT_IN.with_batchers([COUNTING]))
        yield made


@pytest.mark.req("B9")
async def test_the_plug_in_completes_a_batch(port: SendPortScenario) -> None:
    await port.post_orders(1, 4)
    await port.work()
    first, second = await port.batches()
    assert (first.state, first.closed_by, first.count) == (BatchState.ASSEMBLED, Criterion.PLUG_IN, 3)
    assert (second.state, second.count, second.plug_in_state.split()[0]) == (BatchState.OPEN, 1, "1")


@pytest.mark.req("B9")
async def test_the_timer_of_a_plug_in_completes_a_batch(port: SendPortScenario) -> None:
    await port.send(order(1))
    await port.work()
    await port.work(61.0)
    [batch] = await port.batches()
    assert (batch.state, batch.closed_by) == (BatchState.ASSEMBLED, Criterion.PLUG_IN)
