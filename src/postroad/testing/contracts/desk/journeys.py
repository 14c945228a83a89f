"""Desk contract for journeys: each ends once, no response after the end, and routes survive a restart."""

from __future__ import annotations

import asyncio

import pytest

from postroad.core.model.delivery import DeliveryState
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import Entry, JourneyEnding, ReturnedContext
from postroad.core.model.message import MessageType, Property
from postroad.core.model.route import Context, Hop
from postroad.core.projection.unique_keys import answer_key, journey_key
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


class JourneyContract(DeskUnderTest):
    """The journey tests of ``DeskContract``."""

    def _ends(self, network: DeskHarness, journey: int) -> list[Entry]:
        """Return each possible end of a journey that is at its first delivery."""
        return [
            network.ended("expired", (journey,), (journey,)),
            network.acknowledged((journey,), (journey,)),
            network.error_response(journey, journey),
            network.ended("cancelled", (), (journey,)),
        ]

    @pytest.mark.parametrize("first", range(4))
    async def test_of_all_ends_at_the_same_time_one_counts(self, network: DeskHarness, first: int) -> None:
        journey = delivery_number(await network.post(network.message()), 0)
        ends = self._ends(network, journey)
        outcomes = await asyncio.gather(*(network.write(end) for end in (*ends[first:], *ends[:first])))
        [winner] = [outcome for outcome in outcomes if isinstance(outcome, Committed)]
        conflicts = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
        assert [outcome.seq for outcome in conflicts] == [winner.seq] * 3
        assert outcomes[0] == winner

    async def test_a_journey_has_one_end_for_ever(self, network: DeskHarness) -> None:
        journeys = [delivery_number(await network.post(network.message()), 0) for _ in range(4)]
        for way, journey in enumerate(journeys):
            assert isinstance(await network.write(self._ends(network, journey)[way]), Committed)
        network.desk = await self.restart(network.desk)
        for journey in journeys:
            outcomes = [await network.write(end) for end in self._ends(network, journey)]
            assert {type(outcome) for outcome in outcomes} == {Conflict}
            assert {outcome.key for outcome in outcomes if isinstance(outcome, Conflict)} <= {
                journey_key(journey),
                answer_key(journey),
            }

    async def test_an_end_by_a_post_settles_its_delivery_and_reaches_the_sender(self, network: DeskHarness) -> None:
        journey = delivery_number(await network.post(network.message()), 0)
        outcome = await network.write(network.error_response(journey, journey))
        assert isinstance(outcome, Committed)
        assert await network.poll() == []
        assert await network.state(journey) == DeliveryState.FAILED
        network.desk = await self.restart(network.desk)
        assert await network.poll() == []
        assert await network.state(journey) == DeliveryState.FAILED
        [response] = await network.poll(BUYER)
        assert (response.number, response.journey) == (delivery_number(outcome.seq, 0), journey)

    async def test_an_end_by_a_post_that_answers_nothing_settles_its_delivery_too(self, network: DeskHarness) -> None:
        journey = delivery_number(await network.post(network.message()), 0)
        [queued] = await network.poll()
        ends = JourneyEnding(journey, queued.number, "cancelled", "for a test")
        await network.post(network.message(to=("?",), kind=MessageType.RESPONSE, ends=ends))
        network.clock.advance(LEASE_S + 1)
        assert await network.poll() == []
        assert await network.state(journey) == DeliveryState.CANCELLED

    async def test_an_end_that_comes_second_leaves_what_waits_where_it_is(self, network: DeskHarness) -> None:
        journey = delivery_number(await network.post(network.message()), 0)
        assert isinstance(await network.write(network.ended("cancelled", (), (journey,))), Committed)
        for late in (network.ended("expired", (journey,), (journey,)), network.error_response(journey, journey)):
            assert isinstance(await network.write(late), Conflict)
            assert await network.state(journey) == DeliveryState.QUEUED
        assert delivery_numbers(await network.poll()) == [journey]

    @pytest.mark.parametrize("taken", [False, True], ids=["waiting", "taken over"])
    @pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
    async def test_after_the_end_nobody_answers_any_more(
        self, network: DeskHarness, taken: bool, restarted: bool
    ) -> None:
        for _ in range(2):
            await network.post(network.message(via=CARRIER))
        for end_by_post, queued in zip((False, True), await network.poll(CARRIER), strict=True):
            if taken:
                await network.acknowledge(queued.number, by=CARRIER)
            end = network.ended("expired", (queued.number,), (queued.journey,))
            by_post = network.error_response(queued.journey, queued.number)
            assert isinstance(await network.write(by_post if end_by_post else end), Committed)
            if restarted:
                network.desk = await self.restart(network.desk)
            assert isinstance(await network.pass_on(queued), Conflict)
            late = network.message(sender=CARRIER, to=(BUYER,), answers=queued.number, journey=queued.journey)
            assert isinstance(await network.write(late), Conflict)
        assert await network.poll(SELLER) == []

    async def test_an_answer_that_came_first_is_not_undone_by_an_end_where_it_was(self, network: DeskHarness) -> None:
        journey = delivery_number(await network.post(network.message(via=CARRIER)), 0)
        [in_transit] = await network.poll(CARRIER)
        passed, ended = await asyncio.gather(
            network.pass_on(in_transit), network.write(network.ended("expired", (journey,), (journey,)))
        )
        assert isinstance(passed, Committed)
        assert isinstance(ended, Conflict)
        assert (ended.key, ended.seq) == (answer_key(journey), passed.seq)
        there = delivery_number(passed.seq, 0)
        assert isinstance(await network.write(network.ended("expired", (there,), (journey,))), Committed)
        assert await network.poll() == []

    @pytest.mark.req("R12")
    async def test_a_changed_route_and_its_contexts_outlive_a_restart(self, network: DeskHarness) -> None:
        journey = delivery_number(await network.post(network.message(via=CARRIER)), 0)
        [in_transit] = await network.poll(CARRIER)
        context = Context(1, topic="bills", payer=SELLER, absorbs=True, through=(BUYER,))
        route = (Hop(CARRIER), Hop(BUYER, (), CARRIER, context), Hop(SELLER))
        logical, returned = (Hop(BUYER, (), SELLER),), (ReturnedContext(1, (Property("stamp", "red"),)),)
        await network.pass_on(in_transit, hops=route, logical=logical, returned=returned)
        assert await network.poll(SELLER) == []
        for _ in range(2):
            [queued] = await network.poll(BUYER)
            assert (queued.hops, queued.logical, queued.content.returned) == (route, logical, returned)
            assert (queued.journey, queued.hop, queued.in_transit) == (journey, 1, True)
            network.desk = await self.restart(network.desk)
            network.clock.advance(LEASE_S + 1)
        assert isinstance(await network.pass_on(queued, hops=route), Committed)
        assert [(last.hop, last.in_transit, last.journey) for last in await network.poll()] == [(2, False, journey)]
