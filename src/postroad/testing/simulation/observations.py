"""The observations of services: every response of the network with its time; promises are checked against these."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from postroad.core.identity.tokens import Tokens
from postroad.core.model.message import Delivered

TOKENS = Tokens(b"only for simulations")


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOut:
    """A delivery that the network handed to a service which had polled at ``asked_us``."""

    asked_us: int
    at_us: int
    receiver: str  # GCID of the caller
    number: int
    delivered: Delivered


class EmptiedMailbox(NamedTuple):
    """A poll without filter that returned less than its limit: the mailbox was empty."""

    asked_us: int
    at_us: int


class SuspensionPeriod(NamedTuple):
    """A period in which a service was certainly suspended."""

    service: str  # GCID
    from_us: int
    until_us: int


@dataclass(slots=True)
class Observations:
    """Everything that the simulated services observed."""

    accepted: dict[str, str] = field(default_factory=dict)  # session → handle of the posts answered with success
    handed_out: list[HandOut] = field(default_factory=list)
    emptied: dict[str, list[EmptiedMailbox]] = field(default_factory=dict)  # by GCID, in the order of time
    acknowledged_us: dict[int, int] = field(
        default_factory=dict
    )  # delivery → time at which its receiver learned that it is done
    answered_us: dict[int, int] = field(default_factory=dict)  # delivery → time of a response that did this
    withdrawn: list[tuple[str, str, tuple[str, ...]]] = field(
        default_factory=list
    )  # session, sender, code per recipient
    resent: dict[int, int] = field(default_factory=dict)  # dead letter → its new delivery
    dropped: list[int] = field(default_factory=list)
    suspended: list[SuspensionPeriod] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    wrongs: list[str] = field(default_factory=list)  # wrong responses that a service received

    def hand_out(self, asked_us: int, at_us: int, receiver: str, delivered: Delivered) -> None:
        number = TOKENS.number(delivered.token) or 0
        self.handed_out.append(
            HandOut(asked_us=asked_us, at_us=at_us, receiver=receiver, number=number, delivered=delivered)
        )

    def acknowledge(self, token: str, at_us: int) -> None:
        self.acknowledged_us.setdefault(TOKENS.number(token) or 0, at_us)

    def answer(self, token: str, at_us: int) -> None:
        self.answered_us.setdefault(TOKENS.number(token) or 0, at_us)
