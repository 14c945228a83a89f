"""What is remembered of how a route came about: who was asked, which rules were tried, what they saw and what they did.

Kept rule: it is recorded while the route is calculated, not worked out afterwards, and it is kept with the message's body: it
quotes the message, so retention forgets it together with what it quotes.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct

from postroad.core.model.rule import RuleRole


class RuleTried(Struct, frozen=True, array_like=True):
    name: str
    version: int
    held: bool
    did: tuple[str, ...] = ()  # in words, one for each action


class ServiceTried(Struct, frozen=True, array_like=True):
    """The rules of one service, tried because of its role for this message."""

    service: str  # GCID
    role: RuleRole
    invoker: str  # GCID of who brought it in; empty for the sender
    rules: tuple[RuleTried, ...]
    seen: dict[str, tuple[str, ...]]  # what the conditions looked at, and the values found there
    faults: tuple[str, ...] = ()  # documents that could not be read


pack: Callable[[tuple[ServiceTried, ...]], bytes] = msgspec.msgpack.Encoder().encode
unpack: Callable[[bytes], tuple[ServiceTried, ...]] = msgspec.msgpack.Decoder(tuple[ServiceTried, ...]).decode
