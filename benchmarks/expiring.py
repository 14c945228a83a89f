"""How fast requests that expire at the same moment are ended, with the embedded store and with PostgreSQL.

    python -m benchmarks.expiring [--requests 20000]

Requests that no one polls are posted in bulk and expire together. Each gets an error response of the network. The rate counts
from the moment of expiry to the journal entry of the last response.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.comparing import work_folder
from benchmarks.neighbour_attacks import ask, written
from benchmarks.network import NetworkServer
from benchmarks.payload import RECEIVER
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.segments import SegmentReader
from postroad.core.codecs.lexical import write_time
from postroad.core.model.journal import MessagePosted, decode

BULK = 500
LEAD_S = 45.0  # from the first post to the moment of expiry
WITHIN_S = 300.0
SECOND_US = 1_000_000


async def post_requests(server: NetworkServer, requests: int, expires_at_us: int) -> None:
    wish = {"to": [RECEIVER], "type": "request", "expiration": write_time(expires_at_us), "documents": [{"text": "x"}]}
    one = written(wish) + b"\n"
    for _ in range(requests // BULK):
        body = one * BULK
        status, answer = await ask(
            server.port, "POST", "/v1/messages/bulk", server.sender_key, body, "application/x-ndjson"
        )
        if status != 200:
            raise RuntimeError(f"{status}: {answer[:300]!r}")


async def ended_at(folder: Path, dsn: str) -> list[int]:
    """When each request was ended, as the journal has it."""
    found, after = [], 0
    journal = await PostgresJournal.open(dsn) if dsn else SegmentReader(folder / "network" / "data" / "journal")
    try:
        while (batch := await journal.read(after)).records:
            entries = [decode(record.facts) for record in batch.records]
            found += [one.at_us for one in entries if isinstance(one, MessagePosted) and one.ends is not None]
            after = batch.head.seq
    finally:
        closing = journal.close()
        if closing is not None:
            await closing
    return found


async def measured(folder: Path, server: NetworkServer, requests: int) -> tuple[float, float]:
    """Requests ended per second, and the seconds until the last one."""
    expires_at_us = int((time.time() + LEAD_S) * SECOND_US)
    await post_requests(server, requests, expires_at_us)
    if time.time() * SECOND_US > expires_at_us:
        raise RuntimeError("posting took longer than the requests live; post fewer")
    deadline = time.time() + LEAD_S + WITHIN_S
    while len(ended := await ended_at(folder, server.postgres_address)) < requests:
        if time.time() > deadline:
            raise RuntimeError(f"only {len(ended)} of {requests} have ended")
        await asyncio.sleep(1.0)
    took_s = (max(ended) - expires_at_us) / SECOND_US
    return requests / took_s, took_s


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--requests", type=int, default=20_000)
    given = parser.parse_args(arguments)
    print(f"{'store':12}{'requests/s':>12}{'last after s':>14}")
    for name, shared in (("embedded", False), ("postgresql", True)):
        with work_folder() as folder, NetworkServer(folder / "network", shared=shared) as server:
            rate, took_s = asyncio.run(measured(folder, server, given.requests))
        print(f"{name:12}{rate:12,.0f}{took_s:14.1f}", flush=True)


if __name__ == "__main__":
    main()
