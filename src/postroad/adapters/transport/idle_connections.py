"""Connections that wait for the next request to the same destination.

Rule: the number of idle connections per destination and in total, and their age, are small; the oldest is closed
first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from dataclasses import dataclass

from postroad.adapters.transport.connection import PushConnection

PER_DESTINATION = 8
IN_ALL = 512
IDLE_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resting:
    destination: Hashable
    timer: asyncio.TimerHandle


class IdleConnections:
    def __init__(self, *, per_destination: int = PER_DESTINATION, in_all: int = IN_ALL, idle_s: float = IDLE_S) -> None:
        self._per_destination = per_destination
        self._in_all = in_all
        self._idle_s = idle_s
        self._resting: dict[PushConnection, _Resting] = {}  # oldest first
        self._at: dict[Hashable, list[PushConnection]] = {}

    def __len__(self) -> int:
        return len(self._resting)

    def take(self, destination: Hashable) -> PushConnection | None:
        """The connection used last, since it is the one most likely still open."""
        while self._at.get(destination):
            connection = self._at[destination][-1]
            self._forget(connection)
            if connection.open:
                return connection
        return None

    def keep(self, destination: Hashable, connection: PushConnection) -> None:
        connection.rest()
        at = self._at.setdefault(destination, [])
        timer = asyncio.get_running_loop().call_later(self._idle_s, self._drop, connection)
        self._resting[connection] = _Resting(destination=destination, timer=timer)
        at.append(connection)
        if len(at) > self._per_destination:
            self._drop(at[0])
        if len(self._resting) > self._in_all:
            self._drop(next(iter(self._resting)))

    def shed(self) -> None:
        """Close all of them."""
        for connection in list(self._resting):
            self._drop(connection)

    def _drop(self, connection: PushConnection) -> None:
        self._forget(connection)
        connection.drop()

    def _forget(self, connection: PushConnection) -> None:
        resting = self._resting.pop(connection)
        resting.timer.cancel()
        at = self._at[resting.destination]
        at.remove(connection)
        if not at:
            del self._at[resting.destination]
