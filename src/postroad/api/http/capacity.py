"""Limits that all connections share: the number of connections, and memory for bodies.

Rule: when memory is short, new bodies wait and begun ones continue, so that the held data can always be completed and
released. Begun bodies are refused only at twice the limit. So no waiting request waits for another waiting one.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Protocol

from postroad.api.http.limits import HttpLimits

OVERFLOW_CONNECTIONS = 64  # refused connections that may stay open to receive an explanation


class WaitingConnection(Protocol):
    def room_is_free(self) -> None: ...


class Capacity:
    __slots__ = ("_limits", "_per_peer", "_waiting", "body_bytes", "connections", "is_memory_short")

    def __init__(self, limits: HttpLimits) -> None:
        self._limits = limits
        self._per_peer: Counter[str] = Counter()
        self._waiting: deque[WaitingConnection] = deque()
        self.connections = 0
        self.body_bytes = 0
        self.is_memory_short = False

    def enter(self, peer: str, *, counted_by_peer: bool) -> bool:
        """Reserve a place for a connection; False if none is free."""
        if self.connections >= self._limits.connections:
            return False
        if counted_by_peer:
            if self._per_peer[peer] >= self._limits.connections_per_peer:
                return False
            self._per_peer[peer] += 1
        self.connections += 1
        return True

    def may_explain(self, open_connections: int) -> bool:
        """Whether a connection over the limit may stay long enough to receive an explanation."""
        return open_connections <= self.connections + OVERFLOW_CONNECTIONS

    def leave(self, peer: str, *, counted_by_peer: bool) -> None:
        self.connections -= 1
        if counted_by_peer:
            self._per_peer[peer] -= 1
            if not self._per_peer[peer]:
                del self._per_peer[peer]

    @property
    def may_begin(self) -> bool:
        return self.body_bytes < self._limits.bodies_in_flight_bytes and not self.is_memory_short

    def may_go_on(self, size: int) -> bool:
        """Whether there is memory for more of a begun body; an only body may always continue."""
        return not self.body_bytes or self.body_bytes + size <= 2 * self._limits.bodies_in_flight_bytes

    def hold(self, size: int) -> None:
        self.body_bytes += size

    def free(self, size: int) -> None:
        self.body_bytes -= size
        self._wake()

    def set_memory_short(self, *, short: bool) -> None:
        """Record whether the server uses more memory than it should; new bodies wait until it no longer does."""
        self.is_memory_short = short
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self.may_begin:
            self._waiting.popleft().room_is_free()

    def wait(self, connection: WaitingConnection) -> None:
        self._waiting.append(connection)

    def forget(self, connection: WaitingConnection) -> None:
        if connection in self._waiting:
            self._waiting.remove(connection)
