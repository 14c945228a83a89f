"""The secret store in PostgreSQL, shared by all nodes of a network.

Rule: a commit is durable before a call returns, so the journal never records a secret that a crash of the database loses.
"""

from __future__ import annotations

from postroad.adapters.journal.postgres_connections import Connection, ConnectionPool
from postroad.adapters.journal.postgres_schema import migrate
from postroad.adapters.secret_store.statements import PACKAGE, POSTGRES_SQL, Rows, SqlSecretStore, Statement

PART = "secrets"
CONNECTIONS = 2


class PostgresSecretStore(SqlSecretStore):
    def __init__(self, connections: ConnectionPool) -> None:
        self._connections = connections

    @classmethod
    async def open(cls, dsn: str) -> PostgresSecretStore:
        """Connect, and create or update the tables."""
        connections = await ConnectionPool.open(dsn, most=CONNECTIONS)
        try:
            async with connections.use() as connection:
                await migrate(connection, PART, PACKAGE)
        except BaseException:
            await connections.close()
            raise
        return cls(connections)

    async def _run(self, *statements: Statement) -> Rows:
        async with self._connections.use() as connection:
            if len(statements) == 1:
                [(name, parameters)] = statements
                return list(await connection.fetch(POSTGRES_SQL[name], *parameters))
            rows: Rows = []
            async with connection.transaction():
                for name, parameters in statements:
                    rows = list(await connection.fetch(POSTGRES_SQL[name], *parameters))
            return rows

    async def close(self) -> None:
        await self._connections.close()


class SecretStoreOnConnection(SqlSecretStore):
    """The store's tables on one connection, in the transaction that its owner has begun."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def _run(self, *statements: Statement) -> Rows:
        rows: Rows = []
        for name, parameters in statements:
            rows = list(await self._connection.fetch(POSTGRES_SQL[name], *parameters))
        return rows

    async def close(self) -> None:
        """The connection is its owner's."""
