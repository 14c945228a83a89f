"""Places for pushes: bounded, in turn between organizations, and none lost when somebody stops waiting."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from postroad.flow.push.slots import PushSlots


async def waiting(slots: PushSlots, organization: str, most: int = 1) -> asyncio.Task[int]:
    task = asyncio.create_task(slots.acquire(organization, most))
    await asyncio.sleep(0)
    return task


async def test_slots_are_taken_up_to_the_free_number() -> None:
    slots = PushSlots(overall=5, per_organization=3)
    assert await slots.acquire("a", 8) == 3
    assert await slots.acquire("b", 8) == 2
    third = await waiting(slots, "c")
    assert not third.done()
    slots.release("a", 1)
    assert await third == 1


async def test_an_organization_that_holds_its_share_waits_for_others() -> None:
    slots = PushSlots(overall=10, per_organization=2)
    assert await slots.acquire("a", 8) == 2
    more = await waiting(slots, "a")
    assert await slots.acquire("b", 1) == 1
    assert not more.done()
    slots.release("a", 1)
    assert await more == 1


@pytest.mark.req("D8")
async def test_a_waiting_organization_gets_a_slot_however_many_pushes_of_another_wait() -> None:
    slots = PushSlots(overall=1, per_organization=1)
    assert await slots.acquire("a", 1) == 1
    served: list[str] = []

    def record(name: str, _: asyncio.Task[int]) -> None:
        served.append(name)

    tasks = [await waiting(slots, "a") for _ in range(3)]
    tasks += [await waiting(slots, "b"), await waiting(slots, "c")]
    names = ["a", "a", "a", "b", "c"]
    for task, name in zip(tasks, names, strict=True):
        task.add_done_callback(partial(record, name))
    slots.release("a", 1)
    for _ in range(5):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        slots.release(served[-1], 1)
    assert served == ["a", "b", "c", "a", "a"]


@pytest.mark.parametrize("granted", [False, True])
async def test_a_cancelled_wait_takes_no_slot(granted: bool) -> None:
    slots = PushSlots(overall=1, per_organization=1)
    await slots.acquire("a", 1)
    leaving = await waiting(slots, "b")
    if granted:  # in the very moment in which it leaves
        slots.release("a", 1)
        leaving.cancel()
    else:
        leaving.cancel()
        await asyncio.sleep(0)
        slots.release("a", 1)
    await asyncio.gather(leaving, return_exceptions=True)
    assert leaving.cancelled()
    assert await asyncio.wait_for(slots.acquire("c", 1), 30) == 1


async def test_what_comes_from_other_slots_is_taken_over_beyond_the_bounds_and_bounded_too() -> None:
    slots = PushSlots(overall=2, per_organization=2)
    assert await slots.acquire("a", 2) == 2
    assert [slots.take_over("b") for _ in range(3)] == [True, True, False]
    third = await waiting(slots, "c")
    slots.release("b", 2)
    await asyncio.sleep(0)
    assert not third.done()  # two places are held, which is all there are
    slots.release("a", 1)
    assert await third == 1


async def test_an_organization_above_its_share_gets_no_more_slots() -> None:
    slots = PushSlots(overall=8, per_organization=2)
    for _ in range(3):
        assert slots.take_over("a")
    more = await waiting(slots, "a", 4)
    slots.release("a", 1)
    await asyncio.sleep(0)
    assert not more.done()
    slots.release("a", 1)
    assert await more == 1
