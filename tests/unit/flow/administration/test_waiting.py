"""Whoever looks at a message is told that it is held back, and until when."""

from __future__ import annotations

import pytest

from postroad.core.model.caller import Caller
from postroad.core.model.directory import DeliveryMode, Release, Visibility
from postroad.core.model.history import ReleaseHold
from postroad.core.model.message import Message, Recipient
from postroad.flow.administration.messages.message_list import load_message
from postroad.testing.network import MemoryNetwork, memory_network

pytestmark = pytest.mark.req("X9")


async def held(running: MemoryNetwork, caller: Caller, session: str) -> ReleaseHold | None:
    found = await load_message(running.network, caller, session)
    return found.copies[0].stops[-1].held


async def test_until_the_oldest_has_waited_until_enough_wait_and_until_somebody_asks() -> None:
    async with memory_network() as running:
        sender = await running.register("MyBiz/Out")
        wishes = {"Slow": Release(every_s=60), "Full": Release(when_waiting=3), "Asked": Release(on_request=True)}
        sessions = {}
        for name, release in {**wishes, "Plain": None}.items():
            wish = {"visibility": Visibility.PUBLIC, "delivery": DeliveryMode.PUSH, "release": release}
            await running.register(f"Acme/{name}", **wish)
            posted = await running.network.post(sender, Message(to=(Recipient(f"Acme/{name}"),)))
            sessions[name] = posted.session
        at_us = (await load_message(running.network, sender, sessions["Slow"])).at_us
        told = {name: await held(running, sender, session) for name, session in sessions.items()}
        until = ReleaseHold(until_us=at_us + 60_000_000)
        assert told == {"Slow": until, "Full": ReleaseHold(), "Asked": ReleaseHold(), "Plain": None}
        asked = running.network.directory.service("Acme/Asked")
        assert asked is not None
        await running.network.releases.release(asked.gcid, "test", "on request")
        assert await held(running, sender, sessions["Asked"]) is None
