"""Limits on what one client, and all clients together, may cost the server.

Rule: every limit has a default that is safe on an open port and can be set, and no client can disable one.
"""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    request_line_bytes: int = 8 * KIB
    header_count: int = 100
    header_bytes: int = 32 * KIB
    header_deadline_s: float = 10.0

    body_bytes: int = 10 * MIB  # a fast route may set its own
    body_deadline_s: float = 60.0
    body_bytes_per_s: int = 4 * KIB
    body_grace_s: float = 5.0  # how long a body may be slow before its rate counts

    idle_s: float = 15.0
    answer_deadline_s: float = 300.0  # a fast route that has not answered by then never will
    stalled_write_s: float = (
        60.0  # how long a client may leave its answer unread, or read it slower than a body may come
    )
    linger_s: float = 2.0  # how long we listen on after a refusal, so that the client gets to read it
    capacity_wait_s: float = 10.0  # how long a body may wait for room before it is refused

    connections: int = 10_000
    connections_per_peer: int = 1_000
    pipelined: int = 32
    bodies_in_flight_bytes: int = (
        256 * MIB
    )  # above it no new body is begun; at twice as much, begun ones are refused too
    write_buffer_bytes: int = 256 * KIB
    stream_buffer_bytes: int = 64 * KIB  # read ahead of an ASGI application that has not asked yet

    @property
    def tick_s(self) -> float:
        """The interval between deadline checks, short enough that none is missed by more than a fifth."""
        shortest = min(self.header_deadline_s, self.body_deadline_s, self.idle_s, self.linger_s, self.capacity_wait_s)
        return max(0.01, min(0.5, shortest / 5))
