"""PostgreSQL connections for journal and desk, with durable commits and Unavailable during outages.

Rule: callers receive every database error as ``Unavailable``. After a failure, no connection is tried
during a pause, which doubles with every failure, so that a recovering database is not overloaded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeAlias

import asyncpg

from postroad.core.model.level import NEWEST
from postroad.errors import Misconfigured, PostroadError, Unavailable

log = logging.getLogger(__name__)

Connection: TypeAlias = Any  # asyncpg's connections, in a pool or not; asyncpg is not typed
Row: TypeAlias = Any

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 2.0
CONNECT_TIMEOUT_S = 10.0
COMMAND_TIMEOUT_S = 60.0
LONG_WORK_S = 86_400.0  # for work on whole tables: migrations and rebuilds

# Our statements look up keys in tables that grow quickly; with outdated statistics the planner would scan them.
SETTINGS = {
    "application_name": f"postroad (reads level {NEWEST})",  # versions before levels have no level in it
    "default_transaction_isolation": "read committed",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",  # starting a worker takes longer than its work
}

# Errors of the database or the connection to it; all other errors are bugs here, and are not converted.
AWAY = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a connection that was cut during a response
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.PostgresSystemError,  # the disk of the database failed
    asyncpg.InvalidAuthorizationSpecificationError,  # its password was changed
    asyncpg.InvalidCatalogNameError,
    asyncpg.TransactionRollbackError,
    asyncpg.LockNotAvailableError,
)
GAVE_UP = (asyncpg.TransactionRollbackError, asyncpg.LockNotAvailableError)  # a retry may succeed


class ReconnectPause:
    """Back-off after a database failure."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._until = 0.0
        self._length_s = 0.0

    @property
    def remaining_s(self) -> float:
        return max(0.0, self._until - self._monotonic())

    def record_failure(self) -> None:
        if not self.remaining_s:  # simultaneous failures count once
            self._length_s = min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, self._length_s * 2))
            self._until = self._monotonic() + self._length_s

    def record_success(self) -> None:
        self._until = self._length_s = 0.0


def is_away(error: Misconfigured) -> bool:
    """Whether ``ConnectionPool.open`` failed because the database does not answer, which may pass."""
    return isinstance(error.__cause__, AWAY)


class ConnectionPool:
    """A few connections to one database.

    A statement whose connection is lost may still have been carried out; its outcome is unknown.
    """

    def __init__(self, dsn: str, pool: Any) -> None:
        self.dsn = dsn
        self._pool = pool
        self._pause = ReconnectPause(asyncio.get_running_loop().time)

    @classmethod
    async def open(cls, dsn: str, *, most: int = 8, durable: bool = True) -> ConnectionPool:
        """Open connections; with ``durable=False`` commits do not wait for the disk, for data that a crash may lose."""
        pool = await asyncpg.create_pool(
            dsn,
            min_size=0,  # opened when needed: no background attempts while the database is unavailable
            max_size=most,
            max_queries=1 << 30,
            max_inactive_connection_lifetime=0,
            timeout=CONNECT_TIMEOUT_S,
            command_timeout=COMMAND_TIMEOUT_S,
            server_settings=SETTINGS | {"synchronous_commit": "on" if durable else "off"},
            reset=_nothing_to_reset,
        )
        try:
            await pool.execute("SELECT 1")
        except AWAY as error:
            pool.terminate()
            raise Misconfigured(
                [f"database: cannot connect ({error}); check that PostgreSQL runs and that the address is right"]
            ) from error
        return cls(dsn, pool)

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Connection]:
        """Provide a connection; database failures are raised as Unavailable."""
        if self._pause.remaining_s:
            raise _unavailable("it did not answer a moment ago")
        try:
            async with self._pool.acquire(timeout=CONNECT_TIMEOUT_S) as connection:
                with _raise_disconnects(connection):
                    yield connection
        except AWAY as error:
            raise self._translate_error(error) from error
        self._pause.record_success()

    async def fetch(self, sql: str, *parameters: Any) -> list[Row]:
        async with self.use() as connection:
            rows: list[Row] = await connection.fetch(sql, *parameters)
            return rows

    async def open_dedicated(self) -> Connection:
        """Open a connection outside the pool, for listening; the caller closes it."""
        return await asyncpg.connect(self.dsn, timeout=CONNECT_TIMEOUT_S, server_settings=SETTINGS)

    async def close(self) -> None:
        try:
            await asyncio.wait_for(self._pool.close(), CONNECT_TIMEOUT_S)
        except AWAY:
            self._pool.terminate()

    def _translate_error(self, error: Exception) -> Exception:
        if isinstance(error, ValueError):  # how asyncpg reports parameters of the wrong type
            return error
        if isinstance(error, asyncpg.DiskFullError):
            return Unavailable("storage.full", "The database has no space left; free space, then try again")
        if not isinstance(error, GAVE_UP):
            self._pause.record_failure()
        log.warning("postgres.unavailable: database away: %s: %s", type(error).__name__, error)
        return _unavailable(type(error).__name__)


@contextmanager
def _raise_disconnects(connection: Connection) -> Iterator[None]:
    """Raise a connection failure for any asyncpg error after which the connection is closed."""
    try:
        yield
    except (*AWAY, PostroadError):
        raise
    except Exception as error:
        if connection.is_closed():
            raise ConnectionResetError(f"{type(error).__name__}: {error}") from error
        raise


def _unavailable(why: str) -> Unavailable:
    return Unavailable("network.unavailable", f"The database cannot be reached ({why}); try again in a moment")


async def _nothing_to_reset(connection: Connection) -> None:
    """Replace asyncpg's reset of session settings, a round trip that is not needed here."""
