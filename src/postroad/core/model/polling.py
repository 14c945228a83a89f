"""The requests of a receiver: poll for messages (``PollRequest``) and settle them (``Settlement``).

Every wire format has these two requests and their responses. Durations are in seconds, as their names show; zero
means the network's or the service's default.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from postroad.core.model.selector import EVERYTHING, Selector

POLL_MAX = 1000
WAIT_MAX_S = 60.0
LEASE_MAX_S = 43_200.0  # 12 hours
TOKENS_MAX = 10_000


class PollRequest(Struct, frozen=True, kw_only=True):
    """Requests up to ``max`` messages, leased for ``lease_s``; waits ``wait_s`` for the first; ``trace`` adds the trace."""

    max: int = 10
    wait_s: float = 0.0
    lease_s: float = 0.0
    select: Selector = EVERYTHING
    trace: bool = False


class Outcome(StrEnum):
    ACK = "ack"
    NACK = "nack"


class Settlement(Struct, frozen=True, kw_only=True):
    """Acknowledges deliveries (``ack``), or returns them for redelivery after ``delay_s`` (``nack``)."""

    tokens: tuple[str, ...]
    outcome: Outcome = Outcome.ACK
    delay_s: float = 0.0
    reason: str = ""


class Settled(Struct, frozen=True, kw_only=True):
    """The result for one token: settled, or refused with a code."""

    token: str
    code: str = ""  # empty: settled
    detail: str = ""


class SettlementResult(Struct, frozen=True, kw_only=True):
    settled: tuple[Settled, ...] = ()


__all__ = [
    "EVERYTHING",
    "LEASE_MAX_S",
    "POLL_MAX",
    "TOKENS_MAX",
    "WAIT_MAX_S",
    "Outcome",
    "PollRequest",
    "Selector",
    "Settled",
    "Settlement",
    "SettlementResult",
]
