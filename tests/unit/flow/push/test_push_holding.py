"""Store and forward over the real stages in memory, in virtual time: what is held back goes exactly when it should."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from postroad.core.model.directory import DeliveryWindow, Release
from postroad.core.model.journal import DeliveriesEnded, DeliveriesReleased
from postroad.core.model.message import MessageType
from postroad.core.model.polling import PollRequest
from postroad.flow.registries.configuration import build_save
from postroad.testing.push_receivers import push_url
from tests.samples.pushes import BUSY, BUYER, OK, PushScenario, in_virtual_time

ACME = "Acme/Supply"
URL = push_url(ACME)
SECOND_US = 1_000_000
HOUR_S = 3_600


async def gcid_of(at: PushScenario, **release: Any) -> str:
    caller = await at.pushed_service(ACME, release=Release(**release))
    assert caller.service is not None
    return caller.service.gcid


async def post_every(at: PushScenario, pause_s: float, count: int) -> None:
    """The first now, and the time after each."""
    for _ in range(count):
        await at.send(ACME)
        await asyncio.sleep(pause_s)  # sleeps: in virtual time


def seen_after_s(at: PushScenario, since_us: int) -> list[float]:
    """When each push was seen, in seconds; to a tenth, since writing takes its time."""
    return [round((one.at_us - since_us) / SECOND_US, 1) for one in at.receivers.received]


async def releases(at: PushScenario) -> list[DeliveriesReleased]:
    return [entry for entry in await at.journal() if isinstance(entry, DeliveriesReleased)]


@pytest.mark.req("X9")
def test_held_messages_are_released_when_the_oldest_has_waited_for_the_period() -> None:
    async def work(at: PushScenario) -> None:
        gcid = await gcid_of(at, every_s=60)
        began_us = at.clock.now_us()
        await post_every(at, 25, 4)  # at 0, 25 and 50 seconds; and at 75, which is after the first release
        await asyncio.sleep(HOUR_S)
        assert seen_after_s(at, began_us) == [60.0, 60.0, 60.0, 135.0]
        first, second = await releases(at)
        assert (first.by, first.service, first.waiting, second.waiting) == ("network", gcid, 3, 1)
        assert first.reason == "the oldest had waited 60 s"

    in_virtual_time(work)


@pytest.mark.req("X9")
def test_a_period_longer_than_any_nap_is_kept_to_the_second() -> None:
    async def work(at: PushScenario) -> None:
        await gcid_of(at, every_s=86_400)
        await asyncio.sleep(1_000)
        began_us = at.clock.now_us()
        await post_every(at, 10_000, 8)
        await asyncio.sleep(86_400)
        assert seen_after_s(at, began_us) == [86_400.0] * 8

    in_virtual_time(work)


@pytest.mark.req("X9")
def test_held_messages_are_released_as_soon_as_there_are_enough() -> None:
    async def work(at: PushScenario) -> None:
        await gcid_of(at, when_waiting=3)
        began_us = at.clock.now_us()
        await post_every(at, 100, 5)
        await asyncio.sleep(10 * HOUR_S)
        assert seen_after_s(at, began_us) == [200.0] * 3
        await at.send(ACME)
        await asyncio.sleep(1)
        assert len(at.receivers.received) == 6
        assert [(one.waiting, one.reason) for one in await releases(at)] == [(3, "3 were waiting")] * 2

    in_virtual_time(work)


@pytest.mark.req("X9")
def test_whichever_comes_first_wins() -> None:
    async def work(at: PushScenario) -> None:
        await gcid_of(at, when_waiting=3, every_s=250)
        began_us = at.clock.now_us()
        await post_every(at, 100, 3)
        await asyncio.sleep(700)  # it is second 1000
        await post_every(at, 200, 2)
        await asyncio.sleep(HOUR_S)
        assert seen_after_s(at, began_us) == [200.0] * 3 + [1_250.0] * 2

    in_virtual_time(work)


@pytest.mark.req("X9")
def test_on_request_all_that_waits_goes_and_what_comes_later_does_not() -> None:
    async def work(at: PushScenario) -> None:
        gcid = await gcid_of(at, on_request=True)
        await post_every(at, 5_000, 3)
        assert at.receivers.received == []
        held = await at.network.releases.release(gcid, "ada@acme.example", "on request")
        assert held.waiting == 3
        await at.send(ACME)
        await asyncio.sleep(HOUR_S)
        assert len(at.receivers.received) == 3
        [entry] = await releases(at)
        assert (entry.by, entry.reason, entry.waiting) == ("ada@acme.example", "on request", 3)
        assert (await at.network.releases.release(gcid, "ada", "on request")).waiting == 1
        assert (await at.network.releases.release(gcid, "ada", "on request")).waiting == 0
        await asyncio.sleep(1)
        assert len(at.receivers.received) == 4
        assert len(await releases(at)) == 2, "where nothing waits, nothing is written"

    in_virtual_time(work)


@pytest.mark.req("X9")
def test_a_request_is_heard_while_the_period_runs() -> None:
    async def work(at: PushScenario) -> None:
        gcid = await gcid_of(at, every_s=1_000)
        began_us = at.clock.now_us()
        await post_every(at, 300, 1)
        await at.network.releases.release(gcid, "ada", "on request")
        await asyncio.sleep(50)
        await post_every(at, HOUR_S, 1)
        assert seen_after_s(at, began_us) == [300.0, 1_350.0]

    in_virtual_time(work)


@pytest.mark.req("X9", "D4")
def test_released_messages_wait_for_the_delivery_window() -> None:
    async def work(at: PushScenario) -> None:
        hour = (at.clock.now_us() // SECOND_US // HOUR_S + 3) % 24
        window = DeliveryWindow(opens=f"{hour:02}:00", closes=f"{hour:02}:30")
        caller = await at.pushed_service(ACME, release=Release(every_s=60), windows=(window,))
        assert caller.service is not None
        await at.send(ACME)
        await at.network.releases.release(caller.service.gcid, "ada", "on request")
        await asyncio.sleep(24 * HOUR_S)
        [seen] = at.receivers.received
        assert seen.at_us // SECOND_US // HOUR_S % 24 == hour
        assert seen.at_us // SECOND_US % HOUR_S < 30 * 60

    in_virtual_time(work)


@pytest.mark.req("X9")
def test_holding_survives_a_restart() -> None:
    began: list[int] = []

    async def before(at: PushScenario) -> None:
        await gcid_of(at, every_s=600)
        began.append(at.clock.now_us())
        await post_every(at, 100, 2)

    async def after(at: PushScenario) -> None:
        await post_every(at, 100, 1)
        assert at.receivers.received == []
        await asyncio.sleep(HOUR_S)
        assert seen_after_s(at, began[0]) == [600.0] * 3

    in_virtual_time(before, after)


@pytest.mark.req("X9")
def test_released_messages_stay_released_after_a_restart() -> None:
    async def before(at: PushScenario) -> None:
        await gcid_of(at, when_waiting=3)
        at.receivers.answer(URL, OK, BUSY)
        await post_every(at, 1, 3)
        assert len(await releases(at)) == 1

    async def after(at: PushScenario) -> None:
        await asyncio.sleep(HOUR_S)
        assert len(at.receivers.received) == 2, (
            "those that the receiver was too busy for, although they are too few to go"
        )
        await at.send(ACME)
        await asyncio.sleep(HOUR_S)
        assert len(at.receivers.received) == 2, "a further one is held"

    in_virtual_time(before, after)


def test_a_retry_keeps_its_own_time() -> None:
    async def work(at: PushScenario) -> None:
        await gcid_of(at, every_s=100_000)
        at.receivers.answer(URL, BUSY, OK)
        began_us = at.clock.now_us()
        await at.send(ACME)
        await asyncio.sleep(200_000)
        first, second = seen_after_s(at, began_us)
        assert first == 100_000.0
        assert 3 < second - first < 10, "five seconds, more or less"

    in_virtual_time(work)


def test_the_service_may_poll_what_is_held_back() -> None:
    async def work(at: PushScenario) -> None:
        caller = await at.pushed_service(ACME, release=Release(every_s=60))
        await at.send(ACME)
        assert len(await at.network.poll(caller, PollRequest(lease_s=HOUR_S))) == 1
        await asyncio.sleep(HOUR_S / 2)
        assert at.receivers.received == []

    in_virtual_time(work)


def test_a_lease_that_lapses_while_its_message_is_held_does_not_keep_the_courier_awake() -> None:
    async def work(at: PushScenario) -> None:
        caller = await at.pushed_service(ACME, release=Release(on_request=True))
        await at.send(ACME)
        await at.network.poll(caller, PollRequest(lease_s=10))
        looks = 0
        releases: Any = at.network.releases
        held = releases.find_held

        async def counted(*arguments: Any) -> Any:
            nonlocal looks
            looks += 1
            return await held(*arguments)

        releases.find_held = counted
        await asyncio.sleep(HOUR_S)
        assert looks < 70, "once a minute, and when the lease lapsed"

    in_virtual_time(work)


def test_what_arrives_while_the_courier_looks_is_not_missed() -> None:
    async def work(at: PushScenario) -> None:
        releases: Any = at.network.releases
        held = releases.find_held

        async def answered_late(*arguments: Any) -> Any:
            found = await held(*arguments)
            releases.find_held = held
            await asyncio.sleep(10)
            return found

        releases.find_held = answered_late
        await gcid_of(at, every_s=5)
        began_us = at.clock.now_us()
        await asyncio.sleep(3)
        await at.send(ACME)
        await asyncio.sleep(HOUR_S)
        assert seen_after_s(at, began_us) == [10.0], "as soon as the answer is there, which is after it was due"

    in_virtual_time(work)


def test_with_a_changed_profile_what_was_held_goes_at_once() -> None:
    async def work(at: PushScenario) -> None:
        caller = await at.pushed_service(ACME, release=Release(on_request=True))
        await at.send(ACME)
        await asyncio.sleep(HOUR_S)
        assert caller.service is not None
        assert at.receivers.received == []
        freed = dataclasses.replace(caller.service, release=None)
        await at.network.configuration.change("test", [build_save(freed)])
        await asyncio.sleep(1)
        assert len(at.receivers.received) == 1
        assert await releases(at) == []

    in_virtual_time(work)


def test_services_that_hold_nothing_back_ask_the_index_nothing() -> None:
    async def work(at: PushScenario) -> None:
        asked: list[str] = []
        query = at.network.index.query

        async def noted(name: str, *parameters: Any) -> Any:
            asked.append(name)
            return await query(name, *parameters)

        at.network.index.query = noted  # type: ignore[method-assign]
        await at.pushed_service(ACME)
        await post_every(at, 10, 20)
        assert len(at.receivers.received) == 20
        assert {"held_back", "released_to", "waiting_at"}.isdisjoint(asked)

    in_virtual_time(work)


# --- the time limit ----------------------------------------------------------------------------------------------------


@pytest.mark.req("X9")
def test_a_message_that_is_held_too_long_expires_with_its_reason() -> None:
    async def work(at: PushScenario) -> None:
        await gcid_of(at, on_request=True, keep_s=500)
        began_us = at.clock.now_us()
        sessions = [await at.send(ACME)]
        await asyncio.sleep(200)
        sessions.append(await at.send(ACME))
        await asyncio.sleep(299)
        assert [await at.state(session) for session in sessions] == ["queued", "queued"]
        await asyncio.sleep(2)
        assert [await at.state(session) for session in sessions] == ["expired", "queued"]
        await asyncio.sleep(HOUR_S)
        ended = [entry for entry in await at.journal() if isinstance(entry, DeliveriesEnded)]
        assert [round((entry.at_us - began_us) / SECOND_US) for entry in ended] == [500, 700]
        assert {entry.reason for entry in ended} == {
            "it waited longer than the 500 s for which its receiver keeps messages"
        }
        assert at.receivers.received == []

    in_virtual_time(work)


@pytest.mark.req("X9", "M10")
@pytest.mark.parametrize("pushed", [True, False])
def test_a_requester_is_told_when_its_request_was_kept_too_long(pushed: bool) -> None:
    async def work(at: PushScenario) -> None:
        release = Release(keep_s=60, on_request=pushed)
        if pushed:
            await at.pushed_service(ACME, release=release)
        else:
            await at.service(ACME, release=release)
        session = await at.send(ACME, type=MessageType.REQUEST)
        await asyncio.sleep(61)
        told = await at.receive(BUYER)
        assert told.type is MessageType.RESPONSE
        assert told.reference is not None
        assert told.reference.session == session
        assert told.status is not None
        assert told.status.code == "route.expired"
        assert "it waited longer than the 60 s" in told.status.text

    in_virtual_time(work)


@pytest.mark.req("X9")
def test_a_time_limit_without_holding_is_for_what_cannot_be_pushed() -> None:
    async def work(at: PushScenario) -> None:
        await gcid_of(at, keep_s=600)
        session = await at.send(ACME)
        await asyncio.sleep(1)
        assert await at.state(session) == "delivered"
        at.receivers.answer(URL, BUSY)
        session = await at.send(ACME)
        await asyncio.sleep(601)
        assert await at.state(session) == "expired"

    in_virtual_time(work)


def test_a_new_time_limit_counts_for_what_waits_already() -> None:
    async def work(at: PushScenario) -> None:
        caller = await at.pushed_service(ACME, release=Release(on_request=True))
        session = await at.send(ACME)
        await asyncio.sleep(HOUR_S)
        assert caller.service is not None
        limited = dataclasses.replace(caller.service, release=Release(on_request=True, keep_s=1_800))
        await at.network.configuration.change("test", [build_save(limited)])
        await asyncio.sleep(0.1)
        assert await at.state(session) == "expired"

    in_virtual_time(work)


@pytest.mark.req("X9")
def test_time_limits_survive_a_restart_and_end_any_number_of_messages() -> None:
    async def before(at: PushScenario) -> None:
        await gcid_of(at, on_request=True, keep_s=HOUR_S)
        for _ in range(620):
            await at.send(ACME)

    async def after(at: PushScenario) -> None:
        await asyncio.sleep(HOUR_S + 1)
        ended = [entry for entry in await at.journal() if isinstance(entry, DeliveriesEnded)]
        assert sum(len(entry.deliveries) for entry in ended) == 620

    in_virtual_time(before, after)
