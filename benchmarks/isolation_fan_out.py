"""One message to 10,000 push services: how long the post takes, how long until all have it, and what the server needs for it.

Rule: memory is the most that the server process ever had in use, as the kernel counts it, not what it had when we looked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.isolation_load import posting
from benchmarks.isolation_network import Members, Receivers, network, receivers
from benchmarks.network import NetworkServer

RECIPIENTS = 10_000
OF_EACH = 10  # services of one organization
SIZES = (2_048, 200 * 1_024)
ARRIVING_S = 180.0
LOOK_S = 0.05
MIB = 1 << 20


class Memory(NamedTuple):
    """Resident bytes of a process: now, and the most since it was last forgotten."""

    now: int
    most: int

    @classmethod
    def of(cls, process_id: int) -> Memory:
        lines = Path(f"/proc/{process_id}/status").read_text().splitlines()
        found = {
            line.split(":")[0]: int(line.split()[1]) << 10 for line in lines if line.startswith(("VmRSS", "VmHWM"))
        }
        return cls(found["VmRSS"], found["VmHWM"])


class FanOut(NamedTuple):
    body_bytes: int
    before: Memory
    after_post: Memory
    at_the_end: Memory
    post_s: float
    all_s: float
    files_most: int


def forget_the_most(process_id: int) -> None:
    Path(f"/proc/{process_id}/clear_refs").write_text("5")


def open_files(process_id: int) -> int:
    return sum(1 for _ in Path(f"/proc/{process_id}/fd").iterdir())


class Everyone(NamedTuple):
    """A running network, and all of its push services with the process that plays them."""

    server: NetworkServer
    receiving: Receivers
    addresses: list[str]


@contextmanager
def everyone(folder: Path, recipients: int) -> Iterator[Everyone]:
    with receivers() as receiving:
        members = Members(receiving)
        names = [f"s{number}" for number in range(OF_EACH)]
        addresses = [
            address
            for number in range(recipients // OF_EACH)
            for address in members.pushed_to(f"Member{number}", names, "good")
        ]
        with network(folder, members) as server:
            yield Everyone(server, receiving, addresses)


async def fan_out(all_of_them: Everyone, body_bytes: int) -> FanOut:
    """Post once to everyone, and wait until everyone has it."""
    server, receiving, addresses = all_of_them
    process_id = server.server_process_id
    async with posting(server.port, server.sender_key) as poster:
        forget_the_most(process_id)
        before, begun = Memory.of(process_id), time.monotonic()
        await poster.post(addresses, body_bytes)
        post_s, after_post = time.monotonic() - begun, Memory.of(process_id)
    files_most = await all_arrived(receiving, process_id, len(addresses))
    all_s = time.monotonic() - begun
    return FanOut(body_bytes, before, after_post, Memory.of(process_id), post_s, all_s, files_most)


async def all_arrived(receiving: Receivers, process_id: int, count: int) -> int:
    """Wait until as many pushes have come; returns the most files that the server had open at a time."""
    arrived = files_most = 0
    async with asyncio.timeout(ARRIVING_S):
        while arrived < count:
            await asyncio.sleep(LOOK_S)
            arrived += len(await receiving.tell("/taken"))
            files_most = max(files_most, open_files(process_id))
    return files_most


async def fan_out_table(folder: Path, recipients: int = RECIPIENTS) -> str:
    with everyone(folder / "fan-out", recipients) as all_of_them:
        found = [await fan_out(all_of_them, size) for size in SIZES]
    return "\n".join(
        [
            f"one message to {recipients:,} push services of {recipients // OF_EACH:,} organizations",
            "body        post, s   all pushed, s   RSS before, MiB   after the post   most   open files, most",
            *map(line_of, found),
        ]
    )


def line_of(found: FanOut) -> str:
    memory = f"{found.before.now / MIB:17.0f} {found.after_post.now / MIB:16.0f} {found.at_the_end.most / MIB:6.0f}"
    return f"{found.body_bytes >> 10:4} KiB {found.post_s:11.2f} {found.all_s:15.1f} {memory} {found.files_most:18}"
