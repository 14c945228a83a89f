"""The table of phases: what happens just before and just after each may last."""

from __future__ import annotations

import pytest

from postroad.api.http import HttpLimits
from postroad.api.http.deadlines import ConnectionEnding, ConnectionPhase, judge_phase
from postroad.errors import Refused

LIMITS = HttpLimits(
    idle_s=1, header_deadline_s=2, body_deadline_s=30, body_grace_s=4, body_bytes_per_s=10, capacity_wait_s=5,
    answer_deadline_s=6, stalled_write_s=7, linger_s=8,
)  # fmt: skip


def outcome(phase: ConnectionPhase, elapsed_s: float, body_bytes: int = 0) -> str:
    decision = judge_phase(phase, elapsed_s, body_bytes, LIMITS)
    if isinstance(decision, Refused):
        return decision.code
    return decision.name if isinstance(decision, ConnectionEnding) else "goes on"


@pytest.mark.parametrize(
    ("phase", "allowed_s", "then"),
    [
        (ConnectionPhase.IDLE, 1, "CLOSE"),
        (ConnectionPhase.HEAD, 2, "request.timeout"),
        (ConnectionPhase.WAITING, 5, "network.busy"),
        (ConnectionPhase.ANSWERING, 6, "ABORT"),
        (ConnectionPhase.STALLED, 7, "ABORT"),
        (ConnectionPhase.LINGERING, 8, "CLOSE"),
    ],
)
def test_each_phase_ends_at_its_time(phase: ConnectionPhase, allowed_s: float, then: str) -> None:
    assert outcome(phase, allowed_s) == "goes on"
    assert outcome(phase, allowed_s + 0.1) == then


def test_the_applications_time_is_its_own() -> None:
    assert outcome(ConnectionPhase.WORKING, 1e9) == "goes on"


def test_a_body_must_be_whole_in_time_and_keep_its_rate() -> None:
    assert outcome(ConnectionPhase.BODY, 4, body_bytes=0) == "goes on"
    assert outcome(ConnectionPhase.BODY, 5, body_bytes=49) == "request.timeout"
    assert outcome(ConnectionPhase.BODY, 5, body_bytes=50) == "goes on"
    assert outcome(ConnectionPhase.BODY, 31, body_bytes=10**9) == "request.timeout"


def test_the_clock_ticks_often_enough_for_the_shortest_deadline() -> None:
    assert LIMITS.tick_s <= 0.2
    assert HttpLimits().tick_s == pytest.approx(0.4)
