"""The contract suite of desks. A new desk's test is a subclass that opens, restarts and stalls one.

    class TestMyDesk(DeskContract):
        async def open(self, clock: Clock, attempts_most: int) -> Desk: ...
        async def restart(self, desk: Desk) -> Desk: ...
        def stalled(self, desk: Desk) -> AbstractAsyncContextManager[None]: ...

Time comes from ``VirtualClock``, so leases end and messages expire when a test decides. Run with pytest and
pytest-asyncio in auto mode.
"""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from postroad.core.model.delivery import DeliveryState
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import DeliveriesAcknowledged, DeliveriesReturned
from postroad.core.projection.unique_keys import flagged_key, handle_key, unique_keys
from postroad.errors import Unavailable
from postroad.ports import Committed, Conflict, JournalStep, StepOutcome
from postroad.testing.contracts.desk.batches import BatchContract
from postroad.testing.contracts.desk.dead_letters import DeadLetterContract
from postroad.testing.contracts.desk.desk_under_test import (
    BUYER,
    CARRIER,
    LEASE_S,
    SELLER,
    DeskHarness,
    delivery_numbers,
)
from postroad.testing.contracts.desk.hand_out import HandOutContract
from postroad.testing.contracts.desk.journeys import JourneyContract
from postroad.testing.contracts.desk.overload import OverloadContract
from postroad.testing.contracts.desk.pushes import PushContract


