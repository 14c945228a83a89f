"""The last successful backup and verification of a shared network, in PostgreSQL: any node may make them, and the leader reports.

Rule: a backup and a verification may note their success at the same time; one statement keeps both.
"""

from __future__ import annotations

import msgspec

from postroad.adapters.journal.backup.status import BackupStatus, Success
from postroad.adapters.journal.postgres_connections import ConnectionPool
from postroad.adapters.journal.postgres_schema import load_named_statements, migrate

PART = "backups"
PACKAGE = "postroad.adapters.journal.backup"
SQL = load_named_statements(PACKAGE, "status.sql")


class SharedBackupStatus:
    """The row of the table ``backup_status``."""

    def __init__(self, connections: ConnectionPool) -> None:
        self._connections = connections

    @classmethod
    async def open(cls, dsn: str) -> SharedBackupStatus:
        """Connect, and create or update the table."""
        connections = await ConnectionPool.open(dsn, most=1)
        try:
            async with connections.use() as connection:
                await migrate(connection, PART, PACKAGE)
        except BaseException:
            await connections.close()
            raise
        return cls(connections)

    async def load(self) -> BackupStatus:
        rows = await self._connections.fetch(SQL["load"])
        return msgspec.json.decode(rows[0][0], type=BackupStatus) if rows else BackupStatus()

    async def note(self, *, backup: Success | None = None, verify: Success | None = None) -> None:
        """Replace what is known of the last backup or verification; the other one stays."""
        noted: dict[str, Success | float] = {}
        if backup is not None:
            noted |= {"backup": backup, "first_backup_at": backup.at}
        if verify is not None:
            noted["verify"] = verify
        await self._connections.fetch(SQL["note"], msgspec.json.encode(noted).decode())

    async def close(self) -> None:
        await self._connections.close()
