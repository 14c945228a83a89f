"""The secret store in one SQLite file beside the journal, private to the user that runs the server.

Rules: unlike the index, the file cannot be rebuilt, so every commit reaches the disk before a call returns. There is no
write-ahead log: the file alone is complete between two calls, and a copy of it is a backup.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import apsw

from postroad.adapters.journal.postgres_schema import migrations
from postroad.adapters.secret_store.statements import PACKAGE, SQLITE_SQL, Rows, SqlSecretStore, Statement
from postroad.errors import Misconfigured, Unavailable

FILE = "secrets.sqlite"
MODE = 0o600
BUSY_TIMEOUT_MS = 10_000


class SqliteSecretStore(SqlSecretStore):
    """One connection, used by one thread at a time."""

    def __init__(self, path: Path, connection: apsw.Connection) -> None:
        self._path = path
        self._connection = connection
        self._lock = asyncio.Lock()

    @classmethod
    def open(cls, path: Path) -> SqliteSecretStore:
        """Open the file, and create it if it does not exist; raises Misconfigured if it cannot be used."""
        with suppress(OSError):  # SQLite reports it
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, MODE))
        try:
            connection = apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            connection.pragma("synchronous", "extra")
            _migrate(connection, path)
        except apsw.Error as error:
            raise Misconfigured([f"{path}: cannot be opened: {error}; restore it from a backup"]) from error
        return cls(path, connection)

    @classmethod
    def open_in_memory(cls, data: bytes = b"") -> SqliteSecretStore:
        """Open an empty store in memory, or a copy of a store with the contents of its file."""
        path, connection = Path(":memory:"), apsw.Connection(":memory:")
        try:
            if data:
                connection.deserialize("main", data)
            _migrate(connection, path)
        except apsw.Error as error:
            raise Misconfigured([f"{FILE}: it is not a store of secrets: {error}; use another copy of it"]) from error
        return cls(path, connection)

    def serialize(self) -> bytes:
        """Return the contents of the store's file."""
        return self._connection.serialize("main")

    async def _run(self, *statements: Statement) -> Rows:
        async with self._lock:
            return await asyncio.to_thread(self._run_now, statements)

    def _run_now(self, statements: tuple[Statement, ...]) -> Rows:
        try:
            rows: Rows = []
            with self._connection:
                for name, parameters in statements:
                    rows = list(self._connection.execute(SQLITE_SQL[name], parameters))
        except apsw.FullError as error:
            raise Unavailable("storage.full", f"{self._path} cannot be written; free disk space") from error
        except apsw.Error as error:
            raise Unavailable("storage.failed", f"{self._path}: {error}") from error
        return rows

    async def close(self) -> None:
        async with self._lock:
            self._connection.close()


def _migrate(connection: apsw.Connection, path: Path) -> None:
    steps = migrations(PACKAGE)
    with connection:
        version = int(connection.pragma("user_version"))
        if version > steps[-1][0]:
            raise Misconfigured(
                [f"{path}: it is at version {version}, this program knows up to {steps[-1][0]}; start a newer postroad"]
            )
        for number, sql in steps:
            if number > version:
                connection.execute(sql)
        connection.pragma("user_version", steps[-1][0])