class DeskContract(HandOutContract, PushContract, JourneyContract, DeadLetterContract, BatchContract, OverloadContract):
    """The whole suite."""

    # --- writing -------------------------------------------------------------------------------------------------

    async def test_a_step_is_done_only_when_it_is_durable(self, network: DeskHarness) -> None:
        message = network.message(handle="h")
        async with self.stalled(network.desk):
            waiting = asyncio.ensure_future(network.submit(JournalStep(message, b"hello", tuple(unique_keys(message)))))
            await asyncio.sleep(0.05)
            assert not waiting.done()
            assert await network.desk.find_first_use(unique_keys(message)[0]) is None
        outcome = await waiting
        assert isinstance(outcome, Committed)
        assert await network.desk.find_first_use(unique_keys(message)[0]) == (outcome.seq, message.session)

    async def test_a_conflict_is_answered_only_when_its_twin_is_durable(self, network: DeskHarness) -> None:
        first, second = network.message(handle="same"), network.message(handle="same")
        keys = (handle_key(BUYER, "same"),)
        async with self.stalled(network.desk):
            outcomes = [asyncio.ensure_future(network.submit(JournalStep(m, b"hello", keys))) for m in (first, second)]
            await asyncio.sleep(0.05)
            assert not any(outcome.done() for outcome in outcomes)
        one, two = await asyncio.gather(*outcomes)
        assert isinstance(one, Committed)
        assert two == Conflict(keys[0], one.seq, first.session)
        assert len(await network.poll()) == 1

    async def test_a_key_that_must_be_absent_is_checked_and_not_used(self, network: DeskHarness) -> None:
        flagged = replace(network.message(handle="h"), possible_duplicate=True)
        key = flagged_key(handle_key(BUYER, "h"))
        late = [network.message(handle="h") for _ in range(5)]
        for message in late[:2]:
            assert isinstance(await network.submit(JournalStep(message, b"", absent=(key,))), Committed)
        async with self.stalled(network.desk):  # so that both are in one group
            steps = [JournalStep(flagged, b"", (key,)), JournalStep(late[2], b"", absent=(key,))]
            outcomes = [asyncio.ensure_future(network.submit(step)) for step in steps]
            await asyncio.sleep(0.05)
        first, second = await asyncio.gather(*outcomes)
        assert isinstance(first, Committed)
        assert second == Conflict(key, first.seq, flagged.session)
        assert await network.submit(JournalStep(late[3], b"", absent=(key,))) == second
        network.desk = await self.restart(network.desk)
        assert network.desk.checks(key)
        assert await network.submit(JournalStep(late[4], b"", absent=(key,))) == second
        assert len(await network.poll()) == 3

    async def test_a_key_is_used_once_for_ever(self, network: DeskHarness) -> None:
        first, second = network.message(handle="h"), network.message(handle="h")
        seq = await network.post(first)
        network.desk = await self.restart(network.desk)
        outcome = await network.submit(JournalStep(second, b"hello", tuple(unique_keys(second))))
        assert outcome == Conflict(handle_key(BUYER, "h"), seq, first.session)
        other = network.message(handle="h", sender=CARRIER)
        assert await network.post(other) > seq

    async def test_one_of_many_concurrent_twins_wins(self, network: DeskHarness) -> None:
        steps = [JournalStep(m, b"x", tuple(unique_keys(m))) for m in [network.message(handle="h") for _ in range(20)]]
        outcomes = await asyncio.gather(*(network.submit(step) for step in steps))
        [seq] = [outcome.seq for outcome in outcomes if isinstance(outcome, Committed)]
        assert {outcome.seq for outcome in outcomes} == {seq}  # type: ignore[union-attr]
        assert len(await network.poll()) == 1

    async def test_too_much_at_once_is_refused_while_acknowledgements_pass(self, network: DeskHarness) -> None:
        await network.post(network.message())
        await network.post(network.message())
        queued, unanswered = await network.poll()
        outcomes: list[StepOutcome] = []
        async with self.stalled(network.desk):
            with pytest.raises(Unavailable, match=r"network\.busy"):
                self._flood(network, outcomes)
            with pytest.raises(Unavailable, match=r"network\.busy"):
                network.desk.submit(JournalStep(network.message(answers=unanswered.number), b""), outcomes.append)
            acknowledgement = DeliveriesAcknowledged(at_us=1, by=SELLER, deliveries=(queued.number,))
            network.desk.submit(JournalStep(acknowledgement, reserve=True), outcomes.append)
            assert outcomes == []
        later = DeliveriesReturned(at_us=1, by=SELLER, reason="too late", delay_s=0.0, deliveries=(queued.number,))
        await network.submit(JournalStep(later, reserve=True))  # not before any of those
        assert len(outcomes) > 50
        assert all(isinstance(outcome, Committed) for outcome in outcomes)
        assert await network.state(queued.number) == DeliveryState.DELIVERED
        network.clock.advance(LEASE_S + 1)
        assert delivery_numbers(await network.poll()) == [unanswered.number]  # a refused response settles nothing

    def _flood(self, network: DeskHarness, outcomes: list[StepOutcome]) -> None:
        body = bytes(1 << 20)
        for _ in range(200):
            network.desk.submit(JournalStep(network.message(to=("?",)), body), outcomes.append)

    # --- settling ------------------------------------------------------------------------------------------------

    async def test_what_is_acknowledged_is_final(self, network: DeskHarness) -> None:
        await network.post(network.message())
        [queued] = await network.poll()
        assert isinstance(await network.acknowledge(queued.number), Committed)
        network.clock.advance(LEASE_S + 1)
        assert await network.poll() == []
        assert await network.state(queued.number) == DeliveryState.DELIVERED

    async def test_acknowledging_again_changes_nothing(self, network: DeskHarness) -> None:
        await network.post(network.message())
        await network.post(network.message())
        one, two = delivery_numbers(await network.poll())
        for _ in range(3):
            assert isinstance(await network.acknowledge(one), Committed)
        assert isinstance(await network.acknowledge(one, two), Committed)
        assert isinstance(await network.give_back(one), Committed)
        network.clock.advance(LEASE_S + 1)
        assert await network.poll() == []
        assert await network.state(one) == DeliveryState.DELIVERED

    async def test_an_acknowledgement_after_the_lease_still_counts(self, network: DeskHarness) -> None:
        await network.post(network.message())
        [queued] = await network.poll()
        network.clock.advance(LEASE_S + 1)
        await network.acknowledge(queued.number)
        assert await network.poll() == []

    async def test_an_acknowledgement_by_the_first_poller_ends_the_lease_of_the_second(
        self, network: DeskHarness
    ) -> None:
        await network.post(network.message())
        [queued] = await network.poll()
        network.clock.advance(LEASE_S + 1)
        assert len(await network.poll()) == 1
        await network.acknowledge(queued.number)
        network.clock.advance(LEASE_S + 1)
        assert await network.poll() == []

    async def test_polls_and_acknowledgements_at_the_same_time_never_bring_one_back(self, network: DeskHarness) -> None:
        for _ in range(30):
            await network.post(network.message())
        mine = delivery_numbers(await network.poll())
        network.clock.advance(LEASE_S + 1)
        acknowledged: set[int] = set()

        async def acknowledge(number: int) -> None:
            await network.acknowledge(number)
            acknowledged.add(number)

        async def poll() -> list[int]:
            before = set(acknowledged)
            return [number for number in delivery_numbers(await network.poll(most=5)) if number in before]

        results = await asyncio.gather(*(acknowledge(number) for number in mine), *(poll() for _ in range(8)))
        assert [late for late in results if late] == []
        network.clock.advance(LEASE_S + 1)
        assert await network.poll() == []

    async def test_what_was_ended_is_never_handed_out(self, network: DeskHarness) -> None:
        number = delivery_number(await network.post(network.message()), 0)
        await network.end("cancelled", number)
        assert await network.poll() == []
        assert await network.state(number) == DeliveryState.CANCELLED

    async def test_a_response_settles_the_delivery_that_it_answers(self, network: DeskHarness) -> None:
        await network.post(network.message())
        [request] = await network.poll()
        seq = await network.post(network.message(sender=SELLER, to=(BUYER,), answers=request.number))
        assert [queued.message_seq for queued in await network.poll(BUYER)] == [seq]
        network.clock.advance(LEASE_S + 1)
        assert await network.poll() == []
        assert await network.state(request.number) == DeliveryState.DELIVERED

    async def test_an_answered_invocation_goes_on_to_the_next_hop(self, network: DeskHarness) -> None:
        message = network.message(via=CARRIER)
        await network.post(message)
        assert await network.poll(SELLER) == []
        [in_transit] = await network.poll(CARRIER)
        outcome = await network.pass_on(in_transit, b"changed")
        assert isinstance(outcome, Committed)
        [arrived] = await network.poll(SELLER)
        assert (arrived.number, arrived.hop, arrived.message) == (delivery_number(outcome.seq, 0), 1, message)
        assert [part.content_type for part in arrived.content.parts] == ["text/html"]
        assert await network.desk.body(arrived) == b"changed"
        network.clock.advance(LEASE_S + 1)
        assert await network.poll(CARRIER) == []

    async def test_an_invocation_is_answered_once(self, network: DeskHarness) -> None:
        await network.post(network.message(via=CARRIER))
        [in_transit] = await network.poll(CARRIER)
        first, second = await network.pass_on(in_transit), await network.pass_on(in_transit)
        assert isinstance(first, Committed)
        assert isinstance(second, Conflict)
        assert second.seq == first.seq
        assert len(await network.poll(SELLER)) == 1

    async def test_an_invocation_acknowledged_before_its_answer_still_goes_on(self, network: DeskHarness) -> None:
        await network.post(network.message())
        await network.post(network.message(via=CARRIER))
        [in_transit] = await network.poll(CARRIER)
        await network.acknowledge(in_transit.number, by=CARRIER)
        assert isinstance(await network.pass_on(in_transit), Committed)
        assert [queued.message for queued in await network.poll(SELLER)][1:] == [in_transit.message]

    # --- after a restart -----------------------------------------------------------------------------------------

    async def test_a_restart_keeps_what_waits_and_brings_nothing_back(self, network: DeskHarness) -> None:
        seqs = [await network.post(network.message(via=CARRIER if part == 4 else "")) for part in range(5)]
        got = await network.poll(most=2)
        await network.acknowledge(got[0].number)
        [in_transit] = await network.poll(CARRIER)
        await network.pass_on(in_transit, b"changed")
        network.desk = await self.restart(network.desk)
        network.clock.advance(LEASE_S + 1)
        again = await network.poll()
        assert [queued.message_seq for queued in again] == seqs[1:]
        assert [queued.attempt for queued in again] == [2, 1, 1, 1]
        assert [await network.desk.body(queued) for queued in again] == [b"hello"] * 3 + [b"changed"]
        assert await network.poll(CARRIER) == []

    async def test_a_delay_outlives_a_restart(self, network: DeskHarness) -> None:
        await network.post(network.message())
        [queued] = await network.poll()
        await network.give_back(queued.number, delay_s=600)
        network.desk = await self.restart(network.desk)
        network.clock.advance(500)
        assert await network.poll() == []
        network.clock.advance(101)
        assert len(await network.poll()) == 1

    # --- looking up --------------------------------------------------------------------------------------------

    async def test_a_delivery_is_found_however_long_ago_it_was(self, network: DeskHarness) -> None:
        message = network.message()
        old = delivery_number(await network.post(message), 0)
        await network.poll()
        found = await network.desk.find(old)
        assert found is not None
        assert (found.state, found.queued.attempt, found.queued.message) == (DeliveryState.QUEUED, 1, message)
        await network.acknowledge(old)
        network.desk = await self.restart(network.desk)
        found = await network.desk.find(old)
        assert found is not None
        assert (found.state, found.queued.message, found.queued.recipient) == (DeliveryState.DELIVERED, message, SELLER)
        assert await network.desk.find(delivery_number(99, 0)) is None

    async def test_deliveries_are_looked_up_together(self, network: DeskHarness) -> None:
        first, second, third = [delivery_number(await network.post(network.message()), 0) for _ in range(3)]
        await network.poll()
        await network.acknowledge(second)
        found = await network.desk.find_all([third, delivery_number(99, 0), second, first, first])
        assert {number: one.state for number, one in found.items()} == {
            first: DeliveryState.QUEUED,
            second: DeliveryState.DELIVERED,
            third: DeliveryState.QUEUED,
        }
        assert [found[number].queued.number for number in (first, second, third)] == [first, second, third]
        assert await network.desk.find_all([]) == {}

    async def test_a_key_is_remembered_with_entry_and_session(self, network: DeskHarness) -> None:
        message = network.message(handle="h")
        key = unique_keys(message)[0]
        assert await network.desk.find_first_use(key) is None
        seq = await network.post(message)
        assert await network.desk.find_first_use(key) == (seq, message.session)
        network.desk = await self.restart(network.desk)
        assert await network.desk.find_first_use(key) == (seq, message.session)
