"""A poller that leaves ends its waiting and nothing else: what was being handed to it is known, and can go back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from postroad.core.model.message import Message, Recipient
from postroad.core.model.polling import PollRequest
from postroad.flow.concurrency.interruptible_wait import InterruptibleWait
from postroad.testing.network import memory_network
from tests.unit.flow.stages.polls import until_a_poll_waits


@pytest.mark.req("D2")
async def test_leaving_ends_the_waiting_at_once() -> None:
    async with memory_network() as running:
        acme, wait = await running.register("Acme/Supply"), InterruptibleWait()
        polling = asyncio.create_task(running.network.poll(acme, PollRequest(wait_s=60.0), wait))
        await until_a_poll_waits(running.network, acme)
        wait.cancel()
        assert await asyncio.wait_for(polling, 30) == []


@pytest.mark.req("D2")
async def test_a_client_that_left_before_the_poll_does_not_wait() -> None:
    async with memory_network() as running:
        acme, wait = await running.register("Acme/Supply"), InterruptibleWait()
        wait.cancel()
        assert await asyncio.wait_for(running.network.poll(acme, PollRequest(wait_s=60.0), wait), 30) == []


@pytest.mark.req("D2")
async def test_a_hand_out_under_way_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    async with memory_network() as running:
        acme, wait = await running.register("Acme/Supply"), InterruptibleWait()
        desk = running.network.desk
        claim, has_claimed, goes_on = desk.claim, asyncio.Event(), asyncio.Event()

        async def claim_slowly(*arguments: Any, **named: Any) -> object:
            claimed = await claim(*arguments, **named)
            has_claimed.set()
            await goes_on.wait()
            return claimed

        monkeypatch.setattr(desk, "claim", claim_slowly)
        posted = await running.network.post(acme, Message(to=(Recipient("Acme/Supply"),)))
        polling = asyncio.create_task(running.network.poll(acme, PollRequest(wait_s=60.0), wait))
        await asyncio.wait_for(has_claimed.wait(), 30)
        wait.cancel()
        goes_on.set()
        [delivered] = await asyncio.wait_for(polling, 30)
        assert delivered.session == posted.session


async def test_an_outsider_can_still_cancel_the_poll() -> None:
    async with memory_network() as running:
        acme = await running.register("Acme/Supply")
        polling = asyncio.create_task(running.network.poll(acme, PollRequest(wait_s=60.0), InterruptibleWait()))
        await until_a_poll_waits(running.network, acme)
        polling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await polling
