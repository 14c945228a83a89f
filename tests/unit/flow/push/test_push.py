"""The push stage over the real stages in memory: what is pushed, when, how often, and what is written down about it."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from base64 import b64encode
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from standardwebhooks import Webhook

from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.soap import SOAP12
from postroad.core.delivery.push_request import PushAnswer, PushRequest
from postroad.core.delivery.reasons import make_reason
from postroad.core.delivery.retry_policy import MAX_AT_ONCE, QUICK_S
from postroad.core.model.directory import (
    ConnectionPolicy,
    DeliveryMode,
    DeliveryWindow,
    Organization,
    Push,
    PushAuthentication,
    Transport,
    Visibility,
)
from postroad.core.model.journal import ConfigurationChanged, DeliveryAttempted
from postroad.core.model.message import Message, MessageType, Part, Recipient, Status
from postroad.core.model.polling import Outcome, PollRequest, Settlement
from postroad.flow.push.slots import PushCapacity, PushSlots
from postroad.flow.push.stage import TIMEOUT_S
from postroad.flow.registries.configuration import build_save
from postroad.testing.push_receivers import push_url
from tests.samples.pushes import BUSY, BUYER, OK, SECRET, PushScenario, in_virtual_time

ACME = "Acme/Supply"
URL = push_url(ACME)
HOUR_S = 3_600
SECOND_US = 1_000_000


def delivered_in(request: PushRequest) -> Any:
    [delivered] = JSON_FORM.decode_delivered(request.body)
    return delivered


def response(request: PushRequest, **fields: Any) -> PushAnswer:
    """An answer that carries a response message."""
    body = JSON_FORM.encode_post(Message(type=MessageType.RESPONSE, **fields))
    return PushAnswer(status=200, content_type="application/json", body=body)


@pytest.mark.req("D3")
def test_a_message_is_pushed_once_and_is_delivered() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME)
        session = await at.send(ACME)
        await asyncio.sleep(HOUR_S)
        [seen] = at.receivers.received
        assert delivered_in(seen.request).session == session
        assert delivered_in(seen.request).parts[0].data == b"hello"
        assert seen.request.headers["content-type"] == "application/json"
        assert await at.events(session) == ["handed out", "acknowledged"]

    in_virtual_time(work)


def test_messages_that_waited_before_the_change_to_push_are_pushed() -> None:
    async def work(at: PushScenario) -> None:
        caller = await at.service(ACME)
        assert caller.service is not None
        await at.send(ACME)
        push = Push(url=URL, authentication=PushAuthentication.NONE)
        pushed = dataclasses.replace(caller.service, delivery=DeliveryMode.PUSH, push=push)
        await at.network.configuration.change("test", [build_save(pushed)])
        await asyncio.sleep(1)
        assert len(at.receivers.received) == 1

    in_virtual_time(work)


@pytest.mark.req("D3", "K3")
def test_failed_pushes_come_again_by_the_schedule_with_the_same_id() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(
            ACME, push={"authentication": PushAuthentication.SIGNATURE, "secret_from": "env:SECRET"}
        )
        at.receivers.answer(URL, BUSY, BUSY, PushAnswer(status=302), OK)
        session = await at.send(ACME)
        await asyncio.sleep(HOUR_S)
        seen = at.receivers.received
        assert len(seen) == 4
        assert len({one.request.headers["webhook-id"] for one in seen}) == 1
        pauses = [(later.at_us - one.at_us) / SECOND_US for one, later in pairwise(seen)]
        for pause, planned in zip(pauses, (5, 30, 300), strict=True):
            assert planned * 0.79 <= pause <= planned * 1.21
        assert (await at.events(session))[-3:] == ["push failed", "handed out", "acknowledged"]
        attempted = [entry for entry in await at.journal() if isinstance(entry, DeliveryAttempted)]
        assert [entry.status for entry in attempted] == [503, 503, 302]
        assert [delivered_in(one.request).attempt for one in seen] == [1, 2, 3, 4]
        for one in seen:  # the library verifies by the real clock only, so it signs again and we compare
            headers = one.request.headers
            at_time = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
            again = Webhook(SECRET).sign(headers["webhook-id"], at_time, one.request.body.decode())
            assert headers["webhook-signature"] == again

    in_virtual_time(work)


@pytest.mark.req("D3", "D4")
def test_after_the_last_try_a_notification_is_a_dead_letter_with_its_reason() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME, push={"tries": 3, "retry_interval_s": 60})
        at.receivers.answer(URL, BUSY)
        session = await at.send(ACME)
        await asyncio.sleep(HOUR_S)
        assert len(at.receivers.received) == 3
        assert await at.state(session) == "failed"
        history = await at.network.trace(session, None)
        assert history is not None
        assert "503" in history.messages[0].copies[0].stops[0].events[-1].detail

    in_virtual_time(work)


def test_a_request_that_cannot_be_pushed_is_answered_with_an_error() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME, push={"tries": 1})
        at.receivers.answer(URL, PushAnswer(status=None, fault=make_reason("other", detail="connection refused")))
        await at.send(ACME, type=MessageType.REQUEST)
        await asyncio.sleep(1)
        told = await at.receive(BUYER)
        assert told.status is not None
        assert told.status.code == "route.failed"
        assert "connection refused" in told.status.text

    in_virtual_time(work)


@pytest.mark.req("D3")
def test_more_tries_than_polls_are_allowed() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME, push={"tries": 25, "retry_interval_s": 120})
        at.receivers.answer(URL, BUSY)
        session = await at.send(ACME)
        await asyncio.sleep(24 * HOUR_S)
        assert len(at.receivers.received) == 25
        assert await at.state(session) == "failed"

    in_virtual_time(work)


def test_retry_after_is_honoured() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME)
        at.receivers.answer(URL, PushAnswer(status=429, retry_after_s=1_000.0), OK)
        await at.send(ACME)
        await asyncio.sleep(HOUR_S)
        first, second = at.receivers.received
        assert (second.at_us - first.at_us) / SECOND_US >= 1_000

    in_virtual_time(work)


@pytest.mark.req("D3")
def test_the_answer_to_a_push_can_be_the_response() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME)

        async def answering(request: PushRequest) -> PushAnswer:
            return response(request, parts=(Part(id="1", content_type="text/plain", data=b"done"),))

        at.receivers.answer_with(URL, answering)
        session = await at.send(ACME, type=MessageType.REQUEST, handle="order 1")
        await asyncio.sleep(1)
        told = await at.receive(BUYER)
        assert told.type is MessageType.RESPONSE
        assert told.parts[0].data == b"done"
        assert told.reference is not None
        assert (told.reference.session, told.reference.handle) == (session, "order 1")
        assert await at.events(session) == ["handed out", "answered"]

    in_virtual_time(work)


@pytest.mark.parametrize("body", [b'{"type":"response","x":1}', b'{"type":"response","reference":"another"}'])
def test_a_response_that_is_refused_makes_the_push_fail_and_says_why(body: bytes) -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME, push={"tries": 2, "retry_interval_s": 1})
        at.receivers.answer(URL, PushAnswer(status=200, content_type="application/json", body=body))
        session = await at.send(ACME, type=MessageType.REQUEST)
        await asyncio.sleep(60)
        assert len(at.receivers.received) == 2
        [attempted] = [entry for entry in await at.journal() if isinstance(entry, DeliveryAttempted)]
        assert "refused" in attempted.fault
        assert await at.state(session) == "failed"

    in_virtual_time(work)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [("application/json", b'{"ok":true}'), ("application/json", b"not json"), ("text/html", b"<p>"), ("", b"")],
)
def test_any_other_content_of_a_push_response_acknowledges_the_delivery(content_type: str, body: bytes) -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME)
        at.receivers.answer(URL, PushAnswer(status=200, content_type=content_type, body=body))
        session = await at.send(ACME)
        await asyncio.sleep(1)
        assert await at.events(session) == ["handed out", "acknowledged"]

    in_virtual_time(work)


@pytest.mark.req("D3")
def test_an_in_transit_service_answers_its_push_and_the_message_goes_on() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service("Transmatics/Upper")
        acme = await at.service(ACME)

        async def upper(request: PushRequest) -> PushAnswer:
            part = delivered_in(request).parts[0]
            return response(request, parts=(Part(id=part.id, content_type="text/plain", data=part.data.upper()),))

        at.receivers.answer_with(push_url("Transmatics/Upper"), upper)
        await at.send(ACME, route=(Recipient("Transmatics/Upper"),))
        await asyncio.sleep(1)
        [arrived] = await at.network.poll(acme, PollRequest())
        assert arrived.parts[0].data == b"HELLO"

    in_virtual_time(work)


@pytest.mark.req("D4")
def test_nothing_is_pushed_outside_the_windows() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(
            ACME, windows=(DeliveryWindow(opens="08:00", closes="09:00"),), time_zone="Europe/Berlin"
        )
        for _ in range(4 * 24):
            await at.send(ACME)
            await asyncio.sleep(HOUR_S / 2 + 1)
        await asyncio.sleep(24 * HOUR_S)
        assert len(at.receivers.received) == 4 * 24
        for one in at.receivers.received:
            hour = (one.at_us // SECOND_US // HOUR_S + 2) % 24  # summer time
            assert hour == 8

    in_virtual_time(work)


@pytest.mark.req("D4")
def test_nothing_is_pushed_after_it_has_expired() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME, push={"retry_interval_s": 600})
        at.receivers.answer(URL, BUSY)
        session = await at.send(ACME, expires_at_us=at.clock.now_us() + 900 * SECOND_US)
        await asyncio.sleep(HOUR_S)
        assert len(at.receivers.received) <= 2
        assert await at.state(session) == "expired"

    in_virtual_time(work)


@pytest.mark.req("D4")
@pytest.mark.parametrize("too_late_for", ["the window", "the message"])
def test_a_delivery_that_was_leased_too_slowly_is_not_pushed(
    too_late_for: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(at: PushScenario) -> None:
        desk = at.network.desk
        claim = desk.claim

        async def slow_claim(*arguments: Any, **named: Any) -> Any:
            claimed = await claim(*arguments, **named)
            await asyncio.sleep(10 if claimed else 0)
            return claimed

        monkeypatch.setattr(desk, "claim", slow_claim)
        await asyncio.sleep(15 * HOUR_S - at.clock.now_us() / SECOND_US % (24 * HOUR_S) - 5)
        assert f"{datetime.fromtimestamp(at.clock.now_us() / SECOND_US, UTC):%H:%M:%S}" == "14:59:55"
        windows = (DeliveryWindow(opens="14:00", closes="15:00"),) if too_late_for == "the window" else ()
        await at.pushed_service(ACME, windows=windows)
        lives_s = 7 if too_late_for == "the message" else 2 * HOUR_S
        session = await at.send(ACME, expires_at_us=at.clock.now_us() + lives_s * SECOND_US)
        await asyncio.sleep(3 * HOUR_S)
        assert at.receivers.received == []
        assert await at.state(session) == "expired"

    in_virtual_time(work)


@pytest.mark.req("D3")
def test_a_push_service_may_poll_too() -> None:
    async def work(at: PushScenario) -> None:
        acme = await at.pushed_service(ACME, push={"retry_interval_s": 600})
        at.receivers.answer(URL, BUSY)
        session = await at.send(ACME)
        await asyncio.sleep(1)
        [polled] = await at.network.poll(acme, PollRequest())  # while it waits for its next push
        assert polled.token == delivered_in(at.receivers.received[0].request).token
        await at.network.settle(acme, Settlement(tokens=(polled.token,)))
        await asyncio.sleep(HOUR_S)
        assert len(at.receivers.received) == 1
        assert await at.state(session) == "delivered"

    in_virtual_time(work)


def test_a_delivery_that_is_leased_to_a_poll_is_not_pushed() -> None:
    async def work(at: PushScenario) -> None:
        acme = await at.pushed_service(ACME, windows=(DeliveryWindow(opens="15:00", closes="16:00"),))
        assert (at.clock.now_us() // SECOND_US // HOUR_S) % 24 == 14
        await at.send(ACME)
        [polled] = await at.network.poll(acme, PollRequest(lease_s=10 * HOUR_S))
        await asyncio.sleep(3 * HOUR_S)
        assert at.receivers.received == []
        await at.network.settle(acme, Settlement(tokens=(polled.token,), outcome=Outcome.NACK))
        await asyncio.sleep(24 * HOUR_S)
        assert len(at.receivers.received) == 1

    in_virtual_time(work)


@pytest.mark.req("D8")
def test_a_hanging_receiver_holds_its_own_places_alone() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service("Slow/Receiver")
        at.receivers.hang(push_url("Slow/Receiver"))
        for number in range(20):
            await at.pushed_service(f"Good{number}/Receiver")
        for _ in range(50):
            await at.send("Slow/Receiver")
        begun_us = at.clock.now_us()
        for number in range(20):
            await at.send(f"Good{number}/Receiver")
        await asyncio.sleep(10)
        assert len(at.receivers.at(push_url("Slow/Receiver"))) == 1  # it has never answered yet
        for number in range(20):
            [seen] = at.receivers.at(push_url(f"Good{number}/Receiver"))
            assert seen.at_us - begun_us < SECOND_US

    in_virtual_time(work)


@pytest.mark.req("D8")
def test_a_receiver_that_has_answered_is_pushed_more_at_once_until_it_fails() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME)
        await well_known(at, ACME)
        at.receivers.received.clear()
        at.receivers.hang(URL)
        for _ in range(50):
            await at.send(ACME)
        await asyncio.sleep(TIMEOUT_S - 1)
        assert len(at.receivers.received) == MAX_AT_ONCE
        await asyncio.sleep(2)
        assert len(at.receivers.received) <= MAX_AT_ONCE + 1

    in_virtual_time(work)


@pytest.mark.req("D8")
@pytest.mark.parametrize("known", [False, True], ids=["never answered", "answered before"])
def test_however_many_hang_the_quick_do_not_wait_for_them(known: bool) -> None:
    async def work(at: PushScenario) -> None:
        hanging = [f"Slow{number}/Receiver" for number in range(4 if known else 20)]
        await at.pushed_service("Good/Receiver")
        for name in hanging:
            await at.pushed_service(name)
        await well_known(at, "Good/Receiver", *(hanging if known else ()))
        for name in hanging:
            at.receivers.hang(push_url(name))
            for _ in range(10):
                await at.send(name)
        await asyncio.sleep(2 * QUICK_S + 0.5)  # by then those who answered before are known for what they are
        at.receivers.received.clear()
        begun_us = at.clock.now_us()
        for _ in range(10):
            await at.send("Good/Receiver")
        await asyncio.sleep(1)
        pushed = at.receivers.at(push_url("Good/Receiver"))
        assert len(pushed) == 10
        assert pushed[-1].at_us - begun_us < SECOND_US // 10

    in_virtual_time(
        work,
        capacity=PushCapacity(
            quick=PushSlots(overall=8, per_organization=4), slow=PushSlots(overall=8, per_organization=4)
        ),
    )


async def well_known(at: PushScenario, *names: str) -> None:
    """Have the receivers answer a few pushes at once, so that they count as quick."""
    for name in names:
        for _ in range(10):
            await at.send(name)
    await asyncio.sleep(1)  # sleeps: in virtual time


@pytest.mark.req("D8")
def test_organizations_have_their_turn_when_places_are_scarce() -> None:
    async def work(at: PushScenario) -> None:
        async def a_second(_: PushRequest) -> PushAnswer:
            await asyncio.sleep(1)
            return OK

        for name in ("Many/One", "Many/Two", "Few/One"):
            at.receivers.answer_with(push_url(name), a_second)
            await at.pushed_service(name)
        for _ in range(10):
            await at.send("Many/One", "Many/Two")
        await at.send("Few/One")
        await asyncio.sleep(60)
        order = [one.request.url for one in at.receivers.received]
        assert len(order) == 21
        assert order.index(push_url("Few/One")) <= 4

    in_virtual_time(
        work,
        capacity=PushCapacity(
            quick=PushSlots(overall=2, per_organization=2), slow=PushSlots(overall=2, per_organization=2)
        ),
    )


@pytest.mark.req("D3")
def test_a_failing_receiver_is_left_alone_and_its_messages_use_up_no_tries() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME, push={"retry_interval_s": 1, "tries": 100})
        at.receivers.answer(URL, BUSY)
        await at.send(ACME)
        await asyncio.sleep(60)
        at.receivers.received.clear()
        await asyncio.sleep(600)
        assert 9 <= len(at.receivers.received) <= 11  # a probe a minute
        at.receivers.answer(URL, OK)
        for _ in range(5):
            await at.send(ACME)
        await asyncio.sleep(120)
        assert [delivered_in(one.request).attempt for one in at.receivers.received[-5:]] == [1] * 5

    in_virtual_time(work)


@pytest.mark.req("D3")
def test_gone_means_no_more_pushes_while_messages_wait() -> None:
    async def work(at: PushScenario) -> None:
        acme = await at.pushed_service(ACME)
        at.receivers.answer(URL, PushAnswer(status=410))
        session = await at.send(ACME)
        await asyncio.sleep(1)
        await at.send(ACME)
        await asyncio.sleep(HOUR_S)
        assert len(at.receivers.received) == 1
        assert await at.state(session) == "queued"
        assert len(await at.network.poll(acme, PollRequest())) == 2
        changed = [entry for entry in await at.journal() if isinstance(entry, ConfigurationChanged)][-1]
        assert changed.by == "network"
        assert "410" in changed.reason

    in_virtual_time(work)


def test_a_receiver_that_fails_for_days_is_pushed_to_no_more() -> None:
    async def work(at: PushScenario) -> None:
        acme = await at.pushed_service(ACME, push={"tries": 1})
        assert acme.service is not None
        at.receivers.answer(URL, BUSY)
        for _ in range(6 * 24):
            await at.send(ACME)
            await asyncio.sleep(HOUR_S)
        assert at.network.directory.services[acme.service.gcid].delivery is DeliveryMode.POLL
        assert len(at.receivers.received) < 6 * 24

    in_virtual_time(work)


async def failing_for(at: PushScenario, days: float, every_h: int = 1) -> None:
    """A message an hour, and none of them taken."""
    at.receivers.answer(URL, BUSY)
    for _ in range(round(24 * days / every_h)):
        await at.send(ACME)
        await asyncio.sleep(every_h * HOUR_S)  # sleeps: in virtual time


def mode_of(at: PushScenario) -> DeliveryMode:
    acme = at.network.directory.service(ACME)
    assert acme is not None
    return acme.delivery


@pytest.mark.parametrize("tries", [1, 50])
@pytest.mark.parametrize("type_", [MessageType.NOTIFICATION, MessageType.REQUEST])
def test_days_of_failing_count_over_a_restart(tries: int, type_: MessageType) -> None:
    async def four_days(at: PushScenario) -> None:
        await at.pushed_service(ACME, push={"tries": tries})
        await at.send(ACME, type=type_)
        await asyncio.sleep(HOUR_S)
        at.receivers.answer(URL, BUSY)
        for _ in range(4 * 24):
            await at.send(ACME, type=type_)
            await asyncio.sleep(HOUR_S)
        assert mode_of(at) is DeliveryMode.PUSH

    async def another_day(at: PushScenario) -> None:
        await failing_for(at, 0.5)
        assert mode_of(at) is DeliveryMode.PUSH
        await failing_for(at, 1)
        assert mode_of(at) is DeliveryMode.POLL

    in_virtual_time(four_days, another_day)


@pytest.mark.parametrize("restarts", [False, True])
def test_failures_with_days_of_silence_between_them_are_no_days_of_failing(restarts: bool) -> None:
    async def once(at: PushScenario) -> None:
        await at.pushed_service(ACME, push={"tries": 1})
        await failing_for(at, 1 / 24)
        await asyncio.sleep(100 * HOUR_S)

    async def again(at: PushScenario) -> None:
        await failing_for(at, 2, every_h=12)
        assert mode_of(at) is DeliveryMode.PUSH
        await failing_for(at, 4, every_h=12)
        assert mode_of(at) is DeliveryMode.POLL

    async def both(at: PushScenario) -> None:
        await once(at)
        await again(at)

    in_virtual_time(once, again) if restarts else in_virtual_time(both)


@pytest.mark.parametrize("between", ["a success", "a change of the profile"])
def test_a_success_or_a_changed_profile_restarts_the_count_of_failing_days(between: str) -> None:
    async def four_days(at: PushScenario) -> None:
        await at.pushed_service(ACME)
        await failing_for(at, 4)
        if between == "a success":
            at.receivers.answer(URL, OK)
            await asyncio.sleep(2 * HOUR_S)
        else:
            acme = at.network.directory.service(ACME)
            assert acme is not None
            await at.network.configuration.change("test", [build_save(dataclasses.replace(acme, description="mended"))])

    async def four_more(at: PushScenario) -> None:
        await failing_for(at, 4)
        assert mode_of(at) is DeliveryMode.PUSH
        await failing_for(at, 2)
        assert mode_of(at) is DeliveryMode.POLL

    in_virtual_time(four_days, four_more)


@pytest.mark.parametrize("suspended", ["service", "organization"])
def test_the_messages_of_a_suspended_service_wait(suspended: str) -> None:
    async def work(at: PushScenario) -> None:
        acme = await at.pushed_service(ACME, windows=(DeliveryWindow(opens="08:00", closes="09:00"),))
        assert acme.service is not None
        await at.send(ACME)
        change = (
            build_save(dataclasses.replace(acme.service, suspended="unpaid"))
            if suspended == "service"
            else build_save(Organization(name="Acme", suspended="unpaid"))
        )
        await at.network.configuration.change("test", [change])
        await asyncio.sleep(24 * HOUR_S)
        assert at.receivers.received == []

    in_virtual_time(work)


@pytest.mark.req("Z4")
@pytest.mark.parametrize(
    ("push", "expected"),
    [
        ({"authentication": "none"}, {}),
        (
            {"authentication": "basic", "username": "me", "secret_from": "env:SECRET"},
            {"authorization": f"Basic {b64encode(f'me:{SECRET}'.encode()).decode()}"},
        ),
        ({"authentication": "bearer", "secret_from": "env:SECRET"}, {"authorization": f"Bearer {SECRET}"}),
    ],
)
def test_every_authentication_is_in_the_headers(push: dict[str, Any], expected: dict[str, str]) -> None:
    async def work(at: PushScenario) -> None:
        wishes = push | {"authentication": PushAuthentication(push["authentication"])}
        await at.pushed_service(ACME, push=wishes)
        await at.send(ACME)
        await asyncio.sleep(1)
        [seen] = at.receivers.received
        proof = {name: value for name, value in seen.request.headers.items() if name == "authorization"}
        assert proof == expected
        assert SECRET not in repr(seen.request)

    in_virtual_time(work)


@pytest.mark.req("Z4")
def test_a_client_certificate_is_one_file_of_the_operator() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(
            ACME, push={"authentication": PushAuthentication.CERTIFICATE, "secret_from": "file:client.pem"}
        )
        await at.send(ACME)
        await asyncio.sleep(1)
        assert at.receivers.received[0].request.certificate == ("/kept/pem", "/kept/pem")

    in_virtual_time(work)


@pytest.mark.parametrize("kept", [{}, {"env:SECRET": "too short"}])
def test_a_secret_that_is_missing_or_no_good_is_told_and_nothing_is_sent(kept: dict[str, str]) -> None:
    async def work(at: PushScenario) -> None:
        at.secrets.values = kept
        await at.pushed_service(
            ACME, push={"authentication": PushAuthentication.SIGNATURE, "secret_from": "env:SECRET"}
        )
        await at.send(ACME)
        await asyncio.sleep(1)
        assert at.receivers.received == []
        [attempted] = [entry for entry in await at.journal() if isinstance(entry, DeliveryAttempted)]
        assert "secret" in attempted.fault
        assert "too short" not in attempted.fault

    in_virtual_time(work)


@pytest.mark.req("K3")
def test_while_a_secret_is_replaced_both_sign() -> None:
    async def work(at: PushScenario) -> None:
        at.secrets.values = {"env:SECRET": f"{SECRET}\n{SECRET[:-4]}AAAA"}
        await at.pushed_service(
            ACME, push={"authentication": PushAuthentication.SIGNATURE, "secret_from": "env:SECRET"}
        )
        await at.send(ACME)
        await asyncio.sleep(1)
        assert len(at.receivers.received[0].request.headers["webhook-signature"].split()) == 2

    in_virtual_time(work)


def test_a_service_gets_its_own_wire_form() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME, format="soap12")
        await at.send(ACME)
        await asyncio.sleep(1)
        [seen] = at.receivers.received
        assert seen.request.headers["content-type"] == SOAP12.media_type
        [delivered] = SOAP12.decode_delivered(seen.request.body)
        assert delivered.parts[0].data == b"hello"

    in_virtual_time(work)


def test_a_response_may_come_as_soap() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME, format="soap12")
        message = Message(type=MessageType.RESPONSE, status=Status("stock.none", "nothing left"))
        body = SOAP12.encode_post(message)
        at.receivers.answer(URL, PushAnswer(status=200, content_type=SOAP12.media_type, body=body))
        await at.send(ACME, type=MessageType.REQUEST)
        await asyncio.sleep(1)
        told = await at.receive(BUYER)
        assert told.status == Status("stock.none", "nothing left")

    in_virtual_time(work)


def test_a_service_that_asks_for_tls_is_not_pushed_to_without() -> None:
    async def work(at: PushScenario) -> None:
        plain = Push(url="http://acme.example/", authentication=PushAuthentication.NONE)
        secure = ConnectionPolicy(transport=Transport.TLS)
        await at.running.register(
            ACME, visibility=Visibility.PUBLIC, delivery=DeliveryMode.PUSH, push=plain, policy=secure
        )
        buyer = dataclasses.replace(at.caller(BUYER), secure=True)
        with pytest.raises(Exception, match="TLS"):
            await at.post(BUYER, ACME)
        await at.post(buyer, ACME)
        await asyncio.sleep(60)
        assert at.receivers.received == []

    in_virtual_time(work)


def test_ending_gives_back_what_is_under_way() -> None:
    async def work(at: PushScenario) -> None:
        acme = await at.pushed_service(ACME)
        assert acme.service is not None
        at.receivers.hang(URL)
        await at.send(ACME)
        await asyncio.sleep(1)
        polling = dataclasses.replace(acme.service, delivery=DeliveryMode.POLL)
        await at.network.configuration.change("test", [build_save(polling)])
        await asyncio.sleep(6)
        assert len(await at.network.poll(acme, PollRequest())) == 1

    in_virtual_time(work)


def test_pushed_json_is_what_a_poll_would_have_given() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME)
        await at.send(ACME)
        await asyncio.sleep(1)
        [message] = json.loads(at.receivers.received[0].request.body)["messages"]
        assert message["token"]
        assert message["to"]["service"] == ACME

    in_virtual_time(work)
