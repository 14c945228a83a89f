"""Stores how far each follower has read the journal; implements ``postroad.ports.FollowerCursors`` three times.

Rule: a cursor is replaced atomically and without waiting for the disk. A crash may lose the newest position, and then
a batch is handled again.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from postroad.adapters.journal.postgres_connections import ConnectionPool
from postroad.adapters.journal.postgres_schema import load_named_statements, migrate
from postroad.errors import Misconfigured
from postroad.ports import JournalHead

PACKAGE = "postroad.adapters.followers"
SQL = load_named_statements(PACKAGE, "cursors.sql")
SUFFIX = ".cursor"


class FileCursors:
    """Files ``NAME.cursor`` with the entry number and the chain value, in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def load(self, name: str) -> JournalHead | None:
        try:
            return await asyncio.to_thread(self._read, self._folder / f"{name}{SUFFIX}")
        except FileNotFoundError:
            return None

    async def load_all(self) -> dict[str, JournalHead]:
        return {file.name.removesuffix(SUFFIX): self._read(file) for file in sorted(self._folder.glob(f"*{SUFFIX}"))}

    async def save(self, name: str, head: JournalHead) -> None:
        await asyncio.to_thread(self._replace, name, head)

    def _replace(self, name: str, head: JournalHead) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o750)
        new = self._folder / f"{name}{SUFFIX}.new"
        new.write_text(f"{head.seq}:{head.chain.hex()}\n")
        new.replace(self._folder / f"{name}{SUFFIX}")

    async def close(self) -> None:
        """Does nothing; no file stays open."""

    def _read(self, file: Path) -> JournalHead:
        text = file.read_text().strip()
        seq, _, chain = text.partition(":")
        try:
            return JournalHead(int(seq), bytes.fromhex(chain))
        except ValueError:
            name = file.name.removesuffix(SUFFIX)
            raise Misconfigured(
                [
                    f"{file}: {text[:80]!r} is not a position in the journal; run `postroad followers reset {name}` to "
                    "continue at the end of the journal"
                ]
            ) from None


class PostgresCursors:
    """Rows of the table ``follower_cursor``, which all nodes of a shared network use."""

    def __init__(self, connections: ConnectionPool) -> None:
        self._connections = connections

    @classmethod
    async def open(cls, dsn: str) -> PostgresCursors:
        """Connect, and create or update the table."""
        connections = await ConnectionPool.open(dsn, most=1, durable=False)
        try:
            async with connections.use() as connection:
                await migrate(connection, "followers", PACKAGE)
        except BaseException:
            await connections.close()
            raise
        return cls(connections)

    async def load(self, name: str) -> JournalHead | None:
        rows = await self._connections.fetch(SQL["load"], name)
        return JournalHead(*rows[0]) if rows else None

    async def load_all(self) -> dict[str, JournalHead]:
        rows = await self._connections.fetch(SQL["load_all"])
        return {name: JournalHead(seq, chain) for name, seq, chain in rows}

    async def save(self, name: str, head: JournalHead) -> None:
        await self._connections.fetch(SQL["save"], name, head.seq, head.chain)

    async def close(self) -> None:
        await self._connections.close()


class MemoryCursors:
    """Cursors that are lost with the process, as is the journal that they belong to."""

    def __init__(self) -> None:
        self._cursors: dict[str, JournalHead] = {}

    async def load(self, name: str) -> JournalHead | None:
        return self._cursors.get(name)

    async def load_all(self) -> dict[str, JournalHead]:
        return dict(sorted(self._cursors.items()))

    async def save(self, name: str, head: JournalHead) -> None:
        self._cursors[name] = head

    async def close(self) -> None:
        """Does nothing; the cursors are freed with the object."""
