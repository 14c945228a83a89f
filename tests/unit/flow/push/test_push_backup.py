"""Pushes to a backup, over the real stages in memory: when it is its turn, and what is written down about it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from postroad.core.delivery.push_request import PushAnswer
from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel, DeliveryMode, Push, PushAuthentication
from postroad.core.model.journal import DeliveryAttempted
from postroad.flow.push.attempt import make_receiver_caller
from postroad.testing.push_receivers import push_url
from tests.samples.pushes import BUSY, PushScenario, in_virtual_time

pytestmark = pytest.mark.req("B7")

ACME = "Acme/Supply"
URL, BACKUP = push_url(ACME), "https://backup.example/"
HOUR_S = 3_600
GONE = PushAnswer(status=410)


async def with_backup(at: PushScenario, *, main_tries: int = 2, **backup: object) -> Caller:
    place = {"url": BACKUP, "tries": 3, "retry_interval_s": 10, "authentication": PushAuthentication.NONE} | backup
    return await at.pushed_service(ACME, push={"tries": main_tries, "retry_interval_s": 60, "backup": Push(**place)})  # type: ignore[arg-type]


def seen(at: PushScenario) -> list[str]:
    return ["main" if one.request.url == URL else "backup" for one in at.receivers.received]


def test_a_push_that_the_main_endpoint_refuses_goes_to_the_backup_under_the_same_id() -> None:
    async def work(at: PushScenario) -> None:
        await with_backup(at)
        at.receivers.answer(URL, BUSY)
        session = await at.send(ACME)
        await asyncio.sleep(HOUR_S)
        assert seen(at) == ["main", "main", "backup"]
        assert len({one.request.headers["webhook-id"] for one in at.receivers.received}) == 1
        assert await at.state(session) == "delivered"

    in_virtual_time(work)


def test_after_the_last_try_at_the_backup_it_is_a_dead_letter_and_all_tries_are_told() -> None:
    async def work(at: PushScenario) -> None:
        await with_backup(at)
        at.receivers.answer(URL, BUSY)
        at.receivers.answer(BACKUP, PushAnswer(status=500))
        session = await at.send(ACME)
        await asyncio.sleep(HOUR_S)
        assert seen(at) == ["main", "main", "backup", "backup", "backup"]
        assert await at.state(session) == "failed"
        tries = [entry for entry in await at.journal() if isinstance(entry, DeliveryAttempted)]
        assert [entry.fault for entry in tries] == [
            "the receiver answered 503",
            "the receiver answered 503",
            "the receiver answered 500 (at the backup)",
            "the receiver answered 500 (at the backup)",
        ]
        assert tries[1].delay_s == 0.0
        assert 8.0 <= tries[2].delay_s <= 12.0
        history = await at.network.trace(session, None)
        assert history is not None
        told = history.messages[0].copies[0].stops[0].events[-1].detail
        assert "the receiver answered 500 (at the backup); tried 5 times" in told

    in_virtual_time(work)


def test_more_tries_at_both_places_than_polls_are_allowed() -> None:
    async def work(at: PushScenario) -> None:
        await with_backup(at, main_tries=15, tries=15, retry_interval_s=60)
        at.receivers.answer(URL, BUSY)
        at.receivers.answer(BACKUP, BUSY)
        session = await at.send(ACME)
        await asyncio.sleep(12 * HOUR_S)
        assert len(at.receivers.received) == 30
        assert await at.state(session) == "failed"

    in_virtual_time(work)


def test_while_the_main_place_is_let_alone_messages_go_to_the_backup_at_once() -> None:
    async def work(at: PushScenario) -> None:
        await with_backup(at, main_tries=9)
        at.receivers.answer(URL, BUSY)
        for _ in range(30):
            await at.send(ACME)
            await asyncio.sleep(1)
        taken = seen(at)
        assert taken[:5] == ["main"] * 5, "so many failures are needed to know"
        assert taken[5:] == ["backup"] * 30, "nothing waits for the main place to be well again"
        await asyncio.sleep(HOUR_S)
        assert seen(at).count("backup") == 30

    in_virtual_time(work)


def test_a_main_place_that_is_well_again_is_pushed_to_again() -> None:
    async def work(at: PushScenario) -> None:
        await with_backup(at, main_tries=9)
        at.receivers.answer(URL, *[BUSY] * 5, PushAnswer(status=200))
        for _ in range(10):
            await at.send(ACME)
        await asyncio.sleep(HOUR_S)
        at.receivers.received.clear()
        await at.send(ACME)  # the probe
        await asyncio.sleep(1)
        await at.send(ACME)
        await at.send(ACME)
        await asyncio.sleep(HOUR_S)
        assert seen(at) == ["main"] * 3

    in_virtual_time(work)


def test_a_main_place_that_is_gone_is_left_out_and_the_service_goes_on_being_pushed_to() -> None:
    async def work(at: PushScenario) -> None:
        caller = await with_backup(at)
        at.receivers.answer(URL, GONE)
        first = await at.send(ACME)
        await asyncio.sleep(1)
        second = await at.send(ACME)
        await asyncio.sleep(HOUR_S)
        assert seen(at) == ["main", "backup", "backup"]
        assert [await at.state(session) for session in (first, second)] == ["delivered"] * 2
        assert caller.service is not None
        assert at.network.directory.services[caller.service.gcid].delivery is DeliveryMode.PUSH

    in_virtual_time(work)


def test_when_both_places_are_gone_pushes_are_switched_off_and_messages_wait() -> None:
    async def work(at: PushScenario) -> None:
        caller = await with_backup(at)
        at.receivers.answer(URL, GONE)
        at.receivers.answer(BACKUP, GONE)
        session = await at.send(ACME)
        await asyncio.sleep(HOUR_S)
        assert seen(at) == ["main", "backup"]
        assert await at.state(session) == "queued"
        assert caller.service is not None
        assert at.network.directory.services[caller.service.gcid].delivery is DeliveryMode.POLL

    in_virtual_time(work)


def test_the_backup_has_its_own_proof() -> None:
    async def work(at: PushScenario) -> None:
        await with_backup(at, main_tries=1, authentication=PushAuthentication.BEARER, secret_from="env:SECRET")
        at.receivers.answer(URL, BUSY)
        await at.send(ACME)
        await asyncio.sleep(1)
        main, backup = at.receivers.received
        assert "authorization" not in main.request.headers
        assert backup.request.headers["authorization"].startswith("Bearer whsec_")

    in_virtual_time(work)


def test_a_service_is_as_safe_as_the_less_safe_one_of_its_places() -> None:
    async def work(at: PushScenario) -> None:
        caller = await with_backup(at)
        assert caller.service is not None
        safe = Push(url=URL, authentication=PushAuthentication.SIGNATURE, secret_from="env:SECRET")
        service = replace(caller.service, push=safe)
        assert (make_receiver_caller(service).level, make_receiver_caller(service).secure) == (
            AuthenticationLevel.CERTIFICATE,
            True,
        )
        backup = Push(url="http://backup.example/", authentication=PushAuthentication.NONE)
        weaker = make_receiver_caller(replace(service, push=replace(safe, backup=backup)))
        assert (weaker.level, weaker.secure) == (AuthenticationLevel.PASSWORD, False)

    in_virtual_time(work)
