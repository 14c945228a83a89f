"""One message to two thousand push services: all of them get it, in bounded memory, also across the death of the server.

The receivers are a process of their own, each service at a loopback address of its own, as in ``python -m benchmarks.isolation``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.isolation_fan_out import MIB, Memory, forget_the_most, open_files
from benchmarks.isolation_load import posting
from benchmarks.isolation_network import Members, Receivers, receivers
from postroad.adapters.transport.connections import IDLE_S, IN_ALL
from postroad.flow.push.slots import OVERALL
from postroad.testing.server import ServerProcess
from tests.samples.served_network import succeeded
from tests.waiting import eventually_async

RECIPIENTS = 2_000
BODY_BYTES = 100 << 10
COPIES = 3  # of the body that a push under way may need: as read, as sent, and as it waits to be sent
BOUND_BYTES = OVERALL * COPIES * BODY_BYTES + 48 * MIB
ARRIVING_S = 240.0
SENDER = ("Meadow", "Orders")


@pytest.fixture
def receiving() -> Iterator[Receivers]:
    with receivers() as running:
        yield running


@pytest.fixture
def everybody(receiving: Receivers, tmp_path: Path) -> tuple[Members, list[str]]:
    members = Members(receiving)
    key = tmp_path / "sender.key"
    succeeded("keys", "make", "--output", key)
    members.polling(*SENDER, key)
    organizations = range(RECIPIENTS // 10)
    names = [f"s{number}" for number in range(10)]
    return members, [one for number in organizations for one in members.pushed_to(f"Member{number}", names, "good")]


@pytest.fixture
def server(everybody: tuple[Members, list[str]], tmp_path: Path) -> Iterator[ServerProcess]:
    settings = {"push_allow_private": "127.0.0.0/8", "segment_bytes": 4 * MIB}
    with ServerProcess(tmp_path / "data", settings) as running:
        file = tmp_path / "network.yaml"
        file.write_text(everybody[0].document())
        succeeded("apply", file, "--yes", "--data", tmp_path / "data")
        yield running


async def arrived(receiving: Receivers, count: int) -> int:
    """How many pushes have come, once there are as many as that."""
    found = 0

    async def all_came() -> bool:
        nonlocal found
        found += len(await receiving.tell("/taken"))
        return found >= count

    await eventually_async(all_came, ARRIVING_S, every_s=0.1, why=f"fewer than {count} pushes came")
    return found


async def few_open_files(server: ServerProcess) -> None:
    """Wait until the last pushes have ended and the other open connections are few, sooner than idle ones are closed anyway."""
    await eventually_async(lambda: open_files(server.pid) < IN_ALL + 100, IDLE_S / 2)


async def posted(server: ServerProcess, key: Path, to: list[str]) -> None:
    async with posting(server.port, key.read_text().strip()) as poster:
        await poster.post(to, BODY_BYTES)


@pytest.mark.req("D8")
async def test_memory_and_files_stay_bounded_while_all_get_it(
    server: ServerProcess, receiving: Receivers, everybody: tuple[Members, list[str]], tmp_path: Path
) -> None:
    forget_the_most(server.pid)
    before = Memory.of(server.pid).now
    await posted(server, tmp_path / "sender.key", everybody[1])
    assert await arrived(receiving, RECIPIENTS) == RECIPIENTS
    assert Memory.of(server.pid).most - before < BOUND_BYTES
    await few_open_files(server)


@pytest.mark.req("D8")
async def test_a_server_that_dies_after_the_post_comes_back_in_bounded_memory(
    server: ServerProcess, receiving: Receivers, everybody: tuple[Members, list[str]], tmp_path: Path
) -> None:
    await posted(server, tmp_path / "sender.key", everybody[1])
    server.kill()
    before = len(await receiving.tell("/taken"))
    server.start()
    forget_the_most(server.pid)
    at_start = Memory.of(server.pid).now
    await arrived(receiving, RECIPIENTS - before)
    assert Memory.of(server.pid).most - at_start < BOUND_BYTES
