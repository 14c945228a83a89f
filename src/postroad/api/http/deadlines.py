"""Time limits for each phase of a connection, and what to do when one is exceeded; a pure decision.

Rule: time counts against a client only while the server waits for that client.
"""

from __future__ import annotations

from enum import Enum, auto

from postroad.api.http.limits import HttpLimits
from postroad.errors import Refused


class ConnectionPhase(Enum):
    IDLE = auto()  # no request, no pending response
    HEAD = auto()  # a request has begun to arrive
    BODY = auto()  # its body is arriving
    WAITING = auto()  # the request waits for memory for its body
    ANSWERING = auto()  # a fast route prepares the response
    WORKING = auto()  # the application is processing; not limited
    STALLED = auto()  # the client does not read the response
    LINGERING = auto()  # refused; the client may still read the reason


class ConnectionEnding(Enum):
    CLOSE = auto()
    ABORT = auto()


Verdict = Refused | ConnectionEnding | None


def judge_phase(phase: ConnectionPhase, elapsed_s: float, body_bytes: int, limits: HttpLimits) -> Verdict:
    """Decide what to do with a connection that was in ``phase`` for ``elapsed_s`` and has sent ``body_bytes``."""
    if phase is ConnectionPhase.BODY:
        return _body_verdict(elapsed_s, body_bytes, limits)
    if phase is ConnectionPhase.WORKING or elapsed_s <= _allowed_s(phase, limits):
        return None
    if phase is ConnectionPhase.HEAD:
        return Refused("request.timeout", f"send the whole request head within {limits.header_deadline_s:g} s")
    if phase is ConnectionPhase.WAITING:
        return Refused("network.busy", "the server is processing too many bodies; try again in a moment")
    return (
        ConnectionEnding.ABORT
        if phase in (ConnectionPhase.STALLED, ConnectionPhase.ANSWERING)
        else ConnectionEnding.CLOSE
    )


def _allowed_s(phase: ConnectionPhase, limits: HttpLimits) -> float:
    return {
        ConnectionPhase.IDLE: limits.idle_s,
        ConnectionPhase.HEAD: limits.header_deadline_s,
        ConnectionPhase.WAITING: limits.capacity_wait_s,
        ConnectionPhase.ANSWERING: limits.answer_deadline_s,
        ConnectionPhase.STALLED: limits.stalled_write_s,
        ConnectionPhase.LINGERING: limits.linger_s,
    }[phase]


def _body_verdict(elapsed_s: float, body_bytes: int, limits: HttpLimits) -> Verdict:
    if elapsed_s > limits.body_deadline_s:
        return Refused("request.timeout", f"send the whole body within {limits.body_deadline_s:g} s")
    if elapsed_s > limits.body_grace_s and body_bytes < elapsed_s * limits.body_bytes_per_s:
        return Refused("request.timeout", f"send the body at {limits.body_bytes_per_s} bytes per second or faster")
    return None
