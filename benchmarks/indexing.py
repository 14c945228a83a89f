"""CPU time that an index costs per message, projecting and applying measured apart.

    python -m benchmarks.indexing [--posts 100000] [--group 1000] [--services 50] [--rounds 3] [--index sqlite|postgres|memory]

Every message has a handle and one recipient. First all are posted, then all leased, then all acknowledged ("post", "lease",
"ack"); then others are posted, leased and acknowledged within one group ("prompt"). A lease or acknowledgment is of 100. Each
round begins with an empty index; what is shown is the round that cost least, since others on the machine only ever add. For
PostgreSQL the server's CPU time is added from /proc, so that figure needs Linux.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from postroad.adapters.index.sqlite import SqliteIndex
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import DeliveriesAcknowledged, DeliveriesLeased, Entry
from postroad.core.projection.project import project
from postroad.ports import Index, JournalHead
from postroad.testing.random_journals.journals import make_plain_posts, to_records

Seconds = Callable[[], float]
PER_ENTRY = 100  # deliveries in one lease or acknowledgment


class Cost(NamedTuple):
    """CPU seconds for one kind of work, and how long it took."""

    together: float
    projecting: float
    elapsed: float


async def measure(index: Index, elsewhere: Seconds, entries: Sequence[Entry], first_seq: int, group: int) -> Cost:
    """What it costs to index the entries in groups."""
    records = to_records(entries, first_seq)
    projecting, applying = 0.0, -elsewhere()
    started = time.perf_counter()
    for start in range(0, len(records), group):
        batch = records[start : start + group]
        before = time.process_time()
        changes = project(batch)
        projected = time.process_time()
        await index.apply(changes, JournalHead(batch[-1].seq, bytes(32)))
        projecting += projected - before
        applying += time.process_time() - projected
    applying += elsewhere()
    return Cost(projecting + applying, projecting, time.perf_counter() - started)


def show(what: str, cost: Cost, rows: int) -> None:
    print(
        f"  {what:<8} project {cost.projecting / rows * 1e6:5.2f} µs"
        f"  apply {(cost.together - cost.projecting) / rows * 1e6:5.2f} µs"
        f"  together {cost.together / rows * 1e6:5.2f} µs CPU  {rows / cost.elapsed:9,.0f} rows/s"
    )


def handed_out(count: int, first_seq: int) -> list[Entry]:
    return [DeliveriesLeased(1, "a", 30.0, numbers) for numbers in _numbers(count, first_seq)]


def acknowledged(count: int, first_seq: int) -> list[Entry]:
    return [DeliveriesAcknowledged(2, "a", numbers) for numbers in _numbers(count, first_seq)]


def _numbers(count: int, first_seq: int) -> list[tuple[int, ...]]:
    numbers = [delivery_number(seq, 0) for seq in range(first_seq, first_seq + count)]
    return [tuple(numbers[start : start + PER_ENTRY]) for start in range(0, count, PER_ENTRY)]


@asynccontextmanager
async def opened(kind: str) -> AsyncIterator[tuple[Index, Seconds]]:
    """An empty index of that kind, and the CPU time that it has cost in other processes."""
    if kind == "memory":
        from postroad.adapters.memory.index import MemoryIndex

        yield MemoryIndex(), lambda: 0.0
    elif kind == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            index = SqliteIndex(Path(folder) / "index.sqlite")
            yield index, lambda: 0.0
            await index.close()
    else:
        from postroad.adapters.index.postgres import PostgresIndex
        from postroad.testing.postgres import PostgresServer

        with PostgresServer() as server:
            database = await PostgresIndex.open(server.create_database("benchmark"))
            yield (
                database,
                lambda: (
                    time.process_time()
                    + children_cpu(int((server.data_directory / "postmaster.pid").read_text().split()[0]))
                ),
            )
            await database.close()


def children_cpu(parent: int) -> float:
    """CPU seconds of all processes that this one has started and that still run."""
    seconds = 0.0
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            seconds += (int(fields[11]) + int(fields[12])) / 100
    return seconds


async def run(kind: str, posts: int, group: int, services: int, rounds: int) -> None:
    gc.set_threshold(100_000, 20, 100)  # as in the index process
    print(f"{kind}: {posts:,} messages of {services:,} services, groups of {group:,}, the cheapest of {rounds} rounds")
    found = [await one_round(kind, posts, group, services) for _ in range(rounds)]
    least = {what: min(costs[what] for costs in found) for what in found[0]}
    for what, cost in least.items():
        show(what, cost, posts)
    print(
        f"  post, lease and ack {sum(least[what].together for what in ('post', 'lease', 'ack')) / posts * 1e6:5.2f} µs CPU"
    )


async def one_round(kind: str, posts: int, group: int, services: int) -> dict[str, Cost]:
    groups = max(1, group // PER_ENTRY)
    leases, acknowledgments = handed_out(posts, 1), acknowledged(posts, 1)
    phases: list[tuple[str, list[Entry], int]] = [
        ("post", list(make_plain_posts(posts, services=services)), group),
        ("lease", leases, groups),
        ("ack", acknowledgments, groups),
        ("prompt", prompt(posts, 1 + posts + len(leases) + len(acknowledgments), group, services), group + 2 * groups),
    ]
    costs, seq = {}, 1
    async with opened(kind) as (index, elsewhere):
        for what, entries, size in phases:
            costs[what] = await measure(index, elsewhere, entries, seq, size)
            seq += len(entries)
    return costs


def prompt(count: int, first_seq: int, group: int, services: int) -> list[Entry]:
    """Groups of messages, each group followed by its leases and acknowledgments."""
    entries: list[Entry] = []
    for _ in range(0, count, group):
        seq = first_seq + len(entries)
        entries += [*make_plain_posts(group, seq, services), *handed_out(group, seq), *acknowledged(group, seq)]
    return entries


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--posts", type=int, default=100_000)
    arguments.add_argument("--group", type=int, default=1_000)
    arguments.add_argument("--services", type=int, default=50)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--index", choices=["sqlite", "postgres", "memory"], default="sqlite")
    chosen = arguments.parse_args()
    asyncio.run(run(chosen.index, chosen.posts, chosen.group, chosen.services, chosen.rounds))


if __name__ == "__main__":
    main()
