"""The nodes of a shared network, in PostgreSQL.

Each node saves its row every ``SEEN_EVERY_S`` seconds and removes it when it stops. All times are the database's.

Rule: versions before network levels have no row. They are found by their connections, whose ``application_name`` has no level.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Self

import msgspec

from postroad.adapters.journal.postgres_connections import ConnectionPool
from postroad.adapters.journal.postgres_schema import load_named_statements, migrate
from postroad.core.model.level import FIRST, LEVEL_KEY, LEVEL_KIND, read_level, require_readable
from postroad.errors import Unavailable
from postroad.ports import NetworkNode

log = logging.getLogger(__name__)

PACKAGE = "postroad.adapters.nodes"
PART = "nodes"
SEEN_EVERY_S = 30.0
SEEN_WITHIN_S = 600.0  # a node that was not seen for so long is gone
KEPT_S = 86_400.0
BEFORE_LEVELS = ("postroad", "postroad leadership")  # the application names of versions without levels


class PostgresNodes:
    def __init__(self, connections: ConnectionPool, own: NetworkNode) -> None:
        self._connections = connections
        self._own = own
        self._sql = load_named_statements(PACKAGE, "nodes.sql")
        self._task: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, dsn: str, own: NetworkNode) -> Self:
        """Connect, register this node, and keep its row fresh until ``close``."""
        connections = await ConnectionPool.open(dsn, most=1)
        try:
            async with connections.use() as connection:
                await migrate(connection, PART, PACKAGE)
            nodes = cls(connections, own)
            await nodes.report()
            await connections.fetch(nodes._sql["restarted"], own.id)
        except BaseException:
            await connections.close()
            raise
        nodes._task = asyncio.get_running_loop().create_task(nodes._keep_reporting(), name="node")
        return nodes

    async def report(self) -> None:
        """Save the row of this node, and remove those of nodes that left long ago."""
        own = self._own
        await self._connections.fetch(self._sql["saw"], own.id, own.host, own.version, own.level)
        await self._connections.fetch(self._sql["forget"], KEPT_S)

    async def list_nodes(self) -> list[NetworkNode]:
        """Return the nodes that were seen in the last ten minutes, with those that do not know levels."""
        rows = await self._connections.fetch(self._sql["seen"], SEEN_WITHIN_S)
        return [NetworkNode(*row) for row in rows] + await self._before_levels()

    async def require_readable_level(self) -> None:
        """Raise LevelTooHigh if this version cannot read the network's level, as far as the index knows it."""
        [[has_index]] = await self._connections.fetch(self._sql["has_index"])
        if has_index:
            for [value] in await self._connections.fetch(self._sql["level"], LEVEL_KIND, LEVEL_KEY):
                require_readable(read_level(msgspec.json.decode(value)))

    async def _before_levels(self) -> list[NetworkNode]:
        rows = await self._connections.fetch(self._sql["unregistered"], list(BEFORE_LEVELS))
        hosts = sorted({str(row[0]) for row in rows})
        return [NetworkNode(id="", host=host, version="before 0.2", level=FIRST) for host in hosts]

    async def _keep_reporting(self) -> None:
        while True:
            await asyncio.sleep(SEEN_EVERY_S)
            try:
                await self.report()
            except Unavailable as error:
                log.warning("node.not_saved: this node could not save that it runs: %s", error)
            except Exception:
                log.exception("node.report_failed: this node could not save that it runs; trying again")

    async def close(self) -> None:
        """Remove the row of this node, and disconnect."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        try:
            await self._connections.fetch(self._sql["left"], self._own.id)
        except Unavailable as error:
            log.warning("node.stop_not_saved: this node could not save that it stops: %s", error)
        await self._connections.close()
