"""Batchers at work by themselves: they follow the directory, and what they do needs nobody to drive it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from postroad.core.model.asset import Hosting
from postroad.core.model.batch import BatchState
from postroad.core.model.batch_policy import BatchPolicy, Recovery
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.directory import Role
from postroad.errors import Unavailable
from postroad.flow.administration import batch_actions as steering
from postroad.flow.batching.stage import BatchStage
from tests.samples.send_port import SendPortScenario, send_port
from tests.waiting import eventually_async

OPEN, ASSEMBLED, SENT, SUSPENDED = BatchState.OPEN, BatchState.ASSEMBLED, BatchState.SENT, BatchState.SUSPENDED
LOOK_S = 0.02


async def until(port: SendPortScenario, *states: BatchState) -> None:
    async def are_these() -> bool:
        return await port.batch_states() == list(states)

    await eventually_async(are_these)


@asynccontextmanager
async def batchers(port: SendPortScenario, **terms: Any) -> AsyncIterator[BatchStage]:
    stage = BatchStage(port.network, look_s=LOOK_S, **terms)
    stage.start()
    try:
        yield stage
    finally:
        await stage.close()


@pytest.mark.req("B2")
async def test_batches_go_their_way_by_themselves() -> None:
    async with send_port(BatchPolicy(count=2)) as port, batchers(port):
        await port.post_orders(1, 4)
        await until(port, ASSEMBLED, ASSEMBLED)
        for interchange in await port.poll():
            await port.acknowledge(interchange)
        await until(port, SENT, SENT)


async def test_each_message_is_noticed_however_it_meets_the_batcher() -> None:
    async with send_port(BatchPolicy(count=1)) as port, batchers(port):
        for number in range(1, 31):
            await port.post_orders(number, number)
            await asyncio.sleep(0.001 * (number % 4))  # sleeps: messages come at various moments
        await until(port, *[ASSEMBLED] * 30)


async def test_an_administrators_action_is_noticed_at_once() -> None:
    async with send_port(BatchPolicy(count=10)) as port, batchers(port):
        ada = await port.running.enroll("ada@acme.example", organization="Acme", role=Role.DEVELOPER)
        await port.post_orders(1, 1)
        await until(port, OPEN)
        [batch] = await port.batches()
        await steering.release(port.network, ada, batch.id, "now", None)
        await until(port, ASSEMBLED)


@pytest.mark.req("B5")
@pytest.mark.parametrize(("is_orderly", "state"), [(True, OPEN), (False, SUSPENDED)])
async def test_only_a_stop_without_warning_calls_for_recovery(is_orderly: bool, state: BatchState) -> None:
    async with send_port(BatchPolicy(count=10, recovery=Recovery.FAIL)) as port:
        async with batchers(port) as stage:
            await port.post_orders(1, 1)
            await until(port, OPEN)
            if not is_orderly:
                await stage.abandon()
        async with batchers(port):
            await until(port, state)
            if state is OPEN:
                await port.post_orders(2, 10)
                await until(port, ASSEMBLED)


@pytest.mark.parametrize("away_s", [0.0, LOOK_S])
@pytest.mark.parametrize(
    "away", [{"suspended": "unpaid"}, {"hosted": Hosting.NONE, "batching": None}], ids=["suspended", "no batcher"]
)
async def test_a_batcher_that_was_away_rests_and_goes_on_when_it_is_back(
    away: dict[str, object], away_s: float
) -> None:
    async with send_port(BatchPolicy(count=2, recovery=Recovery.FAIL)) as port, batchers(port):
        await port.post_orders(1, 1)
        await until(port, OPEN)
        service = port.profile("Acme/orders")
        await port.change("Acme/orders", **away)
        if away_s:
            await asyncio.sleep(away_s)  # sleeps: the batcher may see that it is gone, or not
        await port.change("Acme/orders", **{name: getattr(service, name) for name in away})
        await port.post_orders(2, 2)
        await until(port, ASSEMBLED)


async def test_an_unexpected_error_does_not_stop_work_on_other_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interchange of a service that has no batcher any more, and an index that answers wrongly for a while."""
    monkeypatch.setattr("postroad.flow.batching.stage.RECHECK_S", LOOK_S)
    async with send_port(BatchPolicy(count=1)) as port:
        await port.post_orders(1, 1)
        await port.work()
        [interchange] = await port.poll()
        await port.change("Acme/orders", hosted=Hosting.NONE, batching=None)
        query, trouble = port.network.index.query, 2

        async def troubled(name: str, *parameters: Any) -> list[tuple[Any, ...]]:
            nonlocal trouble
            if name == "delivery" and trouble:
                trouble -= 1
                return []
            return await query(name, *parameters)

        await port.acknowledge(interchange)
        monkeypatch.setattr(port.network.index, "query", troubled)
        async with batchers(port):
            await until(port, SENT)


