"""Desk contract for handing out: order, leases, selectors, expiry, and waking waiting receivers."""

from __future__ import annotations

import asyncio

import pytest

from postroad.core.model.delivery import DeliveryState
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import DeliveriesReleased, DeliveryAttempted, DeliveryTranslated
from postroad.core.model.message import MessageType, Property
from postroad.core.model.selector import EVERYTHING, Selector
from postroad.ports import JournalStep
from postroad.testing.contracts.desk.desk_under_test import (
    CARRIER,
    LEASE_S,
    SELLER,
    DeskHarness,
    DeskUnderTest,
    delivery_numbers,
)


class HandOutContract(DeskUnderTest):
    """The hand-out tests of ``DeskContract``."""

    # --- handing out ---------------------------------------------------------------------------------------------

    async def test_a_post_is_handed_out_as_it_was_posted(self, network: DeskHarness) -> None:
        message = network.message(handle="h", properties=(Property("colour", "red"),))
        seq = await network.post(message, b"\x00bytes\xff")
        [queued] = await network.poll()
        assert (queued.number, queued.message_seq, queued.message) == (delivery_number(seq, 0), seq, message)
        assert (queued.copy, queued.hop, queued.recipient, queued.attempt) == (0, 0, SELLER, 1)
        assert queued.content.parts == message.parts
        assert await network.desk.body(queued) == b"\x00bytes\xff"
        found = await network.desk.find(queued.number)
        assert found is not None
        assert (found.queued.leased, found.queued.available_at) == (True, network.clock.monotonic() + LEASE_S)

    async def test_a_body_may_be_large_empty_or_absent(self, network: DeskHarness) -> None:
        bodies = [bytes(range(256)) * 1000, b"", None]
        for body in bodies:
            await network.submit(JournalStep(network.message(), body))
        got = await network.poll()
        assert [await network.desk.body(queued) for queued in got] == [bodies[0], b"", b""]

    async def test_every_recipient_has_a_queue_of_its_own(self, network: DeskHarness) -> None:
        seq = await network.post(network.message(to=(SELLER, "?", CARRIER)))
        assert delivery_numbers(await network.poll(SELLER)) == [delivery_number(seq, 0)]
        assert delivery_numbers(await network.poll(CARRIER)) == [delivery_number(seq, 2)]
        assert await network.poll("?") == []

    async def test_deliveries_leave_in_the_order_of_their_posts(self, network: DeskHarness) -> None:
        seqs = await asyncio.gather(*(network.post(network.message()) for _ in range(30)))
        got = [*await network.poll(most=7), *await network.poll(most=100)]
        assert [queued.message_seq for queued in got] == sorted(seqs)

    async def test_leased_deliveries_are_counted_by_mailbox(self, network: DeskHarness) -> None:
        for _ in range(3):
            await network.post(network.message(to=(SELLER, CARRIER)))
        assert await network.desk.count_leased() == {}
        taken = await network.poll(SELLER, most=2)
        assert await network.desk.count_leased() == {SELLER: 2}
        await network.poll(CARRIER, most=1)
        await network.acknowledge(taken[0].number)
        assert await network.desk.count_leased() == {SELLER: 1, CARRIER: 1}
        network.clock.advance(LEASE_S + 1)
        assert await network.desk.count_leased() == {}

    async def test_what_is_leased_is_not_handed_out_again_until_the_lease_is_over(self, network: DeskHarness) -> None:
        await network.post(network.message())
        [first] = await network.poll(lease_s=30)
        network.clock.advance(29)
        assert await network.poll() == []
        network.clock.advance(2)
        [again] = await network.poll()
        assert (again.number, again.attempt) == (first.number, 2)

    async def test_what_lapsed_comes_again_at_its_old_place(self, network: DeskHarness) -> None:
        seqs = [await network.post(network.message()) for _ in range(4)]
        await network.poll(most=2)
        network.clock.advance(LEASE_S + 1)
        assert [queued.message_seq for queued in await network.poll()] == seqs

    async def test_two_pollers_never_hold_the_same_delivery(self, network: DeskHarness) -> None:
        for _ in range(40):
            await network.post(network.message())
        got = await asyncio.gather(*(network.poll(most=7) for _ in range(12)))
        handed_out = [number for one in got for number in delivery_numbers(one)]
        assert len(handed_out) == len(set(handed_out)) == 40

    async def test_what_is_given_back_comes_again_at_once_or_after_the_delay(self, network: DeskHarness) -> None:
        now, later = [delivery_number(await network.post(network.message()), 0) for _ in range(2)]
        await network.poll()
        await network.give_back(now)
        await network.give_back(later, delay_s=60)
        assert delivery_numbers(await network.poll(lease_s=500)) == [now]
        network.clock.advance(59)
        assert await network.poll() == []
        network.clock.advance(2)
        assert delivery_numbers(await network.poll()) == [later]

    @pytest.mark.req("D2")
    async def test_selectors_choose_and_leave_the_rest(self, network: DeskHarness) -> None:
        red = (Property("colour", "red"), Property("size", "9"))
        messages = [
            network.message(sender=CARRIER),
            network.message(kind=MessageType.NOTIFICATION),
            network.message(topic="bills"),
            network.message(properties=red),
            network.message(),
        ]
        for message in messages:
            await network.post(message)
        selectors = [
            Selector(sender=CARRIER),
            Selector(type=MessageType.NOTIFICATION),
            Selector(topic="bills"),
            Selector(properties=(("colour", "red"),)),
            Selector(session=messages[4].session),
        ]
        for selector, message in zip(selectors, messages, strict=True):
            assert await network.poll(selector=Selector(topic="bills", sender=CARRIER)) == []
            assert [queued.message for queued in await network.poll(selector=selector)] == [message]
        network.clock.advance(LEASE_S + 1)
        assert [queued.message for queued in await network.poll()] == messages

    async def test_a_selector_finds_what_lies_deep_in_the_queue(self, network: DeskHarness) -> None:
        await asyncio.gather(*(network.post(network.message()) for _ in range(700)))
        wanted = [await network.post(network.message(topic="rare")) for _ in range(3)]
        got = await network.poll(selector=Selector(topic="rare"), most=2)
        assert [queued.message_seq for queued in got] == wanted[:2]

    async def test_what_expired_is_never_handed_out(self, network: DeskHarness) -> None:
        short = delivery_number(await network.post(network.message(expires_in_s=10)), 0)
        long = delivery_number(await network.post(network.message(expires_in_s=100)), 0)
        network.clock.advance(10)
        assert delivery_numbers(await network.poll(most=1)) == [long]
        assert await network.state(short) == DeliveryState.EXPIRED

    async def test_what_was_handed_out_too_often_is_given_up(self, network: DeskHarness) -> None:
        number = delivery_number(await network.post(network.message()), 0)
        for attempt in (1, 2, 3):
            assert [queued.attempt for queued in await network.poll()] == [attempt]
            network.clock.advance(LEASE_S + 1)
        assert await network.poll() == []
        assert await network.state(number) == DeliveryState.FAILED

    async def test_a_claim_may_allow_more_tries_and_never_fewer(self, network: DeskHarness) -> None:
        number = delivery_number(await network.post(network.message()), 0)
        for attempt in (1, 2, 3, 4, 5):
            claimed = await network.desk.claim(SELLER, EVERYTHING, 10, LEASE_S, 1 if attempt < 4 else 5)
            assert [queued.attempt for queued in claimed] == [attempt]
            network.clock.advance(LEASE_S + 1)
        assert await network.desk.claim(SELLER, EVERYTHING, 10, LEASE_S, 5) == []
        assert await network.state(number) == DeliveryState.FAILED

    async def test_what_is_held_back_is_not_handed_out(self, network: DeskHarness) -> None:
        first, second, third = [delivery_number(await network.post(network.message()), 0) for _ in range(3)]
        desk = network.desk
        assert await desk.claim(SELLER, EVERYTHING, 10, LEASE_S, up_to=first - 1) == []
        assert delivery_numbers(await desk.claim(SELLER, EVERYTHING, 10, LEASE_S, up_to=second)) == [first, second]
        assert await desk.claim(SELLER, EVERYTHING, 10, LEASE_S, up_to=second) == []
        assert await desk.claim(SELLER, Selector(topic="orders"), 10, LEASE_S, up_to=second) == []
        network.clock.advance(LEASE_S + 1)
        assert delivery_numbers(await desk.claim(SELLER, Selector(topic="orders"), 10, LEASE_S, up_to=first)) == [first]
        assert delivery_numbers(await desk.claim(SELLER, EVERYTHING, 10, LEASE_S, up_to=second)) == [second]
        assert delivery_numbers(await desk.claim(SELLER, EVERYTHING, 10, LEASE_S)) == [third]

    async def test_a_release_wakes_who_waits_at_its_mailbox(self, network: DeskHarness) -> None:
        waiting = asyncio.ensure_future(network.desk.arrival(SELLER, 60.0))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        await network.write(
            DeliveriesReleased(
                at_us=network.clock.now_us(), by="ada", service=SELLER, reason="on request", up_to=1 << 16, waiting=1
            )
        )
        await asyncio.wait_for(waiting, 2)

    async def test_a_failed_push_comes_again_when_its_pause_is_over(self, network: DeskHarness) -> None:
        await network.post(network.message())
        [queued] = await network.poll(lease_s=1000)
        now_us = network.clock.now_us()
        await network.write(
            DeliveryAttempted(
                at_us=now_us,
                by=SELLER,
                deliveries=(queued.number,),
                status=503,
                duration_ms=12,
                fault="busy",
                delay_s=30.0,
            )
        )
        network.clock.advance(29)
        assert await network.poll() == []
        network.clock.advance(2)
        [again] = await network.poll()
        assert (again.number, again.attempt) == (queued.number, 2)

    async def test_a_translation_changes_nothing_about_a_delivery(self, network: DeskHarness) -> None:
        await network.post(network.message())
        [queued] = await network.poll(lease_s=30)
        dropped = ("part 1: its id has no place in dime",)
        await network.write(
            DeliveryTranslated(
                at_us=network.clock.now_us(),
                by=SELLER,
                delivery=queued.number,
                form="mime",
                format="dime",
                dropped=dropped,
            )
        )
        assert await network.poll() == []
        network.clock.advance(31)
        [again] = await network.poll()
        assert (again.number, again.attempt) == (queued.number, 2)

    # --- waiting and looking up ----------------------------------------------------------------------------------

    async def test_an_arrival_wakes_whoever_waits(self, network: DeskHarness) -> None:
        waiting = asyncio.ensure_future(network.desk.arrival(SELLER, 20))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await network.post(network.message())
        await asyncio.wait_for(waiting, 5)
        assert len(await network.poll()) == 1

    async def test_what_is_given_back_wakes_whoever_waits(self, network: DeskHarness) -> None:
        await network.post(network.message())
        [queued] = await network.poll(lease_s=1000)
        waiting = asyncio.ensure_future(network.desk.arrival(SELLER, 20))
        await asyncio.sleep(0.05)
        await network.give_back(queued.number)
        await asyncio.wait_for(waiting, 4)
        assert len(await network.poll()) == 1

    async def test_waiting_ends_when_the_time_is_over(self, network: DeskHarness) -> None:
        await asyncio.wait_for(network.desk.arrival(SELLER, 0.05), 5)

    async def test_waiting_ends_about_when_a_lease_does(self, network: DeskHarness) -> None:
        await network.post(network.message())
        await network.poll(lease_s=0.2)
        await asyncio.wait_for(network.desk.arrival(SELLER, 20), 4)

    async def test_long_polls_miss_no_arrival(self, network: DeskHarness) -> None:
        got: list[int] = []

        async def consume() -> None:
            while len(got) < 60:
                deliveries = await network.poll(most=3)
                got.extend(delivery_numbers(deliveries))
                if not deliveries:
                    await network.desk.arrival(SELLER, 20)

        async def produce() -> None:
            for _ in range(60):
                await network.post(network.message())

        await asyncio.wait_for(asyncio.gather(consume(), produce()), 15)
        assert len(set(got)) == 60
