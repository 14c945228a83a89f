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

    body_bytes: int = 10 * MIB  # a fast route may set its own limit
    body_deadline_s: float = 60.0
    body_bytes_per_s: int = 4 * KIB
    body_grace_s: float = 5.0  # seconds before the minimum rate of a body applies

    idle_s: float = 15.0
    first_request_s: float = 0.5  # seconds for which a stopping server waits for the first request of a new connection
    answer_deadline_s: float = 300.0  # maximum seconds for a fast route to respond
    stalled_write_s: float = (
        60.0  # seconds for which a client may leave its response unread, or read it below the minimum rate
    )
    linger_s: float = 2.0  # seconds for which input is still read after a refusal, so that the client can read it
    capacity_wait_s: float = 10.0  # seconds for which a body may wait for memory before it is refused

    connections: int = 10_000
    connections_per_peer: int = 1_000
    pipelined: int = 32
    bodies_in_flight_bytes: int = (
        256 * MIB
    )  # above this, no new body is read; at twice this, begun bodies are refused too
    write_buffer_bytes: int = 256 * KIB
    stream_buffer_bytes: int = 64 * KIB  # read ahead for an ASGI application

    @property
    def tick_s(self) -> float:
        """Return the interval between deadline checks; a deadline is exceeded by at most a fifth."""
        shortest = min(self.header_deadline_s, self.body_deadline_s, self.idle_s, self.linger_s, self.capacity_wait_s)
        return max(0.01, min(0.5, shortest / 5))
