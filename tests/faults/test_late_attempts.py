"""Two nodes, the first one stopped with a post in its socket: the sender retries at the second, then the first wakes up.

Rule: each message is stored once. The first attempt is always late: it was sent before the retry, and is carried out after it.
``POSTROAD_TEST_LATE_ROUNDS=50`` makes 50 rounds of each test.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Unpack

import pytest

from postroad.adapters.journal.postgres import PostgresJournal
from postroad.client import AsyncClient, PostResult, Refused, Retrying, Unavailable, message
from postroad.client.compose import MessageFields
from postroad.core.model.journal import MessagePosted, decode
from postroad.testing.server import ServerProcess
from tests.samples.enrolled_parties import enroll
from tests.samples.server_load import RECEIVER, SENDER
from tests.waiting import eventually_async

SHARED = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32}
ROUNDS = int(os.environ.get("POSTROAD_TEST_LATE_ROUNDS", "2"))
TIMEOUT_S = 1.0  # of the client
MANY = 20


@dataclass
class Balancer:
    """A load balancer that sends each connection to the node that is chosen now."""

    port: int
    connections: int = 0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        node = await asyncio.open_connection("127.0.0.1", self.port)
        pipes = [asyncio.create_task(pipe(*ends)) for ends in ((reader, node[1]), (node[0], writer))]
        self._tasks.update(pipes)
        await asyncio.gather(*pipes)
        self._tasks.difference_update(pipes)


async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes until its end; what has been sent to a node stays in its socket."""
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        return
    finally:
        writer.close()


@dataclass
class Cluster:
    nodes: list[ServerProcess]
    database: str
    balancer: Balancer
    url: str  # of the balancer
    key: str  # of the sender

    def sender(self, tries: int = 20) -> AsyncClient:
        """A client with no connection yet."""
        return AsyncClient(self.url, self.key, timeout_s=TIMEOUT_S, retrying=Retrying(tries=tries))

    async def late_first_attempt(self, post: Callable[[], Awaitable[object]]) -> object:
        """Post while the first node stands still, so that the retry goes to the second; then let the first one go on."""
        first, second = self.nodes
        self.balancer.port, before = first.port, self.balancer.connections
        os.kill(first.pid, signal.SIGSTOP)
        try:
            posting = asyncio.ensure_future(post())
            await eventually_async(lambda: self.balancer.connections > before)  # the first attempt is on its way
            self.balancer.port = second.port
            answer = await posting
        finally:
            os.kill(first.pid, signal.SIGCONT)
        await self.settled()
        return answer

    async def settled(self) -> None:
        """Wait until the first node has carried out all that lay in its socket: it answers a request that came later."""
        async with AsyncClient(self.nodes[0].url, self.key, timeout_s=60) as asking:
            await asking.post(to=RECEIVER, document="the last", handle="last")

    async def stored(self) -> Counter[str]:
        """How often each document is in the journal, by its handle or topic."""
        journal = await PostgresJournal.open(self.database)
        try:
            found: Counter[str] = Counter()
            seq = 0
            while records := (await journal.read(seq)).records:
                seq = records[-1].seq
                entries = [decode(record.facts) for record in records]
                found.update(one.handle or one.topic for one in entries if isinstance(one, MessagePosted))
            return found
        finally:
            await journal.close()


@asynccontextmanager
async def cluster_in(folder: Path, database: str) -> AsyncIterator[Cluster]:
    settings = {**SHARED, "postgres": database}
    nodes = [ServerProcess(folder / name, settings) for name in ("one", "two")]
    keys = await enroll(nodes[0], SENDER, RECEIVER)
    with nodes[0], nodes[1]:
        balancer = Balancer(nodes[0].port)
        server = await asyncio.start_server(balancer.serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield Cluster(nodes, database, balancer, url, keys[SENDER])
        server.close()


def order(number: int, **more: Unpack[MessageFields]) -> MessageFields:
    return {"to": RECEIVER, "document": f"order {number}", "topic": f"topic-{number}", **more}


@pytest.mark.req("M6")
async def test_what_the_sdk_retries_is_stored_once(tmp_path: Path, postgres_database: str) -> None:
    async with cluster_in(tmp_path, postgres_database) as cluster:
        for number in range(ROUNDS):
            async with cluster.sender() as sender:
                assert isinstance(await cluster.late_first_attempt(partial(sender.post, **order(number))), PostResult)
        stored = await cluster.stored()
    assert {stored[f"topic-{number}"] for number in range(ROUNDS)} == {1}


@pytest.mark.req("M6")
async def test_a_bulk_that_the_sdk_retries_is_stored_once(tmp_path: Path, postgres_database: str) -> None:
    async with cluster_in(tmp_path, postgres_database) as cluster:
        for number in range(ROUNDS):
            orders = [message(**order(number * MANY + place)) for place in range(MANY)]
            async with cluster.sender() as sender:
                answers = await cluster.late_first_attempt(partial(sender.post_many, orders))
            assert isinstance(answers, list)
            assert all(isinstance(answer, PostResult) for answer in answers)
        stored = await cluster.stored()
    assert {stored[f"topic-{number}"] for number in range(ROUNDS * MANY)} == {1}


@pytest.mark.req("M6")
async def test_a_handle_that_was_retried_with_the_flag_is_stored_once(tmp_path: Path, postgres_database: str) -> None:
    async with cluster_in(tmp_path, postgres_database) as cluster:

        async def post(number: int) -> PostResult:
            """As a sender without an SDK would: the second attempt has the flag, and no Idempotency-Key of the first."""
            try:
                async with cluster.sender(tries=1) as sender:
                    return await sender.post(**order(number, handle=f"PO-{number}"))
            except Unavailable:
                async with cluster.sender() as sender:
                    return await sender.post(**order(number, handle=f"PO-{number}", possible_duplicate=True))

        for number in range(ROUNDS):
            assert isinstance(await cluster.late_first_attempt(partial(post, number)), PostResult)
        async with cluster.sender() as sender:
            with pytest.raises(Refused, match=r"message\.duplicate"):
                await sender.post(**order(0, handle="PO-0"))
        stored = await cluster.stored()
    assert {stored[f"PO-{number}"] for number in range(ROUNDS)} == {1}
