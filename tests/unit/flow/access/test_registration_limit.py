"""Registering: who asks for what is taken is slowed down, and from one address come so many organizations a day."""

from __future__ import annotations

import pytest

from postroad.core.metrics.registry import Metrics
from postroad.errors import Refused
from postroad.flow.access import registration_limit
from postroad.flow.access.registration_limit import DAY_S, RegistrationLimit
from postroad.flow.access.throttle import FREE_FAILURES, Throttle
from postroad.flow.concurrency.keyed_limit import KeyedSemaphore
from tests.unit.flow.access.test_throttle import Watch

pytestmark = pytest.mark.req("Z6", "N1")

HOME, ELSEWHERE = "192.0.2.1", "192.0.2.2"


def made(watch: Watch, per_day: int = 0, metrics: Metrics | None = None) -> RegistrationLimit:
    return RegistrationLimit(watch, Throttle(watch), KeyedSemaphore(), metrics or Metrics(), per_day)


async def asked(registers: RegistrationLimit, peer: str = HOME, *, code: str = "") -> Refused | None:
    """What whoever registers is told; ``code`` is why the directory would refuse it."""
    try:
        async with registers.slot(peer):
            if code:
                raise Refused(code, "as the directory says")
    except Refused as refusal:
        return refusal
    return None


async def test_probing_for_registered_addresses_is_slowed_down() -> None:
    watch = Watch()
    registers = made(watch)
    for _ in range(FREE_FAILURES):
        assert (await asked(registers, code="value.invalid")) is not None
    told = [await asked(registers, code="name.taken") for _ in range(FREE_FAILURES + 1)]
    assert [one.code for one in told if one] == ["name.taken"] * FREE_FAILURES + ["authentication.throttled"]
    assert await asked(registers, ELSEWHERE) is None
    watch.now += 1
    assert await asked(registers) is None


async def test_from_one_address_come_so_many_organizations_a_day() -> None:
    watch = Watch()
    metrics = Metrics()
    registers = made(watch, per_day=2, metrics=metrics)
    assert [await asked(registers) for _ in range(2)] == [None, None]
    watch.now += 60
    refusal = await asked(registers)
    assert refusal is not None
    assert (refusal.code, refusal.retry_after_s) == ("rate.exceeded", DAY_S - 60)
    assert metrics.value("rate_limited_total", "registration") == 1
    assert await asked(registers, ELSEWHERE) is None
    watch.now += DAY_S - 60
    assert await asked(registers) is None


async def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration_limit, "MAX_REMEMBERED", 3)
    registers = made(Watch(), per_day=1)
    for number in range(9):
        assert await asked(registers, f"192.0.2.{number}") is None
    assert await asked(registers, "192.0.2.8") is not None
    assert await asked(registers, "192.0.2.0") is None, "forgotten, as the longest ago"
