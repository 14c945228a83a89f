"""One process and its server: neither needs the other to behave."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
import uvloop

from postroad.adapters.confined import worker as worker_module
from postroad.adapters.confined.frames import WorkerReady, WorkerTerms, encode_frame
from postroad.adapters.confined.worker import BOOT, SOURCE_FOLDER, Death, Worker, WorkerDied
from postroad.adapters.saxon.frames import SaxonCall
from postroad.adapters.saxon.workers import ENGINE, SETTINGS
from postroad.errors import Unavailable

TERMS = WorkerTerms(memory_bytes=512 * 1024 * 1024, deadline_s=0.1, settings=SETTINGS)
ENDLESS = "declare function local:f($n) { if ($n lt 0) then 0 else local:f($n + 1) }; local:f(1)"


def lying(answer: str) -> str:
    """A worker that starts well and then gives that answer, a Python expression for bytes, to whatever it is asked."""
    return (
        "import sys, time; line = sys.stdout.buffer; sys.stdin.buffer.read(5); "
        f"line.write({encode_frame(WorkerReady())!r}); line.flush(); sys.stdin.buffer.read(400); "
        f"line.write({answer}); line.flush(); "
        "time.sleep(60)"  # sleeps: until it is killed
    )


async def death_of(boot: str, monkeypatch: pytest.MonkeyPatch) -> Death:
    monkeypatch.setattr(worker_module, "BOOT", boot)
    worker = await Worker.start(TERMS, ENGINE)
    with pytest.raises(WorkerDied) as died:
        await worker.call(SaxonCall(task="query", source=" " * 1_000, output_limit=1_000), deadline_s=10)
    return died.value.death


@pytest.mark.parametrize(
    ("answer", "death"),
    [
        ("(2**32 - 1).to_bytes(4, 'big')", Death.TOO_MUCH),
        ("(3).to_bytes(4, 'big') + b'abc'", Death.CRASH),
        ("(1).to_bytes(4, 'big') + bytes([0xc0])", Death.CRASH),
    ],
    ids=["endless frame", "no msgpack", "no outcome"],
)
async def test_a_worker_that_lies_is_killed(answer: str, death: Death, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await death_of(lying(answer), monkeypatch) is death


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_a_worker_that_was_killed_while_idle_is_told_as_killed(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """uvloop closes the pipe to a dead process and refuses writes with an error of its own."""

    async def call_a_killed_worker() -> None:
        worker = await Worker.start(TERMS, ENGINE)
        os.kill(worker.pid, signal.SIGKILL)
        await worker._process.wait()
        await worker.call(SaxonCall(task="query", source="1", output_limit=1_000), deadline_s=60)

    with asyncio.Runner(loop_factory=loop) as runner, pytest.raises(WorkerDied) as died:
        runner.run(call_a_killed_worker())
    assert died.value.death is Death.FROM_OUTSIDE


async def test_a_worker_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "BOOT", "raise SystemError('no engine in here')")
    with pytest.raises(Unavailable, match="SystemError: no engine in here"):
        await Worker.start(TERMS, ENGINE)


async def test_a_program_that_is_not_there_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(Unavailable, match="No such file"):
        await Worker.start(TERMS, ENGINE)


async def test_a_worker_whose_server_does_not_look_stops_itself() -> None:
    """The limit of processor time is the second wall behind the deadline."""
    worker = await Worker.start(TERMS, ENGINE)
    started = time.monotonic()
    with pytest.raises(WorkerDied) as died:
        await worker.call(SaxonCall(task="query", source=ENDLESS, document=b"<r/>", output_limit=1_000), deadline_s=60)
    assert died.value.death is Death.DEADLINE
    assert time.monotonic() - started < 50


def test_a_worker_whose_server_is_gone_ends() -> None:
    reading, writing = os.pipe()
    command = [sys.executable, "-I", "-c", BOOT, SOURCE_FOLDER, ENGINE, str(reading)]
    pipe = subprocess.PIPE
    try:
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=writing, pass_fds=(reading,), env={}) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(encode_frame(TERMS))
            process.stdin.flush()
            assert process.stdout.read(len(encode_frame(WorkerReady()))) == encode_frame(WorkerReady())
            process.stdin.close()
            assert process.wait(20) == 0
    finally:
        os.close(reading)
        os.close(writing)


def test_the_server_never_loads_the_engine() -> None:
    probe = "import sys, postroad.adapters.saxon.workers; sys.exit('saxonche' in sys.modules)"
    boot = f"import sys; sys.path.insert(0, {SOURCE_FOLDER!r}); {probe}"
    assert subprocess.run([sys.executable, "-I", "-c", boot], check=False).returncode == 0
