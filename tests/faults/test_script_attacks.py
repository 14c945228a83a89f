"""Scripts get out of a worker by no way: with both walls up, and with Python in the place of the language that has no doors."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from postroad.adapters.confined import worker as worker_module
from postroad.adapters.confined.pool import WorkerPool
from postroad.adapters.scripts.scripts import ScriptWorkers, StarlarkScripts
from postroad.errors import Refused
from tests.faults.sandbox_attacks import ENVIRONMENT_VARIABLE, SECRET, Surroundings, succeeded
from tests.faults.script_attacks import loads, returning, script_attacks
from tests.faults.secret_server import SecretServer, serving
from tests.source_tree import ROOT

one_loop = pytest.mark.asyncio(loop_scope="module")

NAMES = list(script_attacks(Surroundings(Path("/nowhere"), "")))


@pytest.fixture(scope="module")
def server() -> Iterator[SecretServer]:
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def surroundings(server: SecretServer) -> Iterator[Surroundings]:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT_VARIABLE, SECRET)
        at = Surroundings(Path(folder), server.address)
        at.prepare()
        yield at


class PythonWorkers(WorkerPool):
    engine = "tests.faults.python_room"
    label = "script"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def locked(surroundings: Surroundings) -> AsyncIterator[StarlarkScripts]:
    pool = ScriptWorkers()
    yield StarlarkScripts(pool)
    await pool.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def confined_only(surroundings: Surroundings) -> AsyncIterator[StarlarkScripts]:
    """Workers that run scripts as Python: what holds here, the operating system holds."""
    pool = PythonWorkers(deadline_s=10, recycle_after=1_000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_module, "BOOT", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {worker_module.BOOT}")
        await pool.warm()
    yield StarlarkScripts(pool)
    await pool.close()


async def loot(engine: StarlarkScripts, script: str) -> str:
    """What came out when it was bound and when it was evaluated, in the content or in the fault."""
    told = ""
    try:
        await engine.check(script)
    except Refused as refused:
        told = refused.detail
    return told + await evaluated(engine, script)


async def evaluated(engine: StarlarkScripts, script: str) -> str:
    [verdict] = await engine.evaluate([script], b"<r/>", "text/xml", {})
    return verdict.error + (verdict.content or b"").decode()


def test_every_attack_works_in_python_without_walls(surroundings: Surroundings) -> None:
    command = [sys.executable, "-m", "tests.faults.python_room", str(surroundings.folder), surroundings.server]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", ENVIRONMENT_VARIABLE: SECRET}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert set(done.stdout.splitlines()) == set(NAMES)


@one_loop
@pytest.mark.req("X4", "Z3")
@pytest.mark.parametrize("name", NAMES)
async def test_no_attack_works_in_a_worker(
    name: str, locked: StarlarkScripts, surroundings: Surroundings, server: SecretServer
) -> None:
    told = await loot(locked, script_attacks(surroundings)[name])
    assert not succeeded(surroundings, told, server.take_visits())


@one_loop
@pytest.mark.req("X4", "Z3")
@pytest.mark.parametrize("name", NAMES)
async def test_no_attack_works_by_confinement_alone(
    name: str, confined_only: StarlarkScripts, surroundings: Surroundings, server: SecretServer
) -> None:
    told = await evaluated(confined_only, script_attacks(surroundings)[name])
    assert told
    assert not succeeded(surroundings, told, server.take_visits())


@one_loop
@pytest.mark.req("X4", "Z3")
async def test_nothing_can_be_loaded(locked: StarlarkScripts, surroundings: Surroundings, server: SecretServer) -> None:
    for script in loads(surroundings):
        told = await loot(locked, script)
        assert "`load` is not allowed" in told
        assert not succeeded(surroundings, told, server.take_visits())


@one_loop
@pytest.mark.req("X4", "Z3")
@pytest.mark.parametrize(
    "document", ["<!DOCTYPE r [<!ENTITY s SYSTEM '{text}'>]><r>&s;</r>", "<!DOCTYPE r SYSTEM '{page}'><r/>"]
)
async def test_no_message_reaches_out_for_its_entities(
    document: str, locked: StarlarkScripts, surroundings: Surroundings, server: SecretServer
) -> None:
    content = document.format(text=surroundings.text, page=surroundings.page).encode()
    [verdict] = await locked.evaluate([returning("message.xml.text")], content, "text/xml", {})
    assert not verdict.goes
    assert not succeeded(surroundings, verdict.error, server.take_visits())


@one_loop
@pytest.mark.req("X4")
async def test_the_language_has_no_clock_no_chance_and_no_surroundings(locked: StarlarkScripts) -> None:
    for name in ("time", "now", "random", "print", "input", "open", "env", "os", "sys", "breakpoint", "vars", "id"):
        with pytest.raises(Refused, match=f"`{name}` not found"):
            await locked.check(returning(name))


@one_loop
@pytest.mark.req("X4")
async def test_all_attacks_in_one_batch_get_nothing_and_disturb_nobody(
    locked: StarlarkScripts, surroundings: Surroundings, server: SecretServer
) -> None:
    bad = [*script_attacks(surroundings).values(), *loads(surroundings)]
    message = f"<r>{SECRET}</r>".encode()
    *verdicts, good = await locked.evaluate([*bad, returning("message.xml.text")], message, "text/xml", {})
    told = "".join(verdict.error + (verdict.content or b"").decode() for verdict in verdicts)
    assert not succeeded(surroundings, told, server.take_visits())
    assert good.content == SECRET.encode(), "the worker does what it should, and says what the message says"
