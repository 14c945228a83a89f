"""Desk contract for batches: a delivery that joined a batch waits in it, is not handed out, and joins no other."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from postroad.core.model.batch import BatchState
from postroad.core.model.delivery import DeliveryState, Queued
from postroad.core.model.interchange import AssembledInterchange, DrawnNumber
from postroad.core.model.journal import InterchangeAnswered
from postroad.core.model.message import MessageType
from postroad.core.projection.unique_keys import batch_answer_key, batch_key, number_key, unique_keys
from postroad.ports import Committed, Conflict, JournalStep
from postroad.testing.contracts.desk.desk_under_test import (
    LEASE_S,
    SELLER,
    DeskHarness,
    DeskUnderTest,
    delivery_numbers,
)

OVER = Conflict(0, 0, "")


class BatchContract(DeskUnderTest):
    """The batch tests of ``DeskContract``."""

    async def _claimed(self, network: DeskHarness, count: int = 2, **more: float) -> list[Queued]:
        for _ in range(count):
            await network.post(network.message(kind=MessageType.NOTIFICATION, **more))  # type: ignore[arg-type]
        return await network.poll()

    async def _gather(self, network: DeskHarness, count: int = 2, **more: float) -> list[int]:
        """Claim ``count`` deliveries, and add them to the batch ``b``."""
        gathered = delivery_numbers(await self._claimed(network, count, **more))
        assert isinstance(await network.write(network.gathered(network.batch("b"), *gathered)), Committed)
        return gathered

    # --- in a batch ----------------------------------------------------------------------------------------------

    @pytest.mark.req("B2")
    async def test_what_has_joined_a_batch_waits_and_is_handed_out_to_nobody(self, network: DeskHarness) -> None:
        gathered = await self._gather(network)
        await network.post(network.message())
        [free] = await network.poll()
        network.clock.advance(LEASE_S + 1)
        assert delivery_numbers(await network.poll()) == [free.number]
        for number in gathered:
            found = await network.desk.find(number)
            assert found is not None
            assert (found.state, found.queued.number, found.queued.attempt) == (DeliveryState.QUEUED, number, 1)
            assert await network.desk.body(found.queued) == b"hello"

    async def test_it_stays_in_the_batch_after_a_restart(self, network: DeskHarness) -> None:
        gathered = await self._gather(network)
        await network.post(network.message())
        network.desk = await self.restart(network.desk)
        network.clock.advance(LEASE_S + 1)
        assert set(delivery_numbers(await network.poll())).isdisjoint(gathered)
        assert [await network.state(number) for number in gathered] == [DeliveryState.QUEUED, DeliveryState.QUEUED]

    async def test_nobody_who_is_late_to_give_it_back_brings_it_back(self, network: DeskHarness) -> None:
        gathered = await self._gather(network)
        await network.give_back(*gathered)
        assert await network.poll() == []
        network.desk = await self.restart(network.desk)
        network.clock.advance(LEASE_S + 1)
        assert await network.poll() == []

    async def test_a_second_poller_of_a_lapsed_lease_is_not_handed_what_the_first_has_gathered(
        self, network: DeskHarness
    ) -> None:
        first = delivery_numbers(await self._claimed(network, 3))
        network.clock.advance(LEASE_S + 1)
        async with self.stalled(network.desk):
            gathering = asyncio.ensure_future(network.write(network.gathered(network.batch("b"), *first[:2])))
            await asyncio.sleep(0.05)
            polling = asyncio.ensure_future(network.poll())
            await asyncio.sleep(0.05)
        assert isinstance(await gathering, Committed)
        assert delivery_numbers(await polling) == first[2:]
        network.clock.advance(LEASE_S + 1)
        assert delivery_numbers(await network.poll()) == first[2:]

    async def test_those_after_it_are_found_though_very_many_are_in_a_batch(self, network: DeskHarness) -> None:
        gathered = await self._gather(network, 60)
        network.desk = await self.restart(network.desk)
        await network.post(network.message())
        [queued] = await network.poll(most=1)
        assert queued.number not in gathered
        assert await network.poll() == []

    # --- joining -------------------------------------------------------------------------------------------------

    async def test_it_joins_one_batch_once(self, network: DeskHarness) -> None:
        gathered = await self._gather(network)
        again = network.gathered(network.batch("other"), gathered[0])
        assert await network.write(again) == OVER
        network.desk = await self.restart(network.desk)
        assert await network.write(again) == OVER
        assert isinstance(await network.write(network.gathered(network.batch("other"))), Committed)

    async def test_of_two_that_gather_one_delivery_at_the_same_time_one_does(self, network: DeskHarness) -> None:
        claimed = delivery_numbers(await self._claimed(network, 3))
        entries = [
            network.gathered(network.batch(id_), *pair) for id_, pair in (("b", claimed[:2]), ("c", claimed[1:]))
        ]
        outcomes = await asyncio.gather(*map(network.write, entries))
        assert isinstance(outcomes[0], Committed)
        assert outcomes[1] == OVER
        network.clock.advance(LEASE_S + 1)
        assert delivery_numbers(await network.poll()) == claimed[2:]

    async def test_what_has_ended_joins_none(self, network: DeskHarness) -> None:
        one, two = delivery_numbers(await self._claimed(network))
        await network.end("cancelled", one)
        assert await network.write(network.gathered(network.batch("b"), one, two)) == OVER
        network.clock.advance(LEASE_S + 1)
        assert delivery_numbers(await network.poll()) == [two]

    async def test_it_comes_again_when_the_batch_was_changed_by_somebody_else(self, network: DeskHarness) -> None:
        claimed = delivery_numbers(await self._claimed(network))
        closed = network.gathered(network.batch("b", state=BatchState.CLOSED))
        assert isinstance(outcome := await network.write(closed), Committed)
        late = network.gathered(network.batch("b"), *claimed)
        assert await network.write(late) == Conflict(batch_key(network.batch("b")), outcome.seq, "")
        network.clock.advance(LEASE_S + 1)
        assert delivery_numbers(await network.poll()) == claimed

    # --- leaving -------------------------------------------------------------------------------------------------

    @pytest.mark.req("B7")
    async def test_members_end_with_their_batch(self, network: DeskHarness) -> None:
        gathered = await self._gather(network)
        sent = network.acknowledged(tuple(gathered), batch=network.batch("b", 2, BatchState.SENT))
        assert isinstance(first := await network.write(sent), Committed)
        assert [await network.state(number) for number in gathered] == [
            DeliveryState.DELIVERED,
            DeliveryState.DELIVERED,
        ]
        assert await network.write(sent) == Conflict(unique_keys(sent)[0], first.seq, "")
        network.desk = await self.restart(network.desk)
        network.clock.advance(LEASE_S + 1)
        assert await network.poll() == []

    async def test_a_member_is_taken_out_and_the_others_stay(self, network: DeskHarness) -> None:
        one, two = await self._gather(network)
        taken_out = network.ended("failed", (one,), batch=network.batch("b", 2))
        assert isinstance(await network.write(taken_out), Committed)
        assert [await network.state(number) for number in (one, two)] == [DeliveryState.FAILED, DeliveryState.QUEUED]
        dead = await network.desk.find(one)
        assert dead is not None
        assert isinstance(await network.write(network.resent(dead.queued)), Committed)
        [again] = await network.poll()
        assert again.origin == one
        assert isinstance(await network.write(network.gathered(network.batch("b", 3), again.number)), Committed)

    async def test_what_must_wait_waits_in_a_batch_until_it_ends(self, network: DeskHarness) -> None:
        one, two = await self._gather(network)
        step = JournalStep(network.ended("cancelled", (one,)), reserve=True, waiting=(one, two))
        assert isinstance(await network.submit(step), Committed)
        assert (
            await network.submit(JournalStep(network.ended("expired", (two,)), reserve=True, waiting=(one, two)))
            == OVER
        )
        assert [await network.state(number) for number in (one, two)] == [DeliveryState.CANCELLED, DeliveryState.QUEUED]

    async def test_a_member_that_is_ended_while_it_joins_is_ended(self, network: DeskHarness) -> None:
        one, two = delivery_numbers(await self._claimed(network))
        async with self.stalled(network.desk):
            joining = asyncio.ensure_future(network.write(network.gathered(network.batch("b"), one, two)))
            await asyncio.sleep(0.05)
            cancelled = JournalStep(network.ended("cancelled", (one,)), reserve=True, waiting=(one,))
            ending = asyncio.ensure_future(network.submit(cancelled))
            await asyncio.sleep(0.05)
        assert [type(await outcome) for outcome in (joining, ending)] == [Committed, Committed]
        assert [await network.state(number) for number in (one, two)] == [DeliveryState.CANCELLED, DeliveryState.QUEUED]

    # --- numbers -------------------------------------------------------------------------------------------------

    @pytest.mark.req("B6")
    async def test_a_number_is_drawn_once(self, network: DeskHarness) -> None:
        drawn = DrawnNumber("x12:a:A:B:interchange", 1)
        posts = [network.message(assembled=AssembledInterchange("x12", (drawn,), network.batch(id_))) for id_ in "bc"]
        outcomes = await asyncio.gather(*map(network.write, posts))
        assert isinstance(outcomes[0], Committed)
        conflict = Conflict(number_key(drawn), outcomes[0].seq, posts[0].session)
        assert outcomes[1] == conflict
        network.desk = await self.restart(network.desk)
        assert await network.write(network.message(assembled=AssembledInterchange("x12", (drawn,)))) == conflict
        assert await network.desk.find_first_use(number_key(drawn)) == (outcomes[0].seq, posts[0].session)
        assert len(await network.poll(SELLER)) == 1

    @pytest.mark.req("B10")
    async def test_what_a_partner_says_of_a_batch_is_heard_once(self, network: DeskHarness) -> None:
        entry = InterchangeAnswered(
            at_us=network.clock.now_us(), by=SELLER, session="session", standard="x12", batch="b", verdict="accepted"
        )
        assert isinstance(outcome := await network.write(entry), Committed)
        assert await network.write(entry) == Conflict(batch_answer_key("session", "b"), outcome.seq, "session")
        assert isinstance(await network.write(replace(entry, batch="c")), Committed)
