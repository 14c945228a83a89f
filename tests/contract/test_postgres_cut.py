"""Connections to the database that are cut at any byte: callers are told Unavailable, never an internal error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from random import Random
from urllib.parse import urlsplit

import asyncpg
import pytest

from postroad.adapters.journal.postgres_connections import ConnectionPool
from postroad.errors import Unavailable


class CuttingProxy:
    """Passes bytes between a client and the database, and cuts each connection after a random number of them."""

    def __init__(self, host: str, port: int, chance: Random) -> None:
        self._target = (host, port)
        self._chance = chance
        self.cuts = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        database_reader, database_writer = await asyncio.open_connection(*self._target)
        pumps = [self._pump(reader, database_writer, None), self._pump(database_reader, writer, writer)]
        with suppress(OSError):
            await asyncio.gather(*pumps)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cut: asyncio.StreamWriter | None
    ) -> None:
        left = self._chance.randrange(1, 4_000)
        while data := await reader.read(65536):
            if cut is not None and self.cuts and left < len(data):
                writer.write(data[:left])  # in the middle of a message of the protocol
                await writer.drain()
                break
            left -= len(data)
            writer.write(data)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def through_proxy(dsn: str) -> AsyncIterator[tuple[CuttingProxy, str]]:
    parts = urlsplit(dsn)
    proxy = CuttingProxy(parts.hostname or "", parts.port or 0, Random(9))
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    listening = server.sockets[0].getsockname()[1]
    yield proxy, dsn.replace(f":{parts.port}/", f":{listening}/")
    server.close()


async def test_a_connection_that_is_cut_is_told_as_unavailable(postgres_database: str) -> None:
    async with through_proxy(postgres_database) as (proxy, dsn):
        connections = await ConnectionPool.open(dsn, most=4)
        proxy.cuts = True
        told: list[str] = []

        async def ask() -> None:
            for number in range(60):
                try:
                    await connections.fetch("SELECT $1::bigint, repeat('x', 700)", number)
                except Unavailable as unavailable:
                    told.append(unavailable.code)
                    await asyncio.sleep(0.02)  # sleeps: a client that was refused pauses

        await asyncio.gather(*(ask() for _ in range(4)))
        proxy.cuts = False
        assert told
        assert set(told) == {"network.unavailable"}
        await connections.close()


@pytest.mark.parametrize(
    "error", [asyncpg.InternalClientError("got result for unknown protocol state 0"), TypeError("x")]
)
async def test_whatever_a_broken_connection_raises_is_unavailable(postgres_database: str, error: Exception) -> None:
    connections = await ConnectionPool.open(postgres_database, most=1)

    async def break_it() -> None:
        async with connections.use() as connection:
            connection.terminate()
            raise error

    with pytest.raises(Unavailable, match="database cannot be reached"):
        await break_it()
    await connections.close()


async def test_a_mistake_of_ours_on_a_healthy_connection_stays_visible(postgres_database: str) -> None:
    connections = await ConnectionPool.open(postgres_database, most=1)

    async def mistake() -> None:
        async with connections.use():
            raise TypeError("ours")

    with pytest.raises(TypeError, match="ours"):
        await mistake()
    await connections.close()
