"""Stores the document of what notifications remember; implements ``postroad.ports.NotificationStore`` three times.

Rule: the document is durable before ``save`` returns, because the follower's cursor moves on after it.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from postroad.adapters.journal.postgres_connections import ConnectionPool
from postroad.adapters.journal.postgres_schema import load_named_statements, migrate
from postroad.adapters.journal.segments.files import RealFiles

PACKAGE = "postroad.adapters.notifications"
SQL = load_named_statements(PACKAGE, "states.sql")


class FileNotificationStore:
    """One file of one node, which is replaced as a whole."""

    def __init__(self, file: Path) -> None:
        self._file = file

    async def load(self) -> bytes | None:
        try:
            return await asyncio.to_thread(self._file.read_bytes)
        except FileNotFoundError:
            return None

    async def save(self, document: bytes, known: bytes) -> bool:
        await asyncio.to_thread(self._replace, document)
        return True

    def _replace(self, document: bytes) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
        new = self._file.with_name(f"{self._file.name}.new")
        with new.open("wb") as file:
            file.write(document)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._file)
        RealFiles().sync_directory(self._file.parent)  # or a power cut could bring the old document back

    async def close(self) -> None:
        """Does nothing; no file stays open."""


class PostgresNotificationStore:
    """The row of the table ``notification_state``, which all nodes of a shared network use."""

    def __init__(self, connections: ConnectionPool) -> None:
        self._connections = connections

    @classmethod
    async def open(cls, dsn: str) -> PostgresNotificationStore:
        """Connect, and create or update the table."""
        connections = await ConnectionPool.open(dsn, most=1)
        try:
            async with connections.use() as connection:
                await migrate(connection, "notifications", PACKAGE)
        except BaseException:
            await connections.close()
            raise
        return cls(connections)

    async def load(self) -> bytes | None:
        rows = await self._connections.fetch(SQL["load"])
        return bytes(rows[0][0]) if rows else None

    async def save(self, document: bytes, known: bytes) -> bool:
        return bool(await self._connections.fetch(SQL["save"], document, known))

    async def close(self) -> None:
        await self._connections.close()


class MemoryNotificationStore:
    """A document that is lost with the process, as is the journal that it belongs to."""

    def __init__(self) -> None:
        self._document: bytes | None = None

    async def load(self) -> bytes | None:
        return self._document

    async def save(self, document: bytes, known: bytes) -> bool:
        if (self._document or b"") != known:
            return False
        self._document = document
        return True

    async def close(self) -> None:
        """Does nothing; the document is freed with the object."""
