"""Wakes long polls on every node through PostgreSQL notifications: one per group, naming its mailboxes.

Rule: no arrival is missed. Counters show whether a delivery arrived during a claim; when the listening connection was
lost, all polls are woken once it is restored.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable

import asyncpg

from postroad.adapters.desk.shared_group import EVERYBODY
from postroad.adapters.journal.postgres_connections import (
    AWAY,
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    Connection,
    ConnectionPool,
)

log = logging.getLogger(__name__)

CHANNEL = "postroad_desk"


class ArrivalListener:
    def __init__(self, connections: ConnectionPool, on_committed: Callable[[int], None]) -> None:
        self._connections = connections
        self._on_committed = on_committed
        self._waiting: defaultdict[str, set[asyncio.Future[None]]] = defaultdict(set)
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._woken_all = 0
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        listening = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._listen(listening), name="desk-arrivals")
        await listening.wait()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def count(self, mailbox: str) -> int:
        """Return a counter that grows whenever a delivery may have become available in the mailbox."""
        return self._counts[mailbox] + self._woken_all

    async def wait(self, mailbox: str, timeout_s: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting[mailbox]
        waiting.add(future)
        try:
            await asyncio.wait({future}, timeout=timeout_s)
        finally:
            waiting.discard(future)
            if not waiting:
                self._waiting.pop(mailbox, None)

    def wake(self, mailbox: str) -> None:
        self._counts[mailbox] += 1
        self._resolve(mailbox)

    def wake_all(self) -> None:
        self._woken_all += 1
        for mailbox in self._waiting:
            self._resolve(mailbox)

    def _resolve(self, mailbox: str) -> None:
        for future in self._waiting.get(mailbox, ()):
            if not future.done():
                future.set_result(None)

    async def _listen(self, listening: asyncio.Event) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                connection = await self._connections.open_dedicated()
            except (*AWAY, asyncpg.PostgresError) as error:
                log.warning("postgres.listen_failed: cannot listen for arrivals: %s", error)
                await asyncio.sleep(pause_s)
                pause_s = min(LONGEST_PAUSE_S, pause_s * 2)
                continue
            if await self._listen_on(connection, listening):
                pause_s = FIRST_PAUSE_S
            else:
                await asyncio.sleep(pause_s)
                pause_s = min(LONGEST_PAUSE_S, pause_s * 2)

    async def _listen_on(self, connection: Connection, listening: asyncio.Event) -> bool:
        """Process notifications until the connection ends; False if it could not listen."""
        ended = asyncio.Event()
        connection.add_termination_listener(lambda _: ended.set())
        try:
            await connection.add_listener(CHANNEL, lambda *heard: self.handle_notification(heard[3]))
            self.wake_all()
            listening.set()
            await ended.wait()
            return True
        except (*AWAY, asyncpg.PostgresError) as error:
            log.warning("postgres.listen_ended: stopped listening for arrivals: %s", error)
            return False
        finally:
            connection.terminate()

    def handle_notification(self, payload: str) -> None:
        """Process the notification of a committed group: its last number, then the mailboxes with possible arrivals."""
        seq, *mailboxes = payload.split()
        if EVERYBODY in mailboxes:
            self.wake_all()
        else:
            for mailbox in mailboxes:
                self.wake(mailbox)
        self._on_committed(int(seq))
