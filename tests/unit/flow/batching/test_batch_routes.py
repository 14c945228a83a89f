"""Members and interchanges whose way leads through other services; ports that share their control numbers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from postroad.core.interchange import x12
from postroad.core.interchange.model import OnEnvelopeError
from postroad.core.model.asset import Hosting
from postroad.core.model.batch import BatchState
from postroad.core.model.batch_policy import Batching, BatchPolicy
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.directory import Role
from postroad.core.model.message import Message, MessageType, PostResult, Recipient
from postroad.core.model.rule import (
    ActionKind,
    Comparing,
    MessageSection,
    Rule,
    RuleAction,
    RuleRole,
    ValueComparison,
    ValueLocation,
)
from postroad.flow.administration import batch_actions as batches
from postroad.flow.batching.send_port import SendPortWorker
from postroad.flow.registries.configuration import build_save
from tests.samples.send_port import X12, SendPortScenario, order, send_port

STAMP = (Recipient("MyBiz/Stamp"),)
JOURNEY_STATE = 3


async def post_through_stamp(port: SendPortScenario, number: int, **header: Any) -> PostResult:
    await port.running.register("MyBiz/Stamp")
    posted = await port.send(order(number), route=STAMP, **header)
    await answer(port, "MyBiz/Stamp")
    return posted


async def answer(port: SendPortScenario, address: str) -> None:
    for delivered in await port.poll(address):
        response = Message(type=MessageType.RESPONSE, reference=delivered.token, parts=delivered.parts)
        await port.network.post(port.caller(address), response)


async def journey_of(port: SendPortScenario, posted: PostResult) -> DeliveryState:
    await port.network.wait_until_indexed()
    [row] = await port.network.index.query("transaction_journeys", posted.transaction)
    return DeliveryState(row[JOURNEY_STATE])


async def test_a_member_that_came_through_others_ends_its_journey_with_the_interchange() -> None:
    async with send_port(BatchPolicy(count=2)) as port:
        posted = await post_through_stamp(port, 1)
        await port.post_orders(2, 2)
        await port.work()
        assert await journey_of(port, posted) is DeliveryState.QUEUED
        [interchange] = await port.poll()
        await port.acknowledge(interchange)
        await port.work()
        assert await port.batch_states() == [BatchState.SENT]
        assert await journey_of(port, posted) is DeliveryState.DELIVERED


@pytest.mark.req("B2")
async def test_a_member_that_came_through_others_expires_out_of_its_batch() -> None:
    async with send_port(BatchPolicy(count=3)) as port:
        posted = await post_through_stamp(port, 1, expires_at_us=port.clock.now_us() + 60_000_000)
        await port.post_orders(2, 2)
        await port.work()
        port.clock.advance(61)
        await port.network.expiry.expire_due()
        assert await journey_of(port, posted) is DeliveryState.EXPIRED
        assert [batch.count for batch in await port.batches()] == [1]


async def test_a_member_that_came_through_others_is_withdrawn_or_dropped() -> None:
    async with send_port(BatchPolicy(count=3)) as port:
        ada = await port.running.enroll("ada@acme.example", organization="Acme", role=Role.DEVELOPER)
        withdrawn = await post_through_stamp(port, 1)
        stays = await port.send(order(2), route=STAMP)
        await answer(port, "MyBiz/Stamp")
        await port.work()
        cancel = Message(type=MessageType.CANCEL, reference=withdrawn.session)
        await port.network.post(port.caller("MyBiz/Sales"), cancel)
        [batch] = await port.batches()
        [page] = [page async for page in port.network.batches.members(batch.id)]
        await batches.remove_member(port.network, ada, batch.id, page[0].queued.number, "because", None)
        assert await journey_of(port, withdrawn) is DeliveryState.CANCELLED
        assert await journey_of(port, stays) is DeliveryState.FAILED
        assert await port.batch_states() == [BatchState.DISSOLVED]


@pytest.mark.req("B7")
@pytest.mark.parametrize(("outcome", "state"), [("delivered", BatchState.SENT), ("failed", BatchState.SUSPENDED)])
async def test_an_interchange_that_passes_others_counts_when_its_way_is_over(outcome: str, state: BatchState) -> None:
    async with send_port(BatchPolicy(count=1)) as port:
        await port.running.register("Acme/Filter", visibility="public")
        always = ValueComparison(
            operator=Comparing.EXISTS, place=ValueLocation(where=MessageSection.HEADER, path="properties.batch.id")
        )
        rule = Rule(
            service=port.profile("Acme/edi").gcid,
            name="r",
            place=1,
            role=RuleRole.RECIPIENT,
            when=always,
            then=(RuleAction(kind=ActionKind.ADD_SERVICE_BEFORE, service="Acme/Filter"),),
        )
        await port.network.configuration.change("test", [build_save(rule)])
        await port.post_orders(1, 1)
        await port.work()
        assert await port.poll() == []
        await answer(port, "Acme/Filter")
        await port.work(3)
        assert await port.batch_states() == [BatchState.ASSEMBLED]
        [interchange] = await port.poll()
        if outcome == "delivered":
            await port.acknowledge(interchange)
        else:
            await port.fail(interchange)
        await port.work(3)
        assert await port.batch_states() == [state]


@pytest.mark.req("B6")
async def test_ports_that_share_their_numbers_use_none_twice() -> None:
    async with send_port(BatchPolicy(count=1)) as port:
        other = await port.running.register(
            "Acme/more",
            hosted=Hosting.BATCHER,
            batching=Batching(**X12, policy=BatchPolicy(count=1)),
            visibility="public",
        )
        second = SendPortWorker(port.network, other.name)
        for number in range(1, 11):
            await port.send(order(number), to="Acme/orders" if number % 2 else "Acme/more")
        await asyncio.gather(port.port.work(), second.work())
        found = [x12.split(one.parts[0].data, OnEnvelopeError.REFUSE).reference for one in await port.poll()]
        assert sorted(found) == [f"{number:09}" for number in range(1, 11)]
