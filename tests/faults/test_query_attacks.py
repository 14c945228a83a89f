"""Queries of exchanges get out of a worker by no way: with both walls up, and with the settings torn down."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from postroad.adapters.saxon import workers as workers_module
from postroad.adapters.saxon.queries import SaxonQueries
from postroad.adapters.saxon.workers import SaxonWorkers
from postroad.errors import Refused
from tests.faults.query_attacks import query_attacks
from tests.faults.sandbox_attacks import (
    ENVIRONMENT_VARIABLE,
    OWN_CONFIGURATION,
    SECRET,
    Attack,
    Surroundings,
    succeeded,
)
from tests.faults.secret_server import SecretServer, serving
from tests.source_tree import ROOT

one_loop = pytest.mark.asyncio(loop_scope="module")

NAMES = [attack.name for attack in query_attacks(Surroundings(Path("/nowhere"), ""))]


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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def locked(surroundings: Surroundings) -> AsyncIterator[SaxonQueries]:
    pool = SaxonWorkers()
    yield SaxonQueries(pool)
    await pool.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def confined_only(surroundings: Surroundings) -> AsyncIterator[SaxonQueries]:
    """Workers to which Saxon's settings were never made: what holds here, the operating system holds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers_module, "SETTINGS", ())
        pool = SaxonWorkers()
    yield SaxonQueries(pool)
    await pool.close()


async def loot(engine: SaxonQueries, attack: Attack) -> str:
    """What came out when it was bound and when it was evaluated, in the content or in the fault."""
    told = ""
    try:
        await engine.check(attack.source)
    except Refused as refused:
        told = refused.detail
    [verdict] = await engine.evaluate([attack.source], attack.document.encode(), "text/xml", {})
    return told + verdict.error + (verdict.content or b"").decode()


def named(name: str, at: Surroundings) -> Attack:
    return next(attack for attack in query_attacks(at) if attack.name == name)


def without_confinement(at: Surroundings, *words: str) -> set[str]:
    command = [sys.executable, "-m", "tests.faults.open_engine", str(at.folder), at.server, "queries", *words]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", ENVIRONMENT_VARIABLE: SECRET}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.splitlines())


def test_every_attack_works_where_nothing_stops_it(surroundings: Surroundings) -> None:
    assert without_confinement(surroundings) == set(NAMES)


@pytest.mark.req("X4", "Z3")
def test_the_settings_alone_stop_all_but_the_known_hole(surroundings: Surroundings) -> None:
    passed = without_confinement(surroundings, "locked")
    assert {name for name in passed if not name.startswith(OWN_CONFIGURATION)} == set()


@one_loop
@pytest.mark.req("X4", "Z3")
@pytest.mark.parametrize("name", NAMES)
async def test_no_attack_works_in_a_worker(
    name: str, locked: SaxonQueries, surroundings: Surroundings, server: SecretServer
) -> None:
    told = await loot(locked, named(name, surroundings))
    assert not succeeded(surroundings, told, server.take_visits())


@one_loop
@pytest.mark.req("X4", "Z3")
@pytest.mark.parametrize("name", NAMES)
async def test_no_attack_works_by_confinement_alone(
    name: str, confined_only: SaxonQueries, surroundings: Surroundings, server: SecretServer
) -> None:
    told = await loot(confined_only, named(name, surroundings))
    assert not succeeded(surroundings, told, server.take_visits())


@one_loop
@pytest.mark.req("X4")
async def test_all_attacks_in_one_batch_get_nothing_and_disturb_nobody(
    locked: SaxonQueries, surroundings: Surroundings, server: SecretServer
) -> None:
    bad = [attack.source for attack in query_attacks(surroundings) if attack.document == "<r/>"]
    *verdicts, good = await locked.evaluate([*bad, "string(.)"], f"<r>{SECRET}</r>".encode(), "text/xml", {})
    told = "".join(verdict.error + (verdict.content or b"").decode() for verdict in verdicts)
    assert not succeeded(surroundings, told, server.take_visits())
    assert good.content == SECRET.encode(), "the worker does what it should, and says what the message says"
