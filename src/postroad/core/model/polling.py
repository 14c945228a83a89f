"""What a receiver asks of the network: hand me messages (``PollRequest``), I am done with these (``Settlement``).

Every wire form speaks of the same two requests and their answers. Durations are seconds and carry it in their names; zero
means that the network's or the service's default applies.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from postroad.core.model.message import MessageType

POLL_MAX = 1000
WAIT_MAX_S = 60.0
LEASE_MAX_S = 43_200.0  # 12 hours
TOKENS_MAX = 10_000


class Selector(Struct, frozen=True, kw_only=True):
    """Which messages a poll wants; an empty field does not select, and all that are given must hold."""

    sender: str = ""
    type: MessageType | None = None
    topic: str = ""
    session: str = ""
    transaction: str = ""
    properties: tuple[tuple[str, str], ...] = ()  # name equals value, compared as text

    @property
    def selects_all(self) -> bool:
        return self == EVERYTHING


EVERYTHING = Selector()


class PollRequest(Struct, frozen=True, kw_only=True):
    """Up to ``max`` messages, waiting ``wait_s`` for the first, leased for ``lease_s``."""

    max: int = 10
    wait_s: float = 0.0
    lease_s: float = 0.0
    select: Selector = EVERYTHING


class Outcome(StrEnum):
    ACK = "ack"
    NACK = "nack"


class Settlement(Struct, frozen=True, kw_only=True):
    """What became of leased deliveries: done with (``ack``), or to be offered again after ``delay_s`` (``nack``)."""

    tokens: tuple[str, ...]
    outcome: Outcome = Outcome.ACK
    delay_s: float = 0.0
    reason: str = ""


class Settled(Struct, frozen=True, kw_only=True):
    """The answer for one token: settled, or refused with a code."""

    token: str
    code: str = ""  # empty: settled
    detail: str = ""


class SettlementResult(Struct, frozen=True, kw_only=True):
    settled: tuple[Settled, ...] = ()
