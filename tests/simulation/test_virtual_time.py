"""The loop on which simulations run: time jumps, order comes from a seed, and a standstill is told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any

import pytest

from postroad.testing.clocks import EPOCH_US
from postroad.testing.simulation import virtual_time
from postroad.testing.simulation.virtual_time import (
    PROCESS,
    SeededRandomness,
    SimulationStuck,
    VirtualClock,
    VirtualLoop,
    random_for,
    virtual_loop,
)

Work = Callable[[VirtualLoop], Coroutine[Any, Any, Any]]


def run(work: Work, seed: int | None = None) -> Any:
    loop = virtual_loop(random_for(seed, "order") if seed is not None else None)
    return loop.run_until_complete(work(loop))


def test_days_pass_in_no_time() -> None:
    async def work(loop: VirtualLoop) -> int:
        clock = VirtualClock(loop)
        await asyncio.sleep(10 * 86_400)
        return clock.now_us() - EPOCH_US

    started = time.monotonic()
    assert run(work) == 10 * 86_400 * 1_000_000
    assert time.monotonic() - started < 60.0


def test_what_asyncio_offers_works() -> None:
    async def work(loop: VirtualLoop) -> tuple[float, list[int]]:
        event, lock, got = asyncio.Event(), asyncio.Lock(), []

        async def waiter(number: int) -> None:
            async with lock:
                await event.wait()
                got.append(number)

        loop.call_later(5.0, event.set)
        await asyncio.gather(waiter(1), waiter(2))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2.5):
                await loop.create_future()
        return loop.time(), got

    assert run(work) == (7.5, [1, 2])


def order_of_ready(seed: int | None) -> list[int]:
    async def work(loop: VirtualLoop) -> list[int]:
        got: list[int] = []
        for number in range(8):
            loop.call_later(1.0, got.append, number)
        await asyncio.sleep(2.0)
        return got

    order: list[int] = run(work, seed)
    return order


def test_what_is_due_at_once_runs_in_an_order_drawn_from_the_seed() -> None:
    assert order_of_ready(None) == list(range(8))
    assert order_of_ready(1) == order_of_ready(1)
    assert len({tuple(order_of_ready(seed)) for seed in range(10)}) > 5
    assert all(sorted(order_of_ready(seed)) == list(range(8)) for seed in range(10))


def test_a_set_of_futures_is_walked_in_the_same_order_in_every_run() -> None:
    async def work(loop: VirtualLoop) -> list[int]:
        futures = [loop.create_future() for _ in range(50)]
        return [futures.index(future) for future in set(futures)]

    assert run(work) == run(work)


def test_a_standstill_is_told_with_what_waits() -> None:
    async def forever(loop: VirtualLoop) -> None:
        await loop.create_future()

    async def work(loop: VirtualLoop) -> None:
        await loop.create_task(forever(loop), name="a waiting one")

    with pytest.raises(SimulationStuck, match=r"nothing can ever happen.*a waiting one"):
        run(work)


def test_time_that_has_stopped_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(loop: VirtualLoop) -> None:
        def again() -> None:
            loop.call_soon(again)

        again()
        await asyncio.sleep(1.0)

    monkeypatch.setattr(virtual_time, "MAX_CALLBACKS", 1000)
    with pytest.raises(SimulationStuck, match="time has stopped"):
        run(work)


def test_a_killed_process_loses_all_its_tasks_and_nobody_elses() -> None:
    async def work(loop: VirtualLoop) -> tuple[list[str], list[str]]:
        alive: list[str] = []

        async def live(name: str) -> None:
            if name == "parent":
                loop.create_task(live("child"))
            while True:
                await asyncio.sleep(1.0)
                alive.append(name)

        context = copy_context()
        context.run(PROCESS.set, "doomed")
        loop.create_task(live("parent"), context=context)
        loop.create_task(live("other"))
        await asyncio.sleep(1.5)
        before = sorted(alive)
        loop.kill("doomed")
        alive.clear()
        await asyncio.sleep(1.0)
        return before, alive

    assert run(work) == (["child", "other", "parent"], ["other"])


def test_an_error_that_nobody_hears_of_is_kept() -> None:
    async def work(loop: VirtualLoop) -> list[str]:
        loop.call_soon(lambda: 1 / 0)
        await asyncio.sleep(1.0)
        return loop.failures

    [failure] = run(work)
    assert "ZeroDivisionError" in failure


def test_randomness_can_be_repeated_and_depends_on_whose_it_is() -> None:
    drawn = [SeededRandomness(random_for(*whose)).bytes(8) for whose in ((1, "a"), (1, "a"), (1, "b"), (2, "a"))]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3
