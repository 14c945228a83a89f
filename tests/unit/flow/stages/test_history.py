"""The history of a transaction about which more was written down than anybody reads."""

from __future__ import annotations

import pytest

from postroad.core.model.message import Message, MessageType, Recipient
from postroad.core.model.polling import Outcome, PollRequest, Settlement
from postroad.flow.stages import history as reading
from postroad.testing.network import memory_network

PLACES = 4


@pytest.mark.req("A2")
async def test_old_tries_are_left_out_before_what_became_of_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with memory_network() as running:
        names = [f"A/in {number}" for number in range(PLACES)]
        sender, *receivers = [await running.register(name) for name in ("A/out", *names)]
        to = tuple(Recipient(name) for name in names)
        posted = await running.network.post(sender, Message(to=to, type=MessageType.NOTIFICATION))
        for outcome in (Outcome.NACK, Outcome.NACK, Outcome.ACK):
            for receiver in receivers:
                [given] = await running.network.poll(receiver, PollRequest())
                await running.network.settle(receiver, Settlement(tokens=(given.token,), outcome=outcome))
        monkeypatch.setattr(reading, "MAX_ENTRIES", 2 * PLACES)  # the last hand-outs, and what became of them
        told = await running.network.trace(posted.session, "A")
        assert told is not None
        assert [copy.state for copy in told.messages[0].copies] == ["delivered"] * PLACES
