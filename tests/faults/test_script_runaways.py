"""Scripts that do not end, eat memory, flood or crash cost their own answer and nobody else's."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from postroad.adapters.confined.pool import KILLS_ALLOWED, WorkerPool
from postroad.adapters.scripts.scripts import (
    LARGEST_CONTENT_BYTES,
    MAX_ELEMENTS,
    MAX_VALUES,
    ScriptWorkers,
    StarlarkScripts,
)
from postroad.errors import Refused, Unavailable
from postroad.ports import QueryVerdict
from tests.faults.script_attacks import returning
from tests.waiting import eventually_async

ORDER = b"<r><a>1</a></r>"
DEADLINE_S = 0.5
MEMORY_BYTES = 192 * 1024 * 1024

YES = returning("message.xml.value('a') == '1'")
ENDLESS_LOOP = "    for a in range(1 << 30):\n        for b in range(1 << 30):\n            pass\n"
ENDLESS = f"def route(message):\n{ENDLESS_LOOP}"
ENDLESS_WHEN_DEFINED = f"def f():\n{ENDLESS_LOOP}f()\n{YES}"
BOTTOMLESS = "def route(message):\n    return route(message)\n"
MUTUAL = "def other(message):\n    return route(message)\ndef route(message):\n    return other(message)\n"
DOUBLING = "def route(message):\n    text = 'x'\n    for _ in range(40):\n        text += text\n    return text\n"
HOARD = "def route(message):\n    return [str(n) for n in range(1 << 30)]\n"
NUMBER = "def route(message):\n    n = 3\n    for _ in range(60):\n        n = n * n\n    return True\n"
FLOOD = returning("'x' * (11 << 20)")
LONG_FAULT = returning("fail('x' * (4 << 20))")
BLANK_FAULT = returning("fail('\\n ' * (1 << 20))")
NESTED_LIST = "def route(message):\n    it = []\n    for _ in range(100000):\n        it = [it]\n    return it\n"
CYCLE = "def route(message):\n    it = []\n    it.append(it)\n    return it\n"
BRACKETS = "x = " + "[" * 5_000 + "]" * 5_000 + "\n" + YES
SIGNS = "x = " + "-" * 100_000 + "1\n" + YES
GOES = QueryVerdict(goes=True)

Pool = tuple[WorkerPool, StarlarkScripts]


@pytest_asyncio.fixture
async def hurried() -> AsyncIterator[Pool]:
    workers = ScriptWorkers(deadline_s=DEADLINE_S, memory_bytes=MEMORY_BYTES)
    yield workers, StarlarkScripts(workers)
    await workers.close()


@pytest_asyncio.fixture
async def patient() -> AsyncIterator[Pool]:
    """With the time to run into the limit that is meant."""
    workers = ScriptWorkers(deadline_s=60, memory_bytes=MEMORY_BYTES)
    yield workers, StarlarkScripts(workers)
    await workers.close()


async def verdicts(engine: StarlarkScripts, *scripts: str) -> list[QueryVerdict]:
    return await engine.evaluate(scripts, ORDER, "application/xml", {})


@pytest.mark.req("X4", "Z2")
@pytest.mark.parametrize(
    ("script", "fault"),
    [
        (DOUBLING, "memory"),
        (HOARD, "memory"),
        (BOTTOMLESS, "call stack overflow"),
        (MUTUAL, "call stack overflow"),
        (FLOOD, "more bytes than allowed"),
        (LONG_FAULT, "xxxx"),
        (BLANK_FAULT, "line 2: it failed"),
        (NESTED_LIST, "the engine failed"),
        (CYCLE, "Cycle detected"),
        (BRACKETS, "the engine failed"),
        (SIGNS, "the engine failed"),
    ],
    ids=[
        "doubling",
        "hoard",
        "recursion",
        "mutual",
        "flood",
        "long fault",
        "blank",
        "nested",
        "cycle",
        "brackets",
        "signs",
    ],
)
async def test_what_passes_a_limit_is_an_error_and_its_neighbours_are_answered(
    patient: Pool, script: str, fault: str
) -> None:
    _, engine = patient
    before, bad, after = await verdicts(engine, YES, script, returning("message.xml.value('a')"))
    assert fault in bad.error
    assert len(bad.error) <= 1_000
    assert not bad.goes
    assert (before, after.content) == (GOES, b"1")


@pytest.mark.req("X4", "Z2")
@pytest.mark.parametrize("script", [ENDLESS, ENDLESS_WHEN_DEFINED, NUMBER], ids=["endless", "when defined", "number"])
async def test_an_endless_script_is_stopped_at_its_deadline_and_its_neighbours_are_answered(
    hurried: Pool, script: str
) -> None:
    workers, engine = hurried
    assert await verdicts(engine, YES) == [GOES]
    [process] = workers.process_ids
    before, bad, after = await verdicts(engine, YES, script, YES + "#")
    assert bad.error == "it ran for 0.5 seconds and was stopped"
    assert (before, after) == (GOES, GOES)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.req("X4")
async def test_the_guilty_script_is_asked_alone_from_then_on_and_then_no_more(hurried: Pool) -> None:
    workers, engine = hurried
    assert (await verdicts(engine, YES, BRACKETS))[1].error
    for _ in range(KILLS_ALLOWED - 1):
        await verdicts(engine, YES)
        [process] = workers.process_ids
        good, bad = await verdicts(engine, YES, BRACKETS)
        assert (good, bad.goes) == (GOES, False)
        assert process not in workers.process_ids
    await verdicts(engine, YES)
    before = workers.process_ids
    good, bad = await verdicts(engine, YES, BRACKETS)
    assert good == GOES
    assert "This script was stopped 5 times within an hour" in bad.error
    assert workers.process_ids == before


@pytest.mark.req("X4")
@pytest.mark.parametrize(
    ("script", "fault"),
    [(ENDLESS, "it ran for 0.5 seconds"), (ENDLESS_WHEN_DEFINED, "it ran for 0.5 seconds"), (SIGNS, "engine failed")],
    ids=["endless", "when defined", "signs"],
)
async def test_a_script_that_does_not_survive_its_check_is_refused(hurried: Pool, script: str, fault: str) -> None:
    _, engine = hurried
    with pytest.raises(Refused, match=fault) as refused:
        await engine.check(script)
    assert refused.value.code == "script.invalid"
    await engine.check(YES)


@pytest.mark.req("X4")
async def test_no_script_fills_the_memory_that_others_need(patient: Pool) -> None:
    """Each of them holds 80 MB as long as it is defined, and the worker has 192."""
    workers, engine = patient
    large = [f"table = ['{n}'] * (10 << 20)\n{YES}" for n in range(3)]
    await workers.warm()
    before = workers.process_ids
    assert await verdicts(engine, *large, YES) == [GOES] * 4
    assert workers.process_ids == before


@pytest.mark.req("X4")
@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"<r>" + b"<a/>" * (MAX_ELEMENTS - 2) + b"</r>", "text/xml"),
        (b"<r " + b" ".join(b'a%d="1"' % n for n in range(250)) + b"/>", "text/xml"),
        (b"[" + b"{}," * (MAX_VALUES // 2 - 2) + b"{}]", "application/json"),
        (b"[" + b"1," * (MAX_VALUES - 2) + b"1]", "application/json"),
        (b'["' + b"x" * (LARGEST_CONTENT_BYTES - 4) + b'"]', "application/json"),
        (b"<r>" + b"x" * (LARGEST_CONTENT_BYTES - 7) + b"</r>", "text/xml"),
    ],
    ids=["elements", "attributes", "objects", "numbers", "long text", "long XML"],
)
async def test_the_largest_message_costs_no_worker(content: bytes, media_type: str) -> None:
    workers = ScriptWorkers()
    try:
        await workers.warm()
        before = workers.process_ids
        engine = StarlarkScripts(workers)
        script = returning("message.json != None or message.xml != None")
        assert await engine.evaluate([script], content, media_type, {}) == [GOES]
        assert workers.process_ids == before
    finally:
        await workers.close()


async def test_a_worker_killed_from_outside_costs_nobody_an_answer(patient: Pool) -> None:
    workers, engine = patient
    assert await verdicts(engine, YES) == [GOES]
    [process] = workers.process_ids
    os.kill(process, signal.SIGKILL)
    assert await verdicts(engine, YES, returning("False")) == [GOES, QueryVerdict(goes=False)]


async def test_workers_are_replaced_after_so_many_evaluations() -> None:
    workers = ScriptWorkers(recycle_after=10)
    engine = StarlarkScripts(workers)
    try:
        seen = set()
        for _ in range(4):
            await workers.warm()
            seen |= set(workers.process_ids)
            await verdicts(engine, *(f"{YES}# {n}" for n in range(5)))
        assert len(seen) == 2
    finally:
        await workers.close()


async def test_closing_refuses_what_is_under_way() -> None:
    workers = ScriptWorkers()
    engine = StarlarkScripts(workers)
    await workers.warm()
    waiting = asyncio.create_task(verdicts(engine, ENDLESS))
    await eventually_async(lambda: bool(workers._busy))
    await workers.close()
    with pytest.raises(Unavailable):
        await waiting
    assert workers.process_ids == []
