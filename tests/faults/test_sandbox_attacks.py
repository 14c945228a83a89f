"""Stylesheets and queries get out of a worker by no way: with both walls up, and with the settings torn down.

The same attacks are first tried where there are no walls, so that one that was mistyped does not pass for one that was stopped.
"""

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
from postroad.adapters.saxon.workers import SaxonWorkers
from postroad.errors import Refused
from tests.faults.sandbox_attacks import (
    ENVIRONMENT_VARIABLE,
    OWN_CONFIGURATION,
    SECRET,
    Attack,
    Surroundings,
    attacks,
    nested,
    selecting,
    stylesheet,
    succeeded,
    with_entity,
)
from tests.faults.secret_server import SecretServer, serving
from tests.source_tree import ROOT

one_loop = pytest.mark.asyncio(loop_scope="module")  # so that the tests share workers

NAMES = [attack.name for attack in attacks(Surroundings(Path("/nowhere"), ""))]
PLAIN = selecting("string(.)")
FILES = ["secret.json", "secret.txt", "secret.xml", "secret.xq", "secret.xsl"]


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
async def locked(surroundings: Surroundings) -> AsyncIterator[SaxonWorkers]:
    pool = SaxonWorkers()
    yield pool
    await pool.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def confined_only(surroundings: Surroundings) -> AsyncIterator[SaxonWorkers]:
    """Workers to which Saxon's settings were never made: what holds here, the operating system holds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers_module, "SETTINGS", ())
        pool = SaxonWorkers()
    yield pool
    await pool.close()


async def loot(pool: SaxonWorkers, attack: Attack) -> str:
    """What came out, in the output or in the refusal."""
    try:
        if attack.task == "query":
            return (await pool.query(attack.source, attack.document.encode())).decode()
        return (await pool.transform(attack.source, attack.document.encode(), {})).decode()
    except Refused as refused:
        return refused.detail


def named(name: str, at: Surroundings) -> Attack:
    return next(attack for attack in attacks(at) if attack.name == name)


def without_confinement(at: Surroundings, *words: str) -> set[str]:
    command = [sys.executable, "-m", "tests.faults.open_engine", str(at.folder), at.server, *words]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", ENVIRONMENT_VARIABLE: SECRET}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.splitlines())


def test_every_attack_works_where_nothing_stops_it(surroundings: Surroundings) -> None:
    assert without_confinement(surroundings) == set(NAMES)


@pytest.mark.req("Z3")
def test_the_settings_alone_stop_all_but_the_known_hole(surroundings: Surroundings) -> None:
    passed = without_confinement(surroundings, "locked")
    assert {name for name in passed if not name.startswith(OWN_CONFIGURATION)} == set()


@one_loop
@pytest.mark.req("Z3")
@pytest.mark.parametrize("name", NAMES)
async def test_no_attack_works_in_a_worker(
    name: str, locked: SaxonWorkers, surroundings: Surroundings, server: SecretServer
) -> None:
    output = await loot(locked, named(name, surroundings))
    assert not succeeded(surroundings, output, server.take_visits())


@one_loop
@pytest.mark.req("Z3")
@pytest.mark.parametrize("name", NAMES)
async def test_no_attack_works_by_confinement_alone(
    name: str, confined_only: SaxonWorkers, surroundings: Surroundings, server: SecretServer
) -> None:
    output = await loot(confined_only, named(name, surroundings))
    assert not succeeded(surroundings, output, server.take_visits())


@one_loop
async def test_the_workers_were_at_work_all_the_while(locked: SaxonWorkers, confined_only: SaxonWorkers) -> None:
    """The attacks were refused by a worker that does what it should, not by one that does nothing."""
    for pool in (locked, confined_only):
        assert SECRET.encode() in await pool.transform(PLAIN, f"<r>{SECRET}</r>".encode(), {})
        assert SECRET.encode() in await pool.query("parse-xml('<r/>'), string(.)", f"<r>{SECRET}</r>".encode())


# ---- external entities, after whatever ran before: Saxon's parser has been seen to forget a setting

ENTITY_ATTACKS = [name for name in NAMES if "entity" in name]


async def nothing(pool: SaxonWorkers) -> None:
    """A fresh worker."""


async def a_parse(pool: SaxonWorkers) -> None:
    await pool.transform(PLAIN, b"<r/>", {})


async def a_refused_parse(pool: SaxonWorkers) -> None:
    with pytest.raises(Refused):
        await pool.transform(PLAIN, with_entity("<r>&stolen;</r>", "file:///nowhere").encode(), {})


async def a_nested_transform(pool: SaxonWorkers) -> None:
    assert b"<done/>" in await pool.transform(nested(stylesheet("<done/>")), b"<r/>", {})


async def a_query(pool: SaxonWorkers) -> None:
    assert b"<done/>" in await pool.query("parse-xml('<done/>')", b"<r/>")


@one_loop
@pytest.mark.req("Z2", "Z3")
@pytest.mark.parametrize("before", [nothing, a_parse, a_refused_parse, a_nested_transform, a_query])
async def test_no_entity_is_read_in_any_order(before: object, surroundings: Surroundings) -> None:
    assert callable(before)
    pool = SaxonWorkers()
    try:
        for name in ENTITY_ATTACKS:
            await before(pool)
            assert SECRET not in await loot(pool, named(name, surroundings)), name
    finally:
        await pool.close()


# ---- what the process has


@one_loop
@pytest.mark.skipif(sys.platform != "linux", reason="what a process has open is read from /proc")
async def test_a_worker_has_nothing_but_its_pipes(locked: SaxonWorkers) -> None:
    await locked.warm()
    [process] = locked.process_ids
    folder = Path(f"/proc/{process}")
    opened = {os.readlink(link) for link in (folder / "fd").iterdir()}
    unexpected = {name for name in opened if not name.startswith(("pipe:", "/dev/null"))}
    assert {name for name in unexpected if "libsaxonc" not in name} == set(), "the engine keeps its own library open"
    assert (folder / "environ").read_bytes() == b""
    assert os.readlink(folder / "cwd") == "/"
    limits = (folder / "limits").read_text()
    assert [line.split()[3:5] for line in limits.splitlines() if line.startswith("Max open files")] == [["0", "0"]]
    assert [line.split()[3:5] for line in limits.splitlines() if line.startswith("Max file size")] == [["0", "0"]]
    status = dict(line.split(":\t", 1) for line in (folder / "status").read_text().splitlines() if ":\t" in line)
    assert status["NoNewPrivs"] == "1"
    assert os.geteuid() != 0 or status["Uid"].split() == ["65534"] * 4


@one_loop
async def test_nothing_was_left_in_the_folder(locked: SaxonWorkers, surroundings: Surroundings) -> None:
    assert sorted(path.name for path in surroundings.folder.iterdir()) == FILES
