"""Doubts: what a message may be such that a binding that the tree decides otherwise must be left to the engine.

TEXTS  a comment or an instruction may part a text into several nodes, which the parsed document no longer shows
WHOLE  a JSON array, compared as a whole, stands for all its members
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from postroad.core.exchange.conditions import Literal
from postroad.core.exchange.groups import Key
from postroad.core.exchange.slots import DocumentSlot

_NONE: frozenset[Key] = frozenset()
_BEFORE_JSON = b"\xef\xbb\xbf \t\r\n"


class Doubt(Enum):
    TEXTS = "texts"
    WHOLE = "whole"


def doubts_about(literals: Iterable[Literal]) -> frozenset[Doubt]:
    slots = {literal.slot for literal in literals}
    found = {Doubt.TEXTS for slot in slots if isinstance(slot, DocumentSlot) and slot.is_text}
    return frozenset(found | {Doubt.WHOLE} if DocumentSlot(steps=()) in slots else found)


def doubt_in(content: bytes, *, is_json: bool) -> Doubt | None:
    """The doubt that these bytes raise."""
    if is_json:
        return Doubt.WHOLE if content.lstrip(_BEFORE_JSON)[:1] == b"[" else None
    splits = b"<!--" in content or b"<?" in content[2:] or b"\x00" in content[:4]
    return Doubt.TEXTS if splits else None


class Doubtful:
    """The bindings over which there may be a doubt, by what it is and by their routing key."""

    __slots__ = ("keys",)

    def __init__(self) -> None:
        self.keys: dict[tuple[Doubt, str | None], set[Key]] = {}

    def add(self, doubts: frozenset[Doubt], routing_key: str | None, key: Key) -> None:
        for doubt in doubts:
            self.keys.setdefault((doubt, routing_key), set()).add(key)

    def discard(self, doubts: frozenset[Doubt], routing_key: str | None, key: Key) -> None:
        for doubt in doubts:
            place = (doubt, routing_key)
            self.keys[place].discard(key)
            if not self.keys[place]:
                del self.keys[place]

    def among(self, doubt: Doubt | None, topic: object) -> frozenset[Key]:
        """Those that the doubt concerns and that ask for this topic or for none."""
        if doubt is None:
            return _NONE
        fitting = self.keys.get((doubt, topic), _NONE) if isinstance(topic, str) else _NONE
        return _NONE.union(fitting, self.keys.get((doubt, None), _NONE))
