"""Desk contract for dead letters: each is handled once, and a resent one waits like any delivery."""

from __future__ import annotations

import asyncio

import pytest

from postroad.core.model.delivery import DeliveryState, Queued
from postroad.core.model.ids import delivery_number, delivery_origin
from postroad.core.model.journal import Entry
from postroad.core.model.message import MessageType
from postroad.core.projection.unique_keys import dead_letter_key
from postroad.ports import Committed, Conflict
from postroad.testing.contracts.desk.desk_under_test import (
    BUYER,
    CARRIER,
    LEASE_S,
    SELLER,
    DeskHarness,
    DeskUnderTest,
    delivery_numbers,
)


class DeadLetterContract(DeskUnderTest):
    """The dead-letter tests of ``DeskContract``."""

    async def _failed(self, network: DeskHarness, kind: MessageType = MessageType.NOTIFICATION) -> Queued:
        """Make a dead letter at the seller."""
        await network.post(network.message(kind=kind))
        [queued] = await network.poll()
        journeys = (queued.journey,) if queued.journey else ()
        assert isinstance(await network.write(network.ended("failed", (queued.number,), journeys)), Committed)
        return queued

    async def _resent(self, network: DeskHarness, dead: Queued, content_seq: int = 0) -> int:
        """Resend a dead letter; returns the number of the new delivery."""
        outcome = await network.write(network.resent(dead, content_seq))
        assert isinstance(outcome, Committed)
        return delivery_number(outcome.seq, 0)

    @pytest.mark.req("D7")
    @pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
    async def test_what_is_resent_waits_again_with_all_it_had(self, network: DeskHarness, restarted: bool) -> None:
        dead = await self._failed(network)
        if restarted:
            network.desk = await self.restart(network.desk)
        number = await self._resent(network, dead)
        [again] = await network.poll()
        assert (again.number, again.origin, again.journey) == (number, dead.number, 0)
        assert (again.message, again.attempt, again.recipient) == (dead.message, 1, SELLER)
        assert await network.desk.body(again) == b"hello"
        assert [await network.state(one) for one in (dead.number, number)] == [
            DeliveryState.FAILED,
            DeliveryState.QUEUED,
        ]
        assert isinstance(await network.acknowledge(number), Committed)
        network.clock.advance(LEASE_S + 1)
        assert await network.poll() == []

    async def test_it_waits_through_a_restart_and_keeps_its_place(self, network: DeskHarness) -> None:
        dead = await self._failed(network, MessageType.REQUEST)
        number = await self._resent(network, dead)
        await network.post(network.message())
        network.desk = await self.restart(network.desk)
        first, second = await network.poll()
        assert (first.number, first.journey, first.origin) == (number, number, dead.number)
        assert second.number > number
        assert await network.desk.body(first) == b"hello"

    @pytest.mark.req("D7")
    async def test_a_dead_letter_is_dealt_with_once(self, network: DeskHarness) -> None:
        dead = await self._failed(network)
        twice: list[Entry] = [network.resent(dead), network.dropped(dead.number), network.resent(dead)]
        outcomes = await asyncio.gather(*(network.write(entry) for entry in twice))
        [winner] = [outcome for outcome in outcomes if isinstance(outcome, Committed)]
        conflicts = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
        assert [(one.key, one.seq) for one in conflicts] == [(dead_letter_key(dead.number), winner.seq)] * 2
        network.desk = await self.restart(network.desk)
        assert isinstance(await network.write(network.dropped(dead.number)), Conflict)
        assert len(await network.poll()) == 1

    async def test_what_is_dropped_stays_where_it_is(self, network: DeskHarness) -> None:
        dead = [await self._failed(network) for _ in range(2)]
        assert isinstance(await network.write(network.dropped(*delivery_numbers(dead))), Committed)
        assert await network.poll() == []
        for one in dead:
            assert await network.state(one.number) == DeliveryState.FAILED
            assert isinstance(await network.write(network.resent(one)), Conflict)

    async def test_a_resent_request_has_a_journey_of_its_own(self, network: DeskHarness) -> None:
        dead = await self._failed(network, MessageType.REQUEST)
        number = await self._resent(network, dead)
        [again] = await network.poll()
        assert again.journey == number != dead.journey
        assert isinstance(await network.write(network.ended("expired", (dead.number,), (dead.journey,))), Conflict)
        assert isinstance(await network.write(network.error_response(number, number)), Committed)
        assert isinstance(await network.write(network.ended("expired", (number,), (number,))), Conflict)
        assert await network.state(number) == DeliveryState.FAILED

    async def test_a_round_that_failed_is_resent_in_another(self, network: DeskHarness) -> None:
        first = await self._failed(network)
        await self._resent(network, first)
        [second] = await network.poll()
        assert isinstance(await network.write(network.ended("failed", (second.number,))), Committed)
        await self._resent(network, second)
        network.desk = await self.restart(network.desk)
        [third] = await network.poll()
        assert (third.origin, third.message) == (first.number, first.message)

    @pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
    async def test_a_round_goes_on_from_where_it_failed(self, network: DeskHarness, restarted: bool) -> None:
        """A resent message has the content of the failed delivery, and passes the remaining services."""
        await network.post(network.message(via=CARRIER))
        [in_transit] = await network.poll(CARRIER)
        passed = await network.pass_on(in_transit, b"carried")
        assert isinstance(passed, Committed)
        [dead] = await network.poll()
        assert isinstance(await network.write(network.error_response(dead.journey, dead.number)), Committed)
        if restarted:
            network.desk = await self.restart(network.desk)
        number = await self._resent(network, dead, passed.seq)
        [again] = await network.poll()
        assert (again.number, again.hop, again.content.parts) == (number, 1, dead.content.parts)
        assert (again.journey, await network.desk.body(again)) == (number, b"carried")

    @pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
    async def test_services_hand_the_round_on(self, network: DeskHarness, restarted: bool) -> None:
        await network.post(network.message(via=CARRIER))
        [dead] = await network.poll(CARRIER)
        assert isinstance(await network.write(network.error_response(dead.journey, dead.number)), Committed)
        number = await self._resent(network, dead)
        [in_transit] = await network.poll(CARRIER)
        assert isinstance(await network.pass_on(in_transit), Committed)
        if restarted:
            network.desk = await self.restart(network.desk)
        [last] = await network.poll()
        assert (last.journey, last.hop, last.origin) == (number, 1, 0)
        assert isinstance(await network.write(network.acknowledged((last.number,), (last.journey,))), Committed)

    async def test_a_resent_delivery_expires_by_its_own_time(self, network: DeskHarness) -> None:
        dead = await self._failed(network)
        outcome = await network.write(network.resent(dead, expires_in_s=60))
        assert isinstance(outcome, Committed)
        network.clock.advance(61)
        assert await network.poll() == []
        assert await network.state(delivery_number(outcome.seq, 0)) == DeliveryState.EXPIRED

    async def test_a_response_that_failed_on_its_way_back_is_resent(self, network: DeskHarness) -> None:
        request = delivery_number(await network.post(network.message()), 0)
        response = network.message(
            sender=SELLER, to=(BUYER,), answers=request, journey=request, kind=MessageType.RESPONSE
        )
        await network.post(response)
        [dead] = await network.poll(BUYER)
        assert isinstance(await network.write(network.ended("failed", (dead.number,), (request,))), Committed)
        number = await self._resent(network, dead)
        [again] = await network.poll(BUYER)
        assert (again.number, again.journey, delivery_origin(number)[1]) == (number, number, 0)
