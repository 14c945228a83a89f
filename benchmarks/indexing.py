"""CPU time that an index costs per message, projecting and applying measured apart.

    python -m benchmarks.indexing [--posts 100000] [--group 1000] [--index sqlite|postgres|memory]

Every message has a handle and one recipient. First all are posted, then all leased, then all acknowledged ("post", "lease",
"ack"); then others are posted, leased and acknowledged within one group ("prompt"). A lease or acknowledgement is of 100. For
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

from postroad.adapters.index.sqlite import SqliteIndex
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import DeliveriesAcknowledged, DeliveriesLeased, Entry
from postroad.core.projection.project import project
from postroad.ports import Head, Index
from postroad.testing.journals import as_records, plain_posts

Seconds = Callable[[], float]
PER_ENTRY = 100  # deliveries in one lease or acknowledgement


async def measure(
    index: Index, elsewhere: Seconds, what: str, entries: Sequence[Entry], first_seq: int, group: int, rows: int
) -> None:
    """Index the entries in groups and print what a row cost."""
    records = as_records(entries, first_seq)
    projecting, applying = 0.0, -elsewhere()
    started = time.perf_counter()
    for start in range(0, len(records), group):
        batch = records[start : start + group]
        before = time.process_time()
        changes = project(batch)
        projected = time.process_time()
        await index.apply(changes, Head(batch[-1].seq, bytes(32)))
        projecting += projected - before
        applying += time.process_time() - projected
    applying += elsewhere()
    rate = rows / (time.perf_counter() - started)
    print(
        f"  {what:<8} project {projecting / rows * 1e6:5.2f} µs  apply {applying / rows * 1e6:5.2f} µs"
        f"  together {(projecting + applying) / rows * 1e6:5.2f} µs CPU  {rate:9,.0f} rows/s"
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


async def run(kind: str, posts: int, group: int) -> None:
    gc.set_threshold(100_000, 20, 100)  # as in the index process
    print(f"{kind}: {posts:,} messages, groups of {group:,}")
    async with opened(kind) as (index, elsewhere):
        seq = 1
        await measure(index, elsewhere, "post", list(plain_posts(posts)), seq, group, posts)
        seq += posts
        leases = handed_out(posts, 1)
        groups = max(1, group // PER_ENTRY)
        await measure(index, elsewhere, "lease", leases, seq, groups, posts)
        seq += len(leases)
        await measure(index, elsewhere, "ack", acknowledged(posts, 1), seq, groups, posts)
        seq += len(leases)
        await measure(index, elsewhere, "prompt", prompt(posts, seq, group), seq, group + 2 * groups, posts)


def prompt(count: int, first_seq: int, group: int) -> list[Entry]:
    """Groups of messages, each group followed by its leases and acknowledgements."""
    entries: list[Entry] = []
    for _ in range(0, count, group):
        seq = first_seq + len(entries)
        entries += [*plain_posts(group, seq), *handed_out(group, seq), *acknowledged(group, seq)]
    return entries


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--posts", type=int, default=100_000)
    arguments.add_argument("--group", type=int, default=1_000)
    arguments.add_argument("--index", choices=["sqlite", "postgres", "memory"], default="sqlite")
    chosen = arguments.parse_args()
    asyncio.run(run(chosen.index, chosen.posts, chosen.group))


if __name__ == "__main__":
    main()
