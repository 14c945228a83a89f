"""Load for the benchmark of isolation: posts at a constant rate that do not wait for each other, and pollers, good and bad.

Rule: a post goes out when its time has come, whatever became of those before it; otherwise a network that stalls would be
spared the posts that its stall delayed.
"""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec

from benchmarks.isolation_receiver import POSTED_AT
from benchmarks.payload import poll_request
from postroad.client import AsyncClient

CONTENT_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
CONNECTIONS = 32
FILLING = "Deliver to the back gate before noon; ring twice. "


class PostFailed(RuntimeError):
    """The network did not take a message; then no figure of the round means anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One kept-alive connection to the network."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def to(cls, port: int) -> Connection:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
        return cls(reader=reader, writer=writer)

    async def ask(self, request: bytes) -> bytes:
        """The body of the answer; raises PostFailed unless it is a success."""
        self.writer.write(request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = CONTENT_LENGTH.search(head)
        body = await self.reader.readexactly(int(length[1]) if length else 0)
        if not head.startswith(b"HTTP/1.1 2"):
            raise PostFailed(f"{head.splitlines()[0].decode()}: {body[:500].decode()}")
        return body


class Poster:
    """Posts as one service, over connections of its own."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        self._head = (
            "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {key}\r\nContent-Length: "
        ).encode()
        self._free: asyncio.Queue[Connection] = asyncio.Queue()

    async def open(self) -> None:
        for _ in range(CONNECTIONS):
            self._free.put_nowait(await Connection.to(self._port))

    async def close(self) -> None:
        while not self._free.empty():
            self._free.get_nowait().writer.close()

    async def post(self, to: list[str], body_bytes: int) -> None:
        connection = await self._free.get()
        text = f"posted-at:{time.monotonic_ns()}:" + FILLING * (body_bytes // len(FILLING))
        document = {"contentType": "text/plain", "text": text}
        body = msgspec.json.encode({"to": to, "documents": [document]})
        await connection.ask(self._head + f"{len(body)}\r\n\r\n".encode() + body)
        self._free.put_nowait(connection)

    async def post_at(self, rate: float, seconds: float, recipients: Iterator[str], body_bytes: int) -> None:
        """So many posts a second, each to the next recipient."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        async with asyncio.TaskGroup() as posts:
            for number in range(int(rate * seconds)):
                await asyncio.sleep(begun + number / rate - loop.time())
                posts.create_task(self.post([next(recipients)], body_bytes))


@asynccontextmanager
async def posting(port: int, key: str) -> AsyncIterator[Poster]:
    poster = Poster(port, key)
    await poster.open()
    try:
        yield poster
    finally:
        await poster.close()


async def poll_always(url: str, key: str, arrived: Callable[[int], None]) -> None:
    """Take whatever comes, until cancelled; tells how long each message was under way, in microseconds."""
    async with AsyncClient(url, key) as client:
        while True:
            messages = await client.poll(wait_s=20.0)
            now_ns = time.monotonic_ns()
            for message in messages:
                arrived((now_ns - stamp_in(message.parts[0].data)) // 1_000)
            if messages:
                await client.acknowledge(*messages)


def stamp_in(text: bytes) -> int:
    found = POSTED_AT.search(text)
    if found is None:
        raise PostFailed("a message has arrived that does not tell when it was posted")
    return int(found[1])


def poll_without_reading(port: int, key: str) -> socket.socket:
    """A poller that asks for much and never reads the answer."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.connect(("127.0.0.1", port))
    connection.sendall(poll_request(key, 100, 20.0))
    return connection
