"""Elects the node that updates a shared index: the one that holds a lock, until its connection ends.

Rule: concurrent callers get the same answer. They take turns, because a connection refuses concurrent statements, and
a node that mistook this for the loss of its lock would stop working for a while. A node that hangs or is unreachable
does not stay leader: the database ends a connection without queries.
"""

from __future__ import annotations

import asyncio

import asyncpg

from postroad.core.model.level import NEWEST

LOCK = 0x706F73746C656164  # "postlead"; not the lock under which tables are migrated, which a node starting later needs


ANSWER_S = 10.0
MAX_SILENCE = "60s"  # a connection without queries ends after this time; a leader queries every second
SETTINGS = {  # seconds: a lost machine is noticed as fast as a silent one
    "application_name": f"postroad leadership (reads level {NEWEST})",
    "tcp_keepalives_idle": "20",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "4",
}


class PostgresLeadership:
    def __init__(self, dsn: str, lock: int = LOCK) -> None:
        self._dsn = dsn
        self._lock = lock
        self._connection: asyncpg.Connection | None = None
        self._turn = asyncio.Lock()

    async def acquire(self) -> bool:
        """Takes the lock, or checks that this node still holds it."""
        async with self._turn:
            return await self._held()

    async def _held(self) -> bool:
        try:
            if self._connection is None or self._connection.is_closed():
                self._connection = await asyncpg.connect(
                    self._dsn, timeout=ANSWER_S, command_timeout=ANSWER_S, server_settings=SETTINGS
                )
                await self._connection.execute(SILENCE_SQL, MAX_SILENCE)
            return bool(await self._connection.fetchval(SQL, self._lock, self._connection.get_server_pid()))
        except TimeoutError:  # whether the lock is ours cannot be known: it must not be while another may have it
            self._give_up()
            return False
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError):
            return False

    def _give_up(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def close(self) -> None:
        if self._connection is not None and not self._connection.is_closed():
            await self._connection.close()


# Where the database knows of it: PostgreSQL 14 and later.
SILENCE_SQL = """
SELECT set_config(name, $1, false) FROM pg_settings WHERE name = 'idle_session_timeout'
"""
# A session may take the same lock many times; taking it only when it is not yet ours keeps one release enough.
SQL = """
SELECT EXISTS (
    SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND pid = $2 AND granted AND (classid::bigint << 32 | objid::bigint) = $1
) OR pg_try_advisory_lock($1)
"""
