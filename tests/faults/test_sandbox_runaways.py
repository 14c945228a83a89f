"""Stylesheets that do not end, eat memory, flood or crash cost their own call and nobody else's."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from postroad.adapters.confined import pool as pool_module
from postroad.adapters.confined.pool import KILLS_ALLOWED
from postroad.adapters.saxon.workers import SETTINGS, SaxonWorkers
from postroad.errors import Misconfigured, Refused, Unavailable
from tests.faults.sandbox_attacks import selecting, stylesheet
from tests.waiting import eventually_async

ORDER = b"<r><a>1</a></r>"
PLAIN = selecting("string(.)")
DEADLINE_S = 1.0
MEMORY_BYTES = 256 * 1024 * 1024

COUNTING_UP = '<xsl:function name="my:f"><xsl:param name="n"/><xsl:sequence select="{}"/></xsl:function>'
ENDLESS = selecting("my:f(1)", COUNTING_UP.format("if ($n lt 0) then 0 else my:f($n + 1)"))
BOTTOMLESS = selecting("my:f(1)", COUNTING_UP.format("if ($n lt 0) then 0 else 1 + my:f($n + 1)"))
MEMORY_BOMB = selecting("let $all := (for $i in 1 to 100000000 return string($i)) return ($all[last()], $all[7])")
BACKTRACKING = selecting("matches(string-join((1 to 40) ! 'a') || '!', '^(a+)+$')")
FLOOD = stylesheet("<xsl:for-each select='1 to 300000'><a>xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx</a></xsl:for-each>")
CHATTER = stylesheet(
    "<xsl:for-each select='1 to 20000'><xsl:message>xxxxxxxxxxxxxxxxxxxx</xsl:message></xsl:for-each><o/>"
)
CRASH = stylesheet("<xsl:merge/>")  # an exception that Saxon's C interface does not catch: the process ends


@pytest_asyncio.fixture
async def pool() -> AsyncIterator[SaxonWorkers]:
    workers = SaxonWorkers(deadline_s=DEADLINE_S, memory_bytes=MEMORY_BYTES)
    yield workers
    await workers.close()


@pytest_asyncio.fixture
async def patient() -> AsyncIterator[SaxonWorkers]:
    """With the time to run into the limit that is meant."""
    workers = SaxonWorkers(deadline_s=120, memory_bytes=MEMORY_BYTES)
    yield workers
    await workers.close()


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


async def processes_exist(pool: SaxonWorkers, count: int) -> None:
    await eventually_async(lambda: len(pool.process_ids) >= count, why=f"{count} workers did not start")


async def code_of(pool: SaxonWorkers, source: str) -> str:
    with pytest.raises(Refused) as refused:
        await pool.transform(source, ORDER, {})
    return refused.value.code


async def works(pool: SaxonWorkers) -> bool:
    return b"<o>1</o>" in await pool.transform(PLAIN, ORDER, {})


@pytest.mark.req("Z2", "Z3")
async def test_an_endless_stylesheet_is_stopped_at_its_deadline(pool: SaxonWorkers) -> None:
    await pool.warm()
    [before] = pool.process_ids
    started = time.monotonic()
    assert await code_of(pool, ENDLESS) == "transform.timeout"
    assert DEADLINE_S <= time.monotonic() - started < DEADLINE_S + 30
    assert not is_running(before)
    assert await works(pool)


@pytest.mark.req("Z2", "Z3")
@pytest.mark.parametrize(
    ("source", "code"),
    [
        (MEMORY_BOMB, "transform.memory"),
        (FLOOD, "transform.output-too-large"),
        (BOTTOMLESS, "transform.failed"),
        (BACKTRACKING, "transform.failed"),
        (CRASH, "transform.failed"),
    ],
    ids=["memory bomb", "flood", "bottomless recursion", "backtracking", "crash"],
)
async def test_what_passes_a_limit_is_refused_and_the_next_call_works(
    patient: SaxonWorkers, source: str, code: str
) -> None:
    assert await code_of(patient, source) == code
    assert await works(patient)


async def test_messages_are_dropped_and_block_nothing(patient: SaxonWorkers) -> None:
    assert b"<o/>" in await patient.transform(CHATTER, ORDER, {})


@pytest.mark.req("Z2")
async def test_a_stylesheet_that_does_not_end_while_it_is_compiled_is_stopped(pool: SaxonWorkers) -> None:
    """Constants are worked out by the compiler; here one that takes indefinitely."""
    static = (
        '<xsl:variable name="x" static="yes" select="count((1 to 1000000000)[. mod 7 = string-length(string(.))])"/>'
    )
    with pytest.raises(Refused) as refused:
        await pool.check(selecting("$x", static))
    assert refused.value.code == "transform.timeout"


async def test_a_worker_killed_from_outside_costs_nobody_a_call(patient: SaxonWorkers) -> None:
    pool = patient
    slow = asyncio.create_task(pool.transform(BACKTRACKING, ORDER, {}))
    await processes_exist(pool, 1)
    [process] = pool.process_ids
    os.kill(process, signal.SIGKILL)
    with pytest.raises(Refused, match="backtracking"):  # so it was run again, to its own end
        await slow
    assert await works(pool)
    [idle] = pool.process_ids
    os.kill(idle, signal.SIGKILL)
    assert await works(pool)
    assert pool.process_ids != [idle]


async def test_a_call_whose_workers_are_all_killed_may_be_tried_again(
    pool: SaxonWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "TRIES", 1)
    waiting = asyncio.create_task(pool.transform(ENDLESS, ORDER, {}))
    await processes_exist(pool, 1)
    os.kill(pool.process_ids[0], signal.SIGKILL)
    with pytest.raises(Unavailable):
        await waiting


@pytest.mark.req("Z3")
async def test_twenty_callers_get_their_answers_beside_one_that_hangs() -> None:
    pool = SaxonWorkers(processes=2, deadline_s=8)  # a second worker may take two to start on a cold disk
    try:
        hanging = asyncio.create_task(pool.transform(ENDLESS, ORDER, {}))
        await asyncio.sleep(0)
        answers = await asyncio.gather(*(pool.transform(PLAIN, b"<r>%d</r>" % n, {}) for n in range(20)))
        assert not hanging.done()
        assert [b"<o>%d</o>" % n in answer for n, answer in enumerate(answers)] == [True] * 20
        with pytest.raises(Refused) as refused:
            await hanging
        assert refused.value.code == "transform.timeout"
        assert len(pool.process_ids) <= 2
    finally:
        await pool.close()


async def test_with_one_worker_those_who_wait_go_on_after_the_kill(pool: SaxonWorkers) -> None:
    hanging = asyncio.create_task(pool.transform(ENDLESS, ORDER, {}))
    await asyncio.sleep(0)
    answers = await asyncio.gather(*(pool.transform(PLAIN, ORDER, {}) for _ in range(20)))
    assert len(answers) == 20
    assert hanging.done()
    with pytest.raises(Refused):
        await hanging


async def test_a_caller_who_gives_up_leaves_no_worker_in_the_middle_of_something(pool: SaxonWorkers) -> None:
    await pool.warm()
    [process] = pool.process_ids
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(pool.transform(ENDLESS, ORDER, {}), 0.1)  # sleeps: the caller gives up amid it
    assert not is_running(process)
    assert await works(pool)


@pytest.mark.req("Z3")
async def test_a_stylesheet_that_keeps_killing_is_suspended() -> None:
    pool = SaxonWorkers()
    try:
        for _ in range(KILLS_ALLOWED):
            assert await code_of(pool, CRASH) == "transform.failed"
        before = pool.process_ids
        with pytest.raises(Refused, match="5 times within an hour") as refused:
            await pool.transform(CRASH, ORDER, {})
        assert refused.value.code == "transform.suspended"
        assert pool.process_ids == before
        assert await works(pool)
    finally:
        await pool.close()


async def test_those_who_queue_behind_the_last_kill_are_refused_too() -> None:
    pool = SaxonWorkers()
    try:
        ended = await asyncio.gather(*(code_of(pool, CRASH) for _ in range(KILLS_ALLOWED + 5)))
        assert sorted(ended) == ["transform.failed"] * KILLS_ALLOWED + ["transform.suspended"] * 5
    finally:
        await pool.close()


async def test_a_worker_is_replaced_after_so_many_calls() -> None:
    pool = SaxonWorkers(recycle_after=3)
    try:
        seen = []
        for _ in range(7):
            await pool.warm()
            seen += pool.process_ids
            assert await works(pool)
        assert [seen.count(process) for process in dict.fromkeys(seen)] == [3, 3, 1]
    finally:
        await pool.close()


@pytest.mark.req("Z3")
async def test_no_worker_starts_if_a_setting_is_not_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = ("http://saxon.sf.net/feature/unknown-to-this-version", "true")
    monkeypatch.setattr(SaxonWorkers, "settings", (*SETTINGS, unknown))
    pool = SaxonWorkers()
    for start in (pool.warm(), pool.transform(PLAIN, ORDER, {})):
        with pytest.raises(Misconfigured, match="unknown-to-this-version"):
            await start
    assert pool.process_ids == []
    await pool.close()


async def test_too_little_memory_for_the_engine_is_said_at_the_start() -> None:
    pool = SaxonWorkers(memory_bytes=24 * 1024 * 1024)
    with pytest.raises(Unavailable, match="No transform worker could be started"):
        await pool.warm()
    await pool.close()


async def test_closing_leaves_no_process_behind() -> None:
    pool = SaxonWorkers(processes=3)
    calls = [asyncio.create_task(pool.transform(ENDLESS, ORDER, {})) for _ in range(2)]
    assert await works(pool)
    await processes_exist(pool, 3)
    processes = pool.process_ids
    waiting = [asyncio.create_task(pool.transform(ENDLESS, ORDER, {})) for _ in range(3)]
    await asyncio.sleep(0)
    await asyncio.gather(pool.close(), pool.close())
    ended = await asyncio.gather(*calls, *waiting, return_exceptions=True)
    assert [type(end) for end in ended] == [Unavailable] * 5
    assert [is_running(process) for process in processes] == [False] * 3
    with pytest.raises(Unavailable):
        await pool.transform(PLAIN, ORDER, {})
    await pool.close()


async def test_nothing_is_started_before_it_is_needed() -> None:
    pool = SaxonWorkers()
    assert pool.process_ids == []
    await pool.close()