async def test_only_the_node_that_leads_gathers() -> None:
    leading, asked = False, 0

    async def leads() -> bool:
        nonlocal asked
        asked += 1
        return leading

    async with send_port(BatchPolicy(count=1)) as port, batchers(port, leads=leads):
        posted = await port.post_orders(1, 1)
        before = asked
        await eventually_async(lambda: asked >= before + 3)
        assert await port.batch_states() == []
        assert await port.delivery_states(*posted) == [DeliveryState.QUEUED]
        leading = True
        await until(port, ASSEMBLED)


@pytest.mark.req("B5")
@pytest.mark.parametrize(
    ("is_changed", "states"), [(False, [ASSEMBLED]), (True, [SUSPENDED, OPEN])], ids=["by nobody", "by another"]
)
async def test_a_node_that_leads_again_continues_with_unchanged_batches(
    is_changed: bool, states: list[BatchState]
) -> None:
    """A database that is away for a moment cuts no batch off; another node that led and ended may have."""
    leading, asked = True, 0

    async def leads() -> bool:
        nonlocal asked
        asked += 1
        return leading

    async with (
        send_port(BatchPolicy(count=2, recovery=Recovery.FAIL)) as port,
        batchers(port, leads=leads, is_shared=True),
    ):
        await port.post_orders(1, 1)
        await until(port, OPEN)
        leading, before = False, asked
        await eventually_async(lambda: asked >= before + 3)
        [batch] = await port.batches()
        if is_changed:
            assert await port.network.batches.write("another", "went on", [batch]) is not None
        leading = True
        if is_changed:
            await until(port, SUSPENDED)
        await port.post_orders(2, 2)
        await until(port, *states)


@pytest.mark.req("B4")
async def test_a_node_that_no_longer_leads_forgets_unwritten_batches() -> None:
    """It comes again when its lease is over, to whoever leads then."""
    async with send_port(BatchPolicy(count=2), persist_at=10) as port:
        posted = await port.post_orders(1, 1)
        await port.work()
        port.port.pause()
        await port.port.rest()
        assert await port.batch_states() == []
        await port.work()
        assert await port.batch_states() == []
        await port.work(61)
        await port.work(1)
        await port.post_orders(2, 2)
        await port.work()
        assert await port.batch_states() == [ASSEMBLED]
        assert await port.delivery_states(*posted) == [DeliveryState.QUEUED]


async def test_trouble_with_the_store_is_only_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroad.flow.batching.stage.RETRY_S", LOOK_S)
    async with send_port(BatchPolicy(count=3)) as port, batchers(port):
        await port.post_orders(1, 1)
        await until(port, OPEN)
        trouble = 3
        query = port.network.index.query

        async def troubled(name: str, *parameters: Any) -> list[tuple[Any, ...]]:
            nonlocal trouble
            if name == "batch_members" and trouble:
                trouble -= 1
                raise Unavailable("network.unavailable", "the index is away")
            return await query(name, *parameters)

        monkeypatch.setattr(port.network.index, "query", troubled)
        await port.post_orders(2, 3)
        await until(port, ASSEMBLED)
        assert trouble == 0


@pytest.mark.parametrize(("times", "state"), [(2, ASSEMBLED), (100, SUSPENDED)])
async def test_an_unexpected_error_is_retried_before_it_suspends_a_batch(
    monkeypatch: pytest.MonkeyPatch, times: int, state: BatchState
) -> None:
    """A store may fail in ways that nobody thought of; a batch with which it always does so holds up no other."""
    monkeypatch.setattr("postroad.flow.batching.stage.RETRY_S", LOOK_S)
    async with send_port(BatchPolicy(count=1)) as port, batchers(port):
        query, trouble, first = port.network.index.query, times, ""

        async def troubled(name: str, *parameters: Any) -> list[tuple[Any, ...]]:
            nonlocal trouble, first
            first = first or (str(parameters[0]) if name == "batch_members" else "")
            if name == "batch_members" and parameters[0] == first and trouble:
                trouble -= 1
                raise RuntimeError("disk I/O error")
            return await query(name, *parameters)

        monkeypatch.setattr(port.network.index, "query", troubled)
        await port.post_orders(1, 2)
        await until(port, state, ASSEMBLED)
        [batch, _] = await port.batches()
        assert batch.why.startswith("service.failed: assembling it failed (RuntimeError)") == (state is SUSPENDED)


async def test_a_batcher_that_is_told_to_end_while_it_works_does_not_sleep_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with send_port(BatchPolicy(count=10)) as port:
        works, goes_on, claim = asyncio.Event(), asyncio.Event(), port.network.desk.claim

        async def slow_claim(*asked: Any, **how: Any) -> Any:
            works.set()
            await goes_on.wait()
            return await claim(*asked, **how)

        monkeypatch.setattr(port.network.desk, "claim", slow_claim)
        stage = BatchStage(port.network)
        stage.start()
        async with asyncio.timeout(30):
            await works.wait()
        closing = asyncio.create_task(stage.close())
        await eventually_async(lambda: all(batcher._wait.cancelled for batcher in stage._latest.values()))
        goes_on.set()
        async with asyncio.timeout(30):
            await closing
