"""Pauses of pushes: what a failing receiver gets meanwhile, and what happens when it is well again."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from postroad.core.delivery.push_request import PushAnswer, PushRequest
from postroad.core.model.caller import Caller
from postroad.core.model.directory import DeliveryMode, DeliveryWindow, Push, PushAuthentication
from postroad.core.model.journal import DeliveryAttempted
from postroad.core.model.message import MessageType, Recipient
from postroad.core.model.polling import Outcome, PollRequest, Settlement
from postroad.flow.administration.messages.search import find
from postroad.flow.administration.pushes import try_now
from postroad.flow.registries.configuration import build_save
from postroad.flow.registries.push_control import RequestedPush
from postroad.testing.push_receivers import ReceivedPush, push_url
from tests.samples.pushes import BUSY, BUYER, OK, PushScenario, in_virtual_time
from tests.unit.flow.push.test_push import ACME, HOUR_S, SECOND_US, URL, delivered_in

PATIENT = {"retry_interval_s": 2, "tries": 50}


def sessions_in(seen: list[ReceivedPush]) -> list[str]:
    return [delivered_in(one.request).session for one in seen]


@pytest.mark.req("D3", "D6")
def test_after_a_probe_succeeds_everything_is_pushed_at_once_and_in_order() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME, push=PATIENT)
        at.receivers.answer(URL, BUSY)
        sessions = [await at.send(ACME) for _ in range(8)]
        await asyncio.sleep(30)
        probed = asyncio.Event()

        async def well(_: PushRequest) -> PushAnswer:
            probed.set()
            return OK

        at.receivers.answer_with(URL, well)
        at.receivers.received.clear()
        await probed.wait()
        sessions.append(await at.send(ACME))
        await asyncio.sleep(1)
        assert sessions_in(at.receivers.received) == sessions

    in_virtual_time(work)


@pytest.mark.req("D3")
def test_a_success_after_a_pause_ends_the_long_pauses_between_tries_too() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME, push={"tries": 9})  # its pauses grow from 5 s to 10 hours
        at.receivers.answer(URL, BUSY)
        old = [await at.send(ACME) for _ in range(3)]
        await asyncio.sleep(HOUR_S)
        at.receivers.answer(URL, OK)
        at.receivers.received.clear()
        newest = await at.send(ACME)  # it serves as the probe
        await asyncio.sleep(62)
        assert sessions_in(at.receivers.received) == [newest, *old]

    in_virtual_time(work)


def test_a_message_that_alone_is_refused_is_not_tried_more_often_than_others_succeed() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME, push={"tries": 3, "retry_interval_s": 600})

        async def answering(request: PushRequest) -> PushAnswer:
            return BUSY if delivered_in(request).topic == "bad" else OK

        at.receivers.answer_with(URL, answering)
        bad = await at.send(ACME, topic="bad")
        for _ in range(20):
            await at.send(ACME)
            await asyncio.sleep(1)
        assert sessions_in(at.receivers.received).count(bad) <= 2

    in_virtual_time(work)


@pytest.mark.req("D3")
def test_a_changed_profile_is_tried_at_once_with_what_waits() -> None:
    async def work(at: PushScenario) -> None:
        acme = await at.pushed_service(ACME, push={"retry_interval_s": 10 * HOUR_S})
        assert acme.service is not None
        at.receivers.answer(URL, BUSY)
        sessions = [await at.send(ACME) for _ in range(4)]
        await asyncio.sleep(1)
        at.receivers.received.clear()
        push = Push(url=push_url("Acme/Other"), authentication=PushAuthentication.NONE)
        mended = dataclasses.replace(acme.service, push=push)
        await at.network.configuration.change("test", [build_save(mended)])
        await asyncio.sleep(1)
        assert sessions_in(at.receivers.at(push_url("Acme/Other"))) == sessions

    in_virtual_time(work)


def test_a_restart_uses_up_no_tries() -> None:
    async def before(at: PushScenario) -> None:
        await at.pushed_service(ACME, push={"retry_interval_s": HOUR_S, "tries": 3})
        at.receivers.answer(URL, BUSY)
        await at.send(ACME)
        await asyncio.sleep(1)

    async def after(at: PushScenario) -> None:
        await asyncio.sleep(1)
        assert at.receivers.received == []

    in_virtual_time(before, after)


@pytest.mark.req("D6")
@pytest.mark.parametrize("mode", [DeliveryMode.PUSH, DeliveryMode.POLL])
def test_a_delivery_that_waits_for_its_next_push_can_be_polled(mode: DeliveryMode) -> None:
    async def work(at: PushScenario) -> None:
        acme = await at.pushed_service(ACME, push={"retry_interval_s": 10 * HOUR_S})
        assert acme.service is not None
        at.receivers.answer(URL, BUSY)
        session = await at.send(ACME)
        await asyncio.sleep(1)
        await at.network.configuration.change("test", [build_save(dataclasses.replace(acme.service, delivery=mode))])
        [polled] = await at.network.poll(acme, PollRequest(lease_s=60))
        assert polled.session == session
        await at.network.settle(acme, Settlement(tokens=(polled.token,)))
        at.receivers.answer(URL, OK)
        at.receivers.received.clear()
        await asyncio.sleep(24 * HOUR_S)
        assert at.receivers.received == []
        assert await at.state(session) == "delivered"

    in_virtual_time(work)


@pytest.mark.req("D6")
@pytest.mark.parametrize("given_back", [False, True])
def test_a_polled_delivery_that_is_not_acknowledged_is_pushed_when_due(given_back: bool) -> None:
    async def work(at: PushScenario) -> None:
        acme = await at.pushed_service(ACME, push={"retry_interval_s": HOUR_S, "tries": 2})
        at.receivers.answer(URL, BUSY)
        session = await at.send(ACME)
        await asyncio.sleep(1)
        for _ in range(5):  # a poll is not a try
            [polled] = await at.network.poll(acme, PollRequest(lease_s=60))
            if given_back:
                nack = Settlement(tokens=(polled.token,), outcome=Outcome.NACK)
                await at.network.settle(acme, nack)
            await asyncio.sleep(61)
        assert len(at.receivers.received) == 1
        at.receivers.answer(URL, OK)
        await asyncio.sleep(2 * HOUR_S)
        first, second = at.receivers.received
        assert (second.at_us - first.at_us) / SECOND_US >= 0.79 * HOUR_S
        assert await at.state(session) == "delivered"

    in_virtual_time(work)


def test_tries_are_counted_over_restarts_and_a_stop_is_not_one() -> None:
    """A stop in good order gives a push back that hangs; the tries before it still count."""

    async def first(at: PushScenario) -> None:
        await at.pushed_service(ACME, push={"retry_interval_s": 60, "tries": 3})
        at.receivers.answer(URL, BUSY)
        await at.send(ACME)
        await asyncio.sleep(1)

    async def hanging(at: PushScenario) -> None:
        at.receivers.hang(URL)
        await asyncio.sleep(3)
        interrupted.extend(at.receivers.received)

    async def last(at: PushScenario) -> None:
        at.receivers.answer(URL, BUSY)
        await asyncio.sleep(HOUR_S)
        attempted = [entry for entry in await at.journal() if isinstance(entry, DeliveryAttempted)]
        assert len(attempted) == 2
        assert len(at.receivers.received) == 2
        ends: list[Any] = [entry for entry in await at.journal() if type(entry).__name__ == "DeliveriesEnded"]
        assert [entry.reason for entry in ends] == ["the receiver answered 503; tried 3 times"]
        assert len(interrupted) >= 20

    interrupted: list[ReceivedPush] = []
    in_virtual_time(first, *[hanging] * 50, last)


@pytest.mark.req("D3")
def test_a_pause_is_known_with_its_end_and_its_cause() -> None:
    async def work(at: PushScenario) -> None:
        acme = await at.pushed_service(ACME, push=PATIENT)
        assert acme.service is not None
        pushes = at.network.pushes
        assert pushes.pause(acme.service.gcid) is None
        at.receivers.answer(URL, BUSY)
        session = await at.send(ACME)
        await asyncio.sleep(30)
        pause = pushes.pause(acme.service.gcid)
        assert pause is not None
        assert (pause.failed, pause.of) == (5, 5)
        found = await find(at.network, Caller(service=acme.service), session)
        [where] = found.messages[0].whereabouts
        assert "paused because 5 of the last 5 pushes failed" in where.next
        assert where.next_us == pause.until_us
        at.receivers.received.clear()
        await asyncio.sleep((pause.until_us - at.clock.now_us()) / SECOND_US + 1)
        assert [one.at_us for one in at.receivers.received] == [pytest.approx(pause.until_us, abs=SECOND_US)]

    in_virtual_time(work)


@pytest.mark.req("D3")
def test_a_push_can_be_tried_at_once_and_its_success_ends_the_pause() -> None:
    async def work(at: PushScenario) -> None:
        acme = await at.pushed_service(ACME, push=PATIENT)
        network = at.network
        assert acme.service is not None
        at.receivers.answer(URL, BUSY)
        sessions = [await at.send(ACME) for _ in range(3)]
        await asyncio.sleep(20)
        _, tried = await try_now(network, acme, ACME)
        assert tried == RequestedPush(session=sessions[0], reason="the receiver answered 503")
        assert network.pushes.pause(acme.service.gcid) is not None
        at.receivers.answer(URL, OK)
        at.receivers.received.clear()
        _, tried = await try_now(network, acme, ACME)
        assert tried == RequestedPush(session=sessions[0], is_delivered=True)
        assert network.pushes.pause(acme.service.gcid) is None
        await asyncio.sleep(1)
        assert sessions_in(at.receivers.received) == sessions
        assert (await try_now(network, acme, ACME))[1].reason == "no message is waiting"

    in_virtual_time(work)


def test_a_push_is_not_tried_outside_the_windows() -> None:
    async def work(at: PushScenario) -> None:
        acme = await at.pushed_service(ACME, windows=(DeliveryWindow(opens="15:00", closes="16:00"),))
        await at.send(ACME)
        assert (await try_now(at.network, acme, ACME))[1] == RequestedPush(reason="the delivery window is closed")
        assert at.receivers.received == []

    in_virtual_time(work)


@pytest.mark.req("R15")
def test_an_in_transit_service_that_answers_a_push_with_nothing_is_waited_for_until_the_message_expires() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service("Transmatics/Upper")
        await at.service(ACME)
        expires_at_us = at.clock.now_us() + HOUR_S * SECOND_US
        session = await at.send(
            ACME, type=MessageType.REQUEST, route=(Recipient("Transmatics/Upper"),), expires_at_us=expires_at_us
        )
        await asyncio.sleep(HOUR_S / 2)
        assert await at.events(session) == ["handed out", "acknowledged"]
        found = await find(at.network, at.caller(BUYER), session)
        assert found.messages[0].whereabouts[0].next == "Transmatics/Upper is expected to respond."
        await asyncio.sleep(HOUR_S)
        told = await at.receive(BUYER)
        assert told.status is not None
        assert told.status.code == "route.expired"

    in_virtual_time(work)
