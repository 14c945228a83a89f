"""Asking for what is held back: who may, what is answered, and when there is nothing to ask for."""

from __future__ import annotations

import dataclasses

import pytest

from postroad.core.model.caller import Caller
from postroad.core.model.directory import DeliveryWindow, Person, Release, Role, Visibility
from postroad.errors import Refused
from postroad.flow.administration.releases import release
from postroad.flow.registries.configuration import build_save
from tests.samples.pushes import PushScenario, in_virtual_time

ACME = "Acme/Supply"
HOUR_US = 3_600 * 1_000_000
HELD = Release(on_request=True)


def person(organization: str, role: Role, *, operator: bool = False) -> Caller:
    return Caller(person=Person(email="ada@example.com", organization=organization, role=role, operator=operator))


@pytest.mark.req("X9")
def test_developers_operators_and_the_service_itself_may_ask() -> None:
    async def work(at: PushScenario) -> None:
        itself = await at.pushed_service(ACME, release=HELD)
        asking = [itself, person("Acme", Role.DEVELOPER), person("Acme", Role.OWNER)]
        for caller in (*asking, person("", Role.VIEWER, operator=True)):
            await at.send(ACME)
            released = await release(at.network, caller, ACME)
            assert (released.going, released.not_before_us) == (1, 0)

    in_virtual_time(work)


@pytest.mark.parametrize(
    ("caller", "visibility", "code"),
    [
        (person("Acme", Role.VIEWER), Visibility.PRIVATE, "permission.denied"),
        (person("MyBiz", Role.OWNER), Visibility.PUBLIC, "permission.denied"),
        (person("MyBiz", Role.OWNER), Visibility.PRIVATE, "not-found"),
    ],
)
def test_other_organizations_may_not_release_and_learn_nothing(
    caller: Caller, visibility: Visibility, code: str
) -> None:
    async def work(at: PushScenario) -> None:
        held = (await at.pushed_service(ACME, release=HELD)).service
        assert held is not None
        await at.network.configuration.change("test", [build_save(dataclasses.replace(held, visibility=visibility))])
        with pytest.raises(Refused) as refused:
            await release(at.network, caller, ACME)
        assert refused.value.code == code

    in_virtual_time(work)


def test_where_no_window_is_open_the_answer_says_when_one_is() -> None:
    async def work(at: PushScenario) -> None:
        now_us = at.clock.now_us()
        hour = (now_us // HOUR_US + 3) % 24
        window = DeliveryWindow(opens=f"{hour:02}:00", closes=f"{hour:02}:30")
        itself = await at.pushed_service(ACME, release=HELD, windows=(window,))
        await at.send(ACME)
        released = await release(at.network, itself, ACME)
        assert (released.going, released.not_before_us) == (1, (now_us // HOUR_US + 3) * HOUR_US)

    in_virtual_time(work)


def test_nothing_goes_where_nothing_is_held_back() -> None:
    async def work(at: PushScenario) -> None:
        polling = await at.service("Acme/Polls", release=Release(keep_s=60))
        await at.send("Acme/Polls")
        assert (await release(at.network, polling, "Acme/Polls")).going == 0
        pushed = await at.pushed_service(ACME)
        assert (await release(at.network, pushed, ACME)).going == 0

    in_virtual_time(work)


def test_nothing_of_a_suspended_service_goes() -> None:
    async def work(at: PushScenario) -> None:
        held = (await at.pushed_service(ACME, release=HELD)).service
        assert held is not None
        await at.send(ACME)
        suspended = dataclasses.replace(held, suspended="abuse")
        await at.network.configuration.change("test", [build_save(suspended)])
        with pytest.raises(Refused) as refused:
            await release(at.network, person("Acme", Role.DEVELOPER), ACME)
        assert refused.value.code == "service.suspended"

    in_virtual_time(work)
