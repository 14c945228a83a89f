"""Desk contract for failed pushes: the delivery waits for the next push, and can be polled before."""

from __future__ import annotations

import asyncio

import pytest

from postroad.core.model.delivery import DeliveryState
from postroad.core.model.ids import delivery_number
from postroad.core.model.selector import Selector
from postroad.testing.contracts.desk.desk_under_test import (
    LEASE_S,
    SELLER,
    DeskHarness,
    DeskUnderTest,
    delivery_numbers,
)


class PushContract(DeskUnderTest):
    """The push tests of ``DeskContract``."""

    async def _failed_push(self, network: DeskHarness, delay_s: float) -> int:
        """Make a delivery whose push failed and is due again after the delay."""
        number = delivery_number(await network.post(network.message()), 0)
        assert delivery_numbers(await network.poll()) == [number]
        await network.fail_push(number, delay_s=delay_s)
        return number

    @pytest.mark.req("D6")
    async def test_a_delivery_that_waits_for_its_next_push_can_be_polled(self, network: DeskHarness) -> None:
        number = await self._failed_push(network, 3_600)
        assert await network.poll() == []
        [queued] = await network.poll(early=True)
        assert (queued.number, queued.attempt) == (number, 2)
        assert await network.poll(early=True) == []  # it is leased
        await network.acknowledge(number)
        network.clock.advance(4_000)
        assert await network.poll() == []
        assert await network.state(number) is DeliveryState.DELIVERED

    async def test_it_can_be_polled_with_a_selector_and_in_order(self, network: DeskHarness) -> None:
        first = await self._failed_push(network, 3_600)
        second = delivery_number(await network.post(network.message()), 0)
        third = delivery_number(await network.post(network.message(topic="bills")), 0)
        assert delivery_numbers(await network.poll(selector=Selector(topic="orders"), most=1, early=True)) == [first]
        await network.give_back(first)
        assert delivery_numbers(await network.poll(early=True)) == [first, second, third]

    @pytest.mark.req("D6")
    async def test_a_lapsed_lease_returns_to_the_schedule_of_pushes(self, network: DeskHarness) -> None:
        number = await self._failed_push(network, 3_600)
        assert delivery_numbers(await network.poll(early=True)) == [number]
        network.clock.advance(LEASE_S + 1)
        assert await network.poll() == []
        network.clock.advance(3_600 - LEASE_S)
        assert delivery_numbers(await network.poll()) == [number]

    async def test_a_delivery_that_is_given_back_returns_to_the_schedule_of_pushes(self, network: DeskHarness) -> None:
        number = await self._failed_push(network, 3_600)
        await network.poll(early=True)
        await network.give_back(number)
        assert await network.poll() == []
        assert delivery_numbers(await network.poll(early=True)) == [number]

    async def test_a_receiver_that_gave_back_with_a_delay_is_not_handed_it_early(self, network: DeskHarness) -> None:
        number = delivery_number(await network.post(network.message()), 0)
        await network.poll()
        await network.give_back(number, delay_s=60)
        assert await network.poll(early=True) == []

    async def test_a_pushed_delivery_that_waits_for_its_receipt_is_not_handed_out_early(
        self, network: DeskHarness
    ) -> None:
        number = delivery_number(await network.post(network.message()), 0)
        await network.poll()
        await network.fail_push(number, delay_s=60, status=200)
        assert await network.poll(early=True) == []

    async def test_the_schedule_of_pushes_outlives_a_restart(self, network: DeskHarness) -> None:
        number = await self._failed_push(network, 3_600)
        network.desk = await self.restart(network.desk)
        assert await network.poll() == []
        assert delivery_numbers(await network.poll(early=True)) == [number]
        await network.fail_push(number, delay_s=3_600)
        network.desk = await self.restart(network.desk)
        network.clock.advance(3_601)
        assert delivery_numbers(await network.poll()) == [number]

    async def test_what_waits_for_its_next_push_can_be_made_available_at_once(self, network: DeskHarness) -> None:
        first = await self._failed_push(network, 3_600)
        second = delivery_number(await network.post(network.message()), 0)
        assert await network.desk.hasten("nobody") == 0
        assert await network.desk.hasten(SELLER) == 1
        assert delivery_numbers(await network.poll()) == [first, second]
        await network.fail_push(first, delay_s=60)
        assert await network.poll() == []

    async def test_it_is_made_available_after_a_restart_too(self, network: DeskHarness) -> None:
        number = await self._failed_push(network, 3_600)
        network.desk = await self.restart(network.desk)
        await network.desk.hasten(SELLER)
        assert delivery_numbers(await network.poll()) == [number]

    async def test_making_it_available_wakes_whoever_waits(self, network: DeskHarness) -> None:
        await self._failed_push(network, 3_600)
        waiting = asyncio.ensure_future(network.desk.arrival(SELLER, 60.0))
        while (await asyncio.wait([waiting], timeout=0.2))[0]:  # woken by a late notification of the post
            waiting = asyncio.ensure_future(network.desk.arrival(SELLER, 60.0))
        await network.desk.hasten(SELLER)
        await asyncio.wait_for(waiting, 20)
