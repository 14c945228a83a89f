"""kill -9 on the running server, large groups and short rounds: what it answered is true after any number of deaths.

``POSTROAD_TEST_SERVER_KILLS=4`` makes 32 rounds of the first test, and four times as many of the others.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from postroad.core.model.message import Delivered
from postroad.testing.http_client import ClientConnection
from postroad.testing.postgres import PostgresServer
from postroad.testing.server import ServerProcess
from tests.samples.aftermath import hand_outs_in, hand_outs_in_postgres, require_whole, require_whole_in_postgres
from tests.samples.enrolled_parties import enroll
from tests.samples.server_load import RECEIVER, SENDER, Load
from tests.waiting import eventually_async

KILLS = int(os.environ.get("POSTROAD_TEST_SERVER_KILLS", "1"))  # multiplies the rounds of every test here
SEED = int(os.environ.get("POSTROAD_TEST_SEED", "0")) or int.from_bytes(os.urandom(4), "little")
SETTINGS = {"segment_bytes": 4 << 20, "attempts_most": 10_000}
SHARED = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "attempts_most": 10_000}
LIVES = 8 * KILLS
ENOUGH = 125  # messages accepted for each life, so that the deaths had something to destroy
MAX_LIVES = 20
BROKEN = Path(__file__).with_name("broken_server.py")

pytestmark = pytest.mark.timeout(900 * KILLS)  # each life starts the server, which takes seconds on a busy machine


@pytest.fixture
def chance() -> Random:
    print(f"seed {SEED}: repeat with POSTROAD_TEST_SEED={SEED}")
    return Random(SEED)


async def load_on(server: ServerProcess, chance: Random, lease_s: float = 60.0) -> Load:
    keys = await enroll(server, SENDER, RECEIVER)
    return Load(port=server.port, keys=keys, chance=chance, lease_s=lease_s)


async def one_life(
    server: ServerProcess, load: Load, *, kill_index_too: bool = False, enough: dict[str, int] | None = None
) -> None:
    """From a start to a death under load, not before there was enough of it (see ``Load.run``).

    Now and then another death comes while the server is still recovering.
    """
    if load.chance.random() < 0.1:
        server.launch()
        await asyncio.sleep(load.chance.uniform(0.1, 1.0))  # sleeps: the death comes at a random moment
        server.kill()
    await asyncio.to_thread(server.start)
    await load.run(load.chance.uniform(0.05, 0.6), **(enough or {}))
    if kill_index_too:
        kill_children(server)
    server.kill()
    await load.ended()


async def after_the_last_life(server: ServerProcess, load: Load, quiet_s: float = 0.5) -> None:
    """Start once more, empty the network, and see that everybody got what was promised."""
    await asyncio.to_thread(server.start)
    await load.drain(quiet_s)
    await load.post_again(200)
    print(
        f"{len(load.ledger.sessions)} accepted, {load.ledger.hand_outs} hand-outs, {load.ledger.duplicates} duplicates"
    )
    assert await asyncio.to_thread(server.stop) == 0
    await asyncio.to_thread(server.start)
    assert [message.handle for message in await nothing_left(load)] == []
    assert await asyncio.to_thread(server.stop) == 0
    assert load.ledger.close()[:5] == []


async def nothing_left(load: Load) -> list[Delivered]:
    async with ClientConnection(load.port, load.keys[RECEIVER]) as receiving:
        return await load.polled(receiving, 10, wait_s=0.2)


@pytest.mark.req("A3", "M6", "M7")
async def test_a_killed_server_keeps_every_promise(tmp_path: Path, chance: Random) -> None:
    server = ServerProcess(tmp_path / "data", SETTINGS)
    load = await load_on(server, chance)
    try:
        for life in range(LIVES):
            await one_life(server, load, enough={"accepted": life * ENOUGH})
        await after_the_last_life(server, load)
    finally:
        server.kill()
    await require_whole(server.data)
    assert load.ledger.missing_from(await hand_outs_in(server.data))[:5] == []


@pytest.mark.req("A3")
async def test_the_index_process_may_die_with_the_server_or_alone(tmp_path: Path, chance: Random) -> None:
    server = ServerProcess(tmp_path / "data", SETTINGS)
    load = await load_on(server, chance, lease_s=1.0)  # what a receiver forgot comes again while the server lives
    try:
        for _ in range(5 * KILLS):
            await one_life(server, load, kill_index_too=True)
        await asyncio.to_thread(server.start)
        for _ in range(2 * KILLS):  # the server lives on, and starts another
            await load.run(0.3)
            await until_others_run(server, kill_children(server))
            await load.ended()
        await after_the_last_life(server, load, quiet_s=1.5)
    finally:
        server.kill()
    await require_whole(server.data)
    assert load.ledger.missing_from(await hand_outs_in(server.data))[:5] == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for child processes in /proc")
async def test_a_stopped_index_process_is_reported_and_replaced(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data", SETTINGS)
    with server:
        async with ClientConnection(server.port, "") as watching:
            assert (await watching.get("/readyz")).status == 200
            [index_process] = index_processes(server)
            os.kill(index_process, signal.SIGSTOP)
            await readiness(watching, 503)
            await readiness(watching, 200)
        assert index_process not in index_processes(server)
        assert server.stop() == 0


def index_processes(server: ServerProcess) -> list[int]:
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    return [
        int(pid) for pid in children if b"postroad.adapters.index.process" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


async def readiness(watching: ClientConnection, status: int) -> None:
    async def is_told() -> bool:
        return (await watching.get("/readyz")).status == status

    await eventually_async(is_told)


@pytest.mark.req("A3", "M6")
async def test_a_killed_server_keeps_every_promise_in_postgres(
    tmp_path: Path, chance: Random, database: tuple[PostgresServer, str]
) -> None:
    server = ServerProcess(tmp_path / "data", {**SHARED, "postgres": database[1]})
    load = await load_on(server, chance, lease_s=1.0)  # a shared lease outlives the node that gave it
    try:
        for _ in range(5 * KILLS):
            await one_life(server, load)
        await after_the_last_life(server, load, quiet_s=1.5)
    finally:
        server.kill()
    await require_whole_in_postgres(database[1])
    assert load.ledger.missing_from(await hand_outs_in_postgres(database[1]))[:5] == []


@pytest.mark.req("A3")
async def test_postgres_may_stop_at_once_under_load(
    tmp_path: Path, chance: Random, database: tuple[PostgresServer, str]
) -> None:
    postgres, dsn = database
    server = ServerProcess(tmp_path / "data", {**SHARED, "postgres": dsn})
    load = await load_on(server, chance, lease_s=1.0)
    try:
        await asyncio.to_thread(server.start)
        for _ in range(5 * KILLS):
            await load.run(chance.uniform(0.1, 0.6))
            await asyncio.to_thread(postgres.stop, immediate=True)
            await asyncio.sleep(chance.uniform(0.0, 0.3))  # sleeps: clients are answered with 503 meanwhile
            await asyncio.to_thread(postgres.start)
            await load.ended()
        assert server.is_running
        await after_the_last_life(server, load, quiet_s=1.5)
    finally:
        server.kill()
    await require_whole_in_postgres(dsn)
    assert load.ledger.missing_from(await hand_outs_in_postgres(dsn))[:5] == []


@pytest.mark.parametrize(
    ("mistake", "enough", "found"),
    [  # what is lost must not have been handed out before, and what comes again must have been acknowledged
        ("late-journal", {"accepted": ENOUGH, "receivers": 0}, "accepted and never handed out"),
        ("forgotten-acks", {"acknowledged": 1}, "acknowledgement had been answered"),
    ],
    ids=["late-journal", "forgotten-acks"],
)
async def test_a_broken_server_is_found_out(
    tmp_path: Path, chance: Random, mistake: str, enough: dict[str, int], found: str
) -> None:
    server = ServerProcess(tmp_path / "data", SETTINGS, command=(sys.executable, str(BROKEN), mistake, "serve"))
    load = await load_on(server, chance)
    for _ in range(MAX_LIVES):
        try:
            before = {"accepted": len(load.ledger.sessions), "acknowledged": len(load.ledger.acknowledged_at)}
            more = {name: count + before.get(name, 0) for name, count in enough.items()}
            await one_life(server, load, enough=more)
            await asyncio.to_thread(server.start)
            await load.drain(0.3)
        finally:
            server.kill()
        if any(found in fault for fault in load.ledger.close()):
            return
    pytest.fail(f"{MAX_LIVES} lives of a broken server, and no complaint")


async def test_hand_outs_that_are_answered_before_they_are_written_are_found_out(
    tmp_path: Path, chance: Random
) -> None:
    command = (sys.executable, str(BROKEN), "early-hand-outs", "serve")
    server = ServerProcess(tmp_path / "data", SETTINGS, command=command)
    load = await load_on(server, chance)
    try:
        for life in range(MAX_LIVES):
            await one_life(server, load, enough={"accepted": life * ENOUGH})
            repeated = any("handed out twice" in fault for fault in load.ledger.faults)
            if repeated or load.ledger.missing_from(await hand_outs_in(server.data)):
                return
    finally:
        server.kill()
    pytest.fail(f"{MAX_LIVES} lives of a broken server, and no complaint")


@pytest.fixture
def database() -> Iterator[tuple[PostgresServer, str]]:
    """A PostgreSQL of the test's own, since it is stopped."""
    with PostgresServer() as postgres:
        yield postgres, postgres.create_database("postroad")


def kill_children(server: ServerProcess) -> list[int]:
    children = server.children
    for child in children:
        os.kill(child, signal.SIGKILL)
    return children


async def until_others_run(server: ServerProcess, killed: list[int]) -> None:
    await eventually_async(lambda: set(server.children) - set(killed), why="nothing was started in their place")
