"""Retention: how far back bodies may go."""

from __future__ import annotations

import pytest

from postroad.core.model.directory import Visibility
from postroad.core.model.message import Message, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.flow.retention import find_retention_limit
from postroad.testing.network import memory_network


class SteppingClock:
    """Wall time moves by a second with every look; the monotonic clock stands still."""

    def __init__(self) -> None:
        self.us = 1_800_000_000_000_000

    def now_us(self) -> int:
        self.us += 1_000_000
        return self.us

    def monotonic(self) -> float:
        return 0.0


@pytest.mark.req("A2")
async def test_bodies_go_when_old_and_settled_and_the_history_stays() -> None:
    async with memory_network(SteppingClock()) as running:
        network = running.network
        buyer = await running.register("MyBiz/Purchasing")
        supply = await running.register("Acme/Supply", visibility=Visibility.PUBLIC)
        message = Message(to=(Recipient("Acme/Supply"),), parts=(Part(id="1", content_type="text/plain", data=b"x"),))
        sessions = [(await network.post(buyer, message)).session for _ in range(6)]
        now_us = network.clock.now_us()
        await network.wait_until_indexed()
        assert await find_retention_limit(network.index, now_us) == await seq_of(network, sessions[0])
        for _ in range(3):
            [delivered] = await network.poll(supply, PollRequest(max=1))
            await network.settle(supply, Settlement(tokens=(delivered.token,)))
        await network.wait_until_indexed()
        fourth = await seq_of(network, sessions[3])
        assert await find_retention_limit(network.index, now_us) == fourth, "the fourth still waits"
        assert await find_retention_limit(network.index, 0) == await seq_of(network, sessions[0]), "nothing is that old"
        await network.journal.drop_bodies(fourth)
        assert await network.trace(sessions[0], "MyBiz") is not None
        [kept] = await network.poll(supply, PollRequest(max=1))
        assert (kept.session, kept.parts[0].data) == (sessions[3], b"x")


async def seq_of(network: object, session: str) -> int:
    rows = await network.index.query("message", session)  # type: ignore[attr-defined]
    return int(rows[0][0])
