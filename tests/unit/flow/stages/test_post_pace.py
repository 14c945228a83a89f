"""Posts while the index is far behind the journal: delayed, accepted, and fast again afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from postroad.core.admission.index_lag import LONGEST_DELAY_S, TOLERATED_S
from postroad.core.model.message import Message, Recipient
from postroad.flow.stages import post_pace
from postroad.flow.stages.post_pace import PostPace
from postroad.flow.stages.posting import Answer, Posting
from postroad.testing import Scenario
from tests.waiting import eventually_async

BUYER, SUPPLY = "MyBiz/Purchasing", "Acme/Supply"


@pytest.fixture
async def scenario() -> AsyncIterator[Scenario]:
    async with Scenario() as scenario:
        for address in (BUYER, SUPPLY):
            await scenario.service(address)
        yield scenario


async def fall_behind(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> PostPace:
    """Let the index stand still for long, as far as the pace can see."""
    pace, position = scenario.network.pace, await scenario.network.index.position()

    async def standing_still() -> object:
        return position

    monkeypatch.setattr(scenario.network.index, "position", standing_still)
    await scenario.post(BUYER, SUPPLY)
    await pace.measure()
    await scenario.advance(seconds=3 * TOLERATED_S)
    await pace.measure()
    return pace


@pytest.mark.req("O5")
async def test_each_post_is_delayed_and_accepted(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    pace = await fall_behind(scenario, monkeypatch)
    assert pace.delay_s == LONGEST_DELAY_S
    loop = asyncio.get_running_loop()
    began = loop.time()
    await scenario.post(BUYER, SUPPLY)
    assert loop.time() - began >= 0.9 * LONGEST_DELAY_S
    monkeypatch.undo()
    await scenario.network.wait_until_indexed()
    await pace.measure()
    assert pace.delay_s == 0.0


async def test_a_call_with_many_messages_is_delayed_by_their_number(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    pace = await fall_behind(scenario, monkeypatch)
    assert pace.delay_of(1) == LONGEST_DELAY_S
    assert pace.delay_of(50) == pytest.approx(5 * LONGEST_DELAY_S)
    answers: list[Answer] = []
    postings = [Posting(Message(to=(Recipient(SUPPLY),)), 1, "json") for _ in range(20)]
    loop = asyncio.get_running_loop()
    began = loop.time()
    scenario.network.submit_many(scenario.caller(BUYER), postings, lambda place, answer: answers.append(answer))
    await eventually_async(lambda: len(answers) == 20)
    assert loop.time() - began >= 0.9 * pace.delay_of(20)


async def test_an_error_does_not_end_the_measuring_or_keep_the_delay(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pace = await fall_behind(scenario, monkeypatch)
    failures = 0

    async def fail() -> object:
        nonlocal failures
        failures += 1
        raise ValueError("a row that cannot be read")

    monkeypatch.setattr(scenario.network.index, "position", fail)
    monkeypatch.setattr(post_pace, "MEASURE_EVERY_S", 0.0)
    running = asyncio.get_running_loop().create_task(pace.run())
    try:
        await eventually_async(lambda: failures > 1)
        assert pace.delay_s == 0.0
        assert "index.lag_unknown" in caplog.text
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
