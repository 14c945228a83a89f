"""Posts to services for which too many deliveries wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from postroad.core.model.directory import ServiceLimits
from postroad.core.model.message import MessageType
from postroad.flow.stages import full_recipients
from postroad.flow.stages.full_recipients import RETRY_AFTER_S
from postroad.testing import Scenario
from tests.waiting import eventually_async

BUYER, SUPPLY, BANK = "MyBiz/Purchasing", "Acme/Supply", "Bank/Desk"


@pytest.fixture
async def scenario() -> AsyncIterator[Scenario]:
    """Acme takes three waiting deliveries, and a bank any number."""
    async with Scenario() as scenario:
        for address in (BUYER, SUPPLY, BANK):
            await scenario.service(address)
        await scenario.change(SUPPLY, limits=ServiceLimits(waiting_messages=3))
        yield scenario


async def fill(scenario: Scenario) -> None:
    for _ in range(3):
        await scenario.post(BUYER, SUPPLY)


@pytest.mark.req("O5", "Z6")
async def test_a_full_service_is_refused_until_it_has_acknowledged(scenario: Scenario) -> None:
    await fill(scenario)
    refusal = await scenario.refusal(scenario.post(BUYER, SUPPLY))
    assert (refusal.code, refusal.retry_after_s, refusal.pointer) == ("recipient.full", RETRY_AFTER_S, "/to/0")
    assert SUPPLY in refusal.detail
    assert len(await scenario.take(SUPPLY, max=1)) == 1
    await scenario.post(BUYER, SUPPLY)


@pytest.mark.req("M8")
async def test_other_recipients_of_the_message_get_it(scenario: Scenario) -> None:
    await fill(scenario)
    result = await scenario.post(BUYER, [SUPPLY, BANK])
    assert [recipient.code for recipient in result.recipients] == ["recipient.full", ""]
    assert len(await scenario.take(BANK)) == 1


async def test_a_post_with_a_full_and_an_unknown_recipient_is_refused_as_full(scenario: Scenario) -> None:
    await fill(scenario)
    refusal = await scenario.refusal(scenario.post(BUYER, ["Acme/Nobody", SUPPLY]))
    assert (refusal.code, refusal.pointer) == ("recipient.full", "/to/1")


async def test_the_networks_limit_applies_where_the_service_has_none_or_a_larger_one(scenario: Scenario) -> None:
    full, supply, bank = scenario.network.full_recipients, scenario.profile(SUPPLY), scenario.profile(BANK)
    full._most = 2
    assert (full.limit(supply), full.limit(bank)) == (2, 2)
    full._most = 0
    assert (full.limit(supply), full.limit(bank)) == (3, 0)


async def test_a_response_to_a_full_service_is_delivered(scenario: Scenario) -> None:
    await scenario.change(BUYER, limits=ServiceLimits(waiting_messages=1))
    await scenario.post(BANK, BUYER)
    await scenario.post(BUYER, SUPPLY, type=MessageType.REQUEST)
    await scenario.respond(await scenario.receive(SUPPLY))
    assert len(await scenario.take(BUYER)) == 2


async def test_an_error_does_not_end_the_counting(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failures = 0

    async def fail() -> None:
        nonlocal failures
        failures += 1
        raise ValueError("a row that cannot be read")

    monkeypatch.setattr(scenario.network.desk, "count_waiting", fail)
    monkeypatch.setattr(full_recipients, "SOON_S", 0.0)
    running = asyncio.get_running_loop().create_task(scenario.network.full_recipients.run(0.0))
    try:
        await eventually_async(lambda: failures > 1)
        assert "recipients.not_counted" in caplog.text
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
