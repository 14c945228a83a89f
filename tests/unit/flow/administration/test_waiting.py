"""The page of a message shows that it waits for release, and until when."""

from __future__ import annotations

import pytest

from postroad.core.model.directory import DeliveryMode, Release
from postroad.core.model.history import ReleaseHold
from postroad.core.model.message import PostResult
from postroad.flow.administration.messages.message_list import load_message
from postroad.testing import Scenario

pytestmark = pytest.mark.req("X9")
SENDER = "MyBiz/Out"


async def held(scenario: Scenario, posted: PostResult) -> ReleaseHold | None:
    found = await load_message(scenario.network, scenario.caller(SENDER), posted.session)
    return found.copies[0].stops[-1].held


async def test_until_the_oldest_has_waited_until_enough_wait_and_until_somebody_asks() -> None:
    async with Scenario(pushes=False) as scenario:
        await scenario.service(SENDER)
        wishes = {"Slow": Release(every_s=60), "Full": Release(when_waiting=3), "Asked": Release(on_request=True)}
        posted = {}
        for name, release in {**wishes, "Plain": None}.items():
            await scenario.service(f"Acme/{name}", delivery=DeliveryMode.PUSH, release=release)
            posted[name] = await scenario.post(SENDER, to=f"Acme/{name}")
        at_us = (await load_message(scenario.network, scenario.caller(SENDER), posted["Slow"].session)).at_us
        told = {name: await held(scenario, one) for name, one in posted.items()}
        until = ReleaseHold(until_us=at_us + 60_000_000)
        assert told == {"Slow": until, "Full": ReleaseHold(), "Asked": ReleaseHold(), "Plain": None}
        await scenario.network.releases.release(scenario.gcid("Acme/Asked"), "test", "on request")
        assert await held(scenario, posted["Asked"]) is None
