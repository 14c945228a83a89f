"""After the wall clock was set, open windows and expiries are found at once."""

from __future__ import annotations

import asyncio

import pytest

from postroad.core.model.directory import DeliveryWindow
from postroad.testing.simulation.virtual_time import VirtualClock
from tests.samples.pushes import PushScenario, in_virtual_time
from tests.unit.flow.push.test_push import ACME, HOUR_S, SECOND_US

OFFSET_US: list[int] = []


@pytest.fixture(autouse=True)
def _settable_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    OFFSET_US[:] = [0]
    now_us = VirtualClock.now_us
    monkeypatch.setattr(VirtualClock, "now_us", lambda clock: now_us(clock) + OFFSET_US[0])


def set_forward(seconds: float) -> None:
    OFFSET_US[0] += int(seconds * SECOND_US)


@pytest.mark.req("D4")
def test_a_window_that_is_open_after_the_clock_was_set_is_noticed() -> None:
    async def work(at: PushScenario) -> None:
        watching = asyncio.ensure_future(at.network.clock_steps.run())
        await at.pushed_service(ACME, windows=(DeliveryWindow(opens="17:00", closes="18:00"),))
        assert (at.clock.now_us() // SECOND_US // HOUR_S) % 24 == 14
        await at.send(ACME)
        await asyncio.sleep(5)
        assert at.receivers.received == []
        set_forward(3 * HOUR_S)
        await asyncio.sleep(70)  # within a window, services begin spread over its first minute
        assert len(at.receivers.received) == 1
        watching.cancel()

    in_virtual_time(work)


@pytest.mark.req("M10")
def test_deliveries_that_expire_when_the_clock_is_set_are_ended() -> None:
    async def work(at: PushScenario) -> None:
        watching = asyncio.ensure_future(at.network.clock_steps.run())
        await at.service(ACME)
        session = await at.send(ACME, expires_at_us=at.clock.now_us() + 2 * HOUR_S * SECOND_US)
        await asyncio.sleep(5)
        assert await at.state(session) == "queued"
        set_forward(3 * HOUR_S)
        await asyncio.sleep(5)
        assert await at.state(session) == "expired"
        watching.cancel()

    in_virtual_time(work)
