"""Queries that do not end, eat memory, flood or crash cost their own answer and nobody else's."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from postroad.adapters.confined.pool import KILLS_ALLOWED
from postroad.adapters.saxon.queries import SaxonQueries
from postroad.adapters.saxon.workers import SaxonWorkers
from postroad.errors import Refused, Unavailable
from postroad.ports import QueryVerdict
from tests.faults.test_sandbox_runaways import processes_exist
from tests.source_tree import ROOT

ORDER = b"<r><a>1</a></r>"
DEADLINE_S = 1.0
MEMORY_BYTES = 512 * 1024 * 1024

YES = "/r/a = 1"
ENDLESS = "declare function local:f($n) { if ($n lt 0) then 0 else local:f($n + 1) }; local:f(1)"
BOTTOMLESS = "declare function local:f($n) { if ($n lt 0) then 0 else 1 + local:f($n + 1) }; local:f(1) gt 0"
MEMORY_BOMB = "let $all := (for $i in 1 to 100000000 return string($i)) return ($all[last()], $all[7]) = '7'"
BACKTRACKING = "matches(string-join((1 to 40) ! 'a') || '!', '^(a+)+$')"
FLOOD = "string-join((1 to 700000) ! 'xxxxxxxxxxxxxxxx')"
LONG_FAULT = "error((), string-join((1 to 3000000) ! 'xxxx'))"
HIDDEN = ENDLESS.replace("; local:f(1)", "; try { local:f(1) } catch * { true() }")
GOES = QueryVerdict(goes=True)

Pool = tuple[SaxonWorkers, SaxonQueries]


@pytest_asyncio.fixture
async def hurried() -> AsyncIterator[Pool]:
    workers = SaxonWorkers(deadline_s=DEADLINE_S, memory_bytes=MEMORY_BYTES)
    yield workers, SaxonQueries(workers)
    await workers.close()


@pytest_asyncio.fixture
async def patient() -> AsyncIterator[Pool]:
    """With the time to run into the limit that is meant."""
    workers = SaxonWorkers(deadline_s=60, memory_bytes=MEMORY_BYTES)
    yield workers, SaxonQueries(workers)
    await workers.close()


async def verdicts(engine: SaxonQueries, *queries: str) -> list[QueryVerdict]:
    return await engine.evaluate(queries, ORDER, "application/xml", {})


@pytest.mark.req("X4", "Z2")
@pytest.mark.parametrize(
    ("query", "fault"),
    [
        (MEMORY_BOMB, "more than 512 MiB of memory"),
        (FLOOD, "more bytes than allowed"),
        (BOTTOMLESS, "the engine failed"),
        (BACKTRACKING, "backtracking"),
        (LONG_FAULT, "xxxx"),
    ],
    ids=["memory bomb", "flood", "bottomless recursion", "backtracking", "long fault"],
)
async def test_what_passes_a_limit_is_an_error_and_its_neighbours_are_answered(
    patient: Pool, query: str, fault: str
) -> None:
    _, engine = patient
    before, bad, after = await verdicts(engine, YES, query, "string(/r/a)")
    assert fault in bad.error
    assert len(bad.error) <= 1_000
    assert not bad.goes
    assert (before, after.content) == (GOES, b"1")


@pytest.mark.req("X4", "Z2")
@pytest.mark.parametrize("query", [ENDLESS, HIDDEN], ids=["endless", "endless and caught"])
async def test_an_endless_query_is_stopped_at_its_deadline_and_its_neighbours_are_answered(
    hurried: Pool, query: str
) -> None:
    _, engine = hurried
    before, bad, after = await verdicts(engine, YES, query, YES + " ")
    assert bad.error == "it ran for 1 seconds and was stopped"
    assert (before, after) == (GOES, GOES)


@pytest.mark.req("X4")
async def test_the_guilty_query_is_asked_alone_from_then_on_and_then_no_more(hurried: Pool) -> None:
    workers, engine = hurried
    assert (await verdicts(engine, YES, ENDLESS))[1].error
    deaths = 0
    for _ in range(KILLS_ALLOWED - 1):
        await verdicts(engine, YES)
        [process] = workers.process_ids
        good, bad = await verdicts(engine, YES, ENDLESS)
        deaths += process not in workers.process_ids
        assert (good, bad.goes) == (GOES, False)
    assert deaths == KILLS_ALLOWED - 1
    good, bad = await verdicts(engine, YES, ENDLESS)
    assert good == GOES
    assert "This query was stopped 5 times within an hour" in bad.error


async def test_answers_that_are_too_much_together_are_given_one_by_one(patient: Pool) -> None:
    _, engine = patient
    large = [f"string-join((1 to 1200000) ! '{letter}xxxx')" for letter in "abc"]
    answers = await verdicts(engine, *large)
    assert [len(answer.content or b"") for answer in answers] == [6_000_000] * 3


@pytest.mark.req("X4")
async def test_a_query_that_does_not_end_while_it_is_compiled_is_refused(hurried: Pool) -> None:
    _, engine = hurried
    with pytest.raises(Refused, match="it ran for 1 seconds") as refused:
        await engine.check("declare variable $x := count((1 to 1000000000)[. mod 7 = string-length(string(.))]); $x")
    assert refused.value.code == "query.invalid"


async def test_a_worker_killed_from_outside_costs_nobody_an_answer(patient: Pool) -> None:
    workers, engine = patient
    assert await verdicts(engine, YES) == [GOES]
    [process] = workers.process_ids
    os.kill(process, signal.SIGKILL)
    assert await verdicts(engine, YES, "/r/b") == [GOES, QueryVerdict(goes=False)]


async def test_workers_are_replaced_after_so_many_evaluations() -> None:
    workers = SaxonWorkers(recycle_after=10)
    engine = SaxonQueries(workers)
    try:
        seen = set()
        for _ in range(4):
            await workers.warm()
            seen |= set(workers.process_ids)
            await verdicts(engine, *(f"/r/a = {n}" for n in range(5)))
        assert len(seen) == 2
    finally:
        await workers.close()


async def test_closing_refuses_what_is_under_way(hurried: Pool) -> None:
    workers, engine = hurried
    waiting = asyncio.create_task(verdicts(engine, ENDLESS))
    await processes_exist(workers, 1)
    await workers.close()
    with pytest.raises(Unavailable):
        await waiting


CONTROL = """
import sys
from postroad.adapters.saxon.engine import SaxonEngine
from postroad.adapters.confined.pipes import StandardErrorPipe
from postroad.adapters.saxon.frames import QueryBatch
import os
engine = SaxonEngine((), StandardErrorPipe(os.pipe()[0]))
print("started", flush=True)
engine.answer(QueryBatch(queries=(sys.argv[1],), document=b"<r/>", output_limit=1000))
print("ended", flush=True)
"""


@pytest.mark.parametrize(
    "query", [ENDLESS, HIDDEN, BACKTRACKING], ids=["endless", "endless and caught", "backtracking"]
)
def test_without_limits_it_would_not_end(query: str) -> None:
    """The control: in an engine without settings and deadline each of them runs on; a second and a half is enough to see."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", CONTROL, query]
    with subprocess.Popen(command, env=environment, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1.5)
        finally:
            process.kill()
        assert process.stdout.read() == b""
