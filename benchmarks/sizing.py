"""How much memory and disk a network needs: per message, per waiting delivery, and per connection.

    python -m benchmarks.sizing [--messages 1000000] [--connections 2000] [--publish]

Messages are posted in bulk and not polled. Memory is the proportional set size (PSS) of the server and its index process,
at rest. --publish rewrites the tables of docs/operate/sizing.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.comparing import work_folder
from benchmarks.machine import description
from benchmarks.neighbour_attacks import ask
from benchmarks.network import PROGRAM
from benchmarks.payload import RECEIVER, SENDER, purchase_order
from benchmarks.processes import all_processes, cpu_s_at_rest, tree_of
from benchmarks.sections import publish
from postroad.core.identity import api_key
from postroad.testing.postgres import PostgresServer
from postroad.testing.server import ServerProcess

PAGE = Path(__file__).resolve().parents[1] / "docs" / "operate" / "sizing.md"
BULK = 500
MIB = 1 << 20
SEGMENT_BYTES = MIB  # small, so that the unused rest of the last segment does not count
REST_S = 600.0  # at most, until the index has caught up
BODIES = (("64 bytes", "x" * 64), ("2 KB", purchase_order()))


class Sizes(NamedTuple):
    """What a network uses at one moment."""

    memory: int
    journal: int
    tables: int
    database: int = 0


class Site(NamedTuple):
    """A running network, its folder, and the keys of its two services."""

    server: ServerProcess
    sender_key: str
    receiver_key: str
    postgres: PostgresServer | None


@contextmanager
def network(folder: Path, postgres: PostgresServer | None = None) -> Iterator[Site]:
    settings: dict[str, object] = {"segment_bytes": SEGMENT_BYTES, "least_free_bytes": 0}
    settings["trusted_proxies"] = "127.0.0.1"  # else one address may open only 1,000 connections
    if postgres is not None:
        settings |= {"acceptance": "shared", "index": "postgres", "secret": "0f" * 32}
        settings["postgres"] = postgres.create_database("sizing")
    with ServerProcess(folder / "data", settings) as server:
        keys = [api_key.make(os.urandom(api_key.RANDOM_BYTES)).text for _ in range(2)]
        configure(server, folder, keys)
        yield Site(server, keys[0], keys[1], postgres)


def configure(server: ServerProcess, folder: Path, keys: Iterable[str]) -> None:
    """Create a service that posts and one that receives."""
    organizations: dict[str, object] = {}
    for address, key in zip((SENDER, RECEIVER), keys, strict=True):
        organization, _, service = address.partition("/")
        file = folder / f"{service}.key"
        file.write_text(key)
        credentials = [{"label": "benchmark", "keyFrom": f"file:{file}"}]
        organizations[organization] = {"services": {service: {"visibility": "public", "credentials": credentials}}}
    document = folder / "network.yaml"
    document.write_text(json.dumps({"postroad": 1, "organizations": organizations}))  # JSON is YAML too
    command = [str(PROGRAM), "apply", "--yes", "--data", str(server.data), str(document)]
    subprocess.run(command, check=True, capture_output=True)


def memory_bytes(pid: int) -> int:
    """Return the proportional set size of a process and of all that it has started."""
    total = 0
    for member in tree_of([pid], all_processes()):
        rollup = Path(f"/proc/{member}/smaps_rollup").read_text()
        total += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) * 1024
    return total


def disk_bytes(folder: Path, pattern: str) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.glob(pattern) if path.is_file())


def measure(site: Site) -> Sizes:
    """Measure the network once its processes are at rest."""
    cpu_s_at_rest([site.server.pid], REST_S)
    data = site.server.data
    if site.postgres is not None:
        return Sizes(memory_bytes(site.server.pid), 0, 0, database_bytes(site.postgres))
    return Sizes(memory_bytes(site.server.pid), disk_bytes(data, "journal/*"), disk_bytes(data, "index.sqlite*"))


def database_bytes(postgres: PostgresServer) -> int:
    return int(postgres.execute("SELECT pg_database_size('sizing')"))


async def post_all(site: Site, body: str, first: int, messages: int) -> None:
    """Post messages in bulk over two connections, each with a handle of its own."""
    starts = iter(range(first, first + messages, BULK))

    async def post() -> None:
        for start in starts:
            lines = [
                json.dumps({"to": [RECEIVER], "handle": f"PO-{n:09}", "documents": [{"text": body}]})
                for n in range(start, start + BULK)
            ]
            content = ("\n".join(lines) + "\n").encode()
            kind = "application/x-ndjson"
            status, answer = await ask(site.server.port, "POST", "/v1/messages/bulk", site.sender_key, content, kind)
            if status != 200:
                raise RuntimeError(f"{status}: {answer[:300]!r}")

    await asyncio.gather(post(), post())


async def deliver_all(site: Site, messages: int) -> None:
    """Poll and acknowledge everything that waits."""
    left = messages
    while left:
        taken = await call(site, "/v1/poll", {"max": BULK})
        tokens = [one["token"] for one in taken["messages"]]
        await call(site, "/v1/ack", {"tokens": tokens})
        left -= len(tokens)


async def call(site: Site, path: str, content: object) -> Any:
    """Send a request as the receiver, and return what the response contains."""
    body = json.dumps(content).encode()
    status, answer = await ask(site.server.port, "POST", path, site.receiver_key, body)
    if status != 200:
        raise RuntimeError(f"{path}: {status}: {answer[:300]!r}")
    return json.loads(answer.partition(b"\r\n\r\n")[2])


def per_message(messages: int) -> list[str]:
    """Return the table of disk space per message, for each store and size of body."""
    lines = ["| Store | Body | | Journal, bytes | Index, bytes | Database, bytes |", "|---|---|---|--:|--:|--:|"]
    for name, body in BODIES:
        with work_folder() as folder, network(folder) as site:
            lines += message_rows(site, f"embedded | {name}", body, messages)
    for name, body in BODIES:
        with (
            work_folder() as folder,
            PostgresServer(settings={"max_wal_size": "4GB"}) as postgres,
            network(folder, postgres) as site,
        ):
            lines += message_rows(site, f"PostgreSQL | {name}", body, messages)
    return lines


def message_rows(site: Site, title: str, body: str, messages: int) -> Iterator[str]:
    before = measure(site)
    asyncio.run(post_all(site, body, 0, messages))
    yield f"| {title} | waits | {shown(growth(before, measure(site), messages))} |"
    asyncio.run(deliver_all(site, messages))
    yield f"| {title} | delivered | {shown(growth(before, measure(site), messages))} |"


def shown(sizes: Sizes) -> str:
    return " | ".join(f"{size:,}" if size else "" for size in (sizes.journal, sizes.tables, sizes.database))


def growth(before: Sizes, after: Sizes, messages: int) -> Sizes:
    """Return what each message has added, in bytes."""
    return Sizes(*((late - early) // messages for early, late in zip(before, after, strict=True)))


def waiting(messages: int) -> list[str]:
    """Return the table of memory, disk and start time while deliveries wait."""
    lines = ["| Waiting deliveries | Memory, MiB | Disk, MiB | Start, s |", "|--:|--:|--:|--:|"]
    _, body = BODIES[0]
    with work_folder() as folder, network(folder) as site:
        posted = 0
        for until in (0, messages // 10, messages):
            asyncio.run(post_all(site, body, posted, until - posted))
            posted = until
            sizes = measure(site)
            site.server.stop()
            start_s = site.server.start()
            disk = (sizes.journal + sizes.tables) / MIB
            lines.append(f"| {until:,} | {sizes.memory / MIB:,.0f} | {disk:,.0f} | {start_s:.1f} |")
    return lines


async def memory_of_connections(site: Site, connections: int) -> tuple[float, float]:
    """Return bytes for each connection that has polled once and is kept open, and for each that polls now.

    Idle connections are closed after 15 seconds, so all of this must be quick.
    """
    before = measure(site).memory
    opened = [await polled_once(site) for _ in range(connections)]
    try:
        idle = memory_bytes(site.server.pid)
        for _, writer in opened:
            writer.write(poll_request(site, 60))
        await asyncio.sleep(2.0)
        polling = memory_bytes(site.server.pid)
    finally:
        for _, writer in opened:
            writer.close()
    return (idle - before) / connections, (polling - before) / connections


async def polled_once(site: Site) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", site.server.port)
    writer.write(poll_request(site, 0))
    await reader.readuntil(b"}")
    return reader, writer


def poll_request(site: Site, wait_s: int) -> bytes:
    body = json.dumps({"waitSeconds": wait_s}).encode()
    head = f"POST /v1/poll HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {site.receiver_key}\r\n"
    return f"{head}content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


def open_connections(connections: int) -> list[str]:
    with work_folder() as folder, network(folder) as site:
        base = measure(site).memory
        idle, polling = asyncio.run(memory_of_connections(site, connections))
    return [
        "| What | Memory |",
        "|---|--:|",
        f"| server and index process after the start | {base / MIB:,.0f} MiB |",
        f"| each open connection | {idle / 1024:,.1f} KiB |",
        f"| each waiting poll, with its connection | {polling / 1024:,.1f} KiB |",
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--connections", type=int, default=2_000)
    parser.add_argument("--publish", action="store_true")
    given = parser.parse_args(arguments)
    began = time.monotonic()
    machine = "; ".join(f"{name}: {value}" for name, value in description(PAGE.parent, with_peer=False).items())
    sections = [
        ["Disk space per message, while it waits and after it is delivered:", "", *per_message(given.messages // 10)],
        ["Embedded store while deliveries wait, each with a body of 64 bytes:", "", *waiting(given.messages)],
        ["Connections:", "", *open_connections(given.connections)],
    ]
    text = "\n\n".join("\n".join(section) for section in [*sections, [machine + "."]])
    print(text, f"\n({time.monotonic() - began:.0f} s)")
    if given.publish:
        publish("sizing", text, PAGE)


if __name__ == "__main__":
    main()
