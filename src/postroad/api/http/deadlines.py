"""How long each phase of a connection may last, and what happens then: one pure decision, asked by the server's clock.

The rule: time counts against a client only while it is the client we wait for.
"""

from __future__ import annotations

from enum import Enum, auto

from postroad.api.http.limits import HttpLimits
from postroad.errors import Refused


class Phase(Enum):
    IDLE = auto()  # nothing asked, nothing owed
    HEAD = auto()  # a request has begun to arrive
    BODY = auto()  # its body is arriving
    WAITING = auto()  # for room for its body
    ANSWERING = auto()  # a fast route owes the answer
    WORKING = auto()  # the application does what it does; its time is its own
    STALLED = auto()  # the client does not read its answer
    LINGERING = auto()  # refused; the client may read why


class Ending(Enum):
    CLOSE = auto()
    ABORT = auto()


Verdict = Refused | Ending | None


def verdict(phase: Phase, elapsed_s: float, body_bytes: int, limits: HttpLimits) -> Verdict:
    """What to do with a connection that has been in ``phase`` for ``elapsed_s``, with so much of a body received."""
    if phase is Phase.BODY:
        return _body_verdict(elapsed_s, body_bytes, limits)
    if phase is Phase.WORKING or elapsed_s <= _allowed_s(phase, limits):
        return None
    if phase is Phase.HEAD:
        return Refused("request.timeout", f"send the whole request head within {limits.header_deadline_s:g} s")
    if phase is Phase.WAITING:
        return Refused("network.busy", "the server holds too many bodies; try again in a moment")
    return Ending.ABORT if phase in (Phase.STALLED, Phase.ANSWERING) else Ending.CLOSE


def _allowed_s(phase: Phase, limits: HttpLimits) -> float:
    return {
        Phase.IDLE: limits.idle_s,
        Phase.HEAD: limits.header_deadline_s,
        Phase.WAITING: limits.capacity_wait_s,
        Phase.ANSWERING: limits.answer_deadline_s,
        Phase.STALLED: limits.stalled_write_s,
        Phase.LINGERING: limits.linger_s,
    }[phase]


def _body_verdict(elapsed_s: float, body_bytes: int, limits: HttpLimits) -> Verdict:
    if elapsed_s > limits.body_deadline_s:
        return Refused("request.timeout", f"send the whole body within {limits.body_deadline_s:g} s")
    if elapsed_s > limits.body_grace_s and body_bytes < elapsed_s * limits.body_bytes_per_s:
        return Refused("request.timeout", f"send the body at {limits.body_bytes_per_s} bytes a second or faster")
    return None
