"""Each source of conditions finds what is true, and nothing before or afterwards."""

from __future__ import annotations

import asyncio

import pytest

from postroad.core.model.batch import BatchState
from postroad.core.model.batch_policy import BatchPolicy
from postroad.core.notifications.conditions import Condition
from postroad.flow.notifications.sources import find_index_delay, find_paused_pushes, find_stuck_batches
from postroad.ports import JournalHead
from postroad.testing import Scenario
from postroad.testing.clocks import ManualClock
from tests.samples.pushes import BUSY, OK, PushScenario, in_virtual_time
from tests.samples.send_port import PORT, send_port

SUPPLY = "Acme/Supply"
PATIENT = {"retry_interval_s": 2, "tries": 50}


def test_pushes_are_paused_until_one_succeeds() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(SUPPLY, push=PATIENT)
        await at.service("Acme/Polled")
        assert await find_paused_pushes(at.network) == []
        at.receivers.answer(SUPPLY, BUSY)
        await at.send(SUPPLY)
        await asyncio.sleep(30)
        [paused] = await find_paused_pushes(at.network)
        assert paused == Condition("push.paused", "Acme", SUPPLY, "5 of the last 5 pushes failed")
        at.receivers.answer(SUPPLY, OK)
        await asyncio.sleep(120)
        assert await find_paused_pushes(at.network) == []

    in_virtual_time(work)


async def test_batches_are_stuck_when_they_have_not_been_sent_for_an_hour() -> None:
    async with send_port(BatchPolicy(count=2), ordered=True) as port:
        await port.post_orders(1, 4)
        await port.work()
        [first] = await port.poll()
        await port.fail(first)  # on an ordered port, the second batch waits for the first
        await port.work(5)
        assert await port.batch_states() == [BatchState.SUSPENDED, BatchState.CLOSED]
        port.clock.advance(3_590)
        assert await find_stuck_batches(port.network) == []
        port.clock.advance(20)
        [_, waiting] = await port.batches()
        [stuck] = await find_stuck_batches(port.network)
        assert stuck == Condition("batch.stuck", "Acme", f"{PORT}, batch {waiting.id}", "2 messages")


async def test_an_index_is_behind_when_it_has_not_applied_an_entry_for_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Scenario(clock=ManualClock()) as scenario:
        await scenario.service("Globex/Buyer")
        await scenario.service(SUPPLY)
        await scenario.network.wait_until_indexed()
        applied = await scenario.network.index.position()

        async def position() -> JournalHead:
            return applied

        for _ in range(3):
            await scenario.post("Globex/Buyer", SUPPLY, "x")
        await scenario.network.wait_until_indexed()
        await scenario.advance(seconds=61)
        assert await find_index_delay(scenario.network) == []
        with monkeypatch.context() as patch:
            patch.setattr(scenario.network.index, "position", position)
            [behind] = await find_index_delay(scenario.network)
        assert behind == Condition("index.behind", "", "index", "3 entries are not applied")
        await scenario.post("Globex/Buyer", SUPPLY, "x")
        head = await scenario.network.journal.head()
        await scenario.network.wait_until_indexed()
        applied = JournalHead(head.seq - 1, head.chain)
        monkeypatch.setattr(scenario.network.index, "position", position)
        assert await find_index_delay(scenario.network) == [], "the entry that is missing is younger than a minute"
