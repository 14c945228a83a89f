"""Message features for which the decision tree is not exact, so that the XQuery engine must decide.

TEXTS  a comment or processing instruction can split a text into several nodes, which the parsed document does not show
WHOLE  a JSON array, compared as a whole, represents all its members
BARE   a JSON document that is a string, a number, a boolean or null: the effect of ``$msg`` depends on its type
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from enum import Enum

from postroad.core.exchange.conditions import Literal
from postroad.core.exchange.slots import DocumentSlot

Key = Hashable

_NONE: frozenset[Key] = frozenset()
_STRING = re.compile(r'"[^"]*"|\'[^\']*\'')
_RETURNED = re.compile(r"^\s*\$msg(?=\s*(?:\[|$))|\b(?:then|else|return)\s+\$msg(?=\s*(?:$|\)|else\b))")
_WHOLE = re.compile(r"\$msg\b(?!\s*[?/])")
_CONTEXT = re.compile(r"(?:^|[\s(,=<>!|+*{-])(?:\.(?![0-9.])|\?)")
_BRACKETS = re.compile(r"([\[\]])")
_BEFORE_JSON = b"\xef\xbb\xbf \t\r\n"


class FallbackReason(Enum):
    TEXTS = "texts"
    WHOLE = "whole"
    BARE = "bare"


_JSON_DOUBTS: dict[bytes, FallbackReason | None] = {b"{": None, b"[": FallbackReason.WHOLE}


def fallback_reasons_of(literals: Iterable[Literal], *, uses_whole: bool = False) -> frozenset[FallbackReason]:
    """Return the features for which the engine must evaluate a query; ``uses_whole``: it uses ``$msg`` itself."""
    slots = {literal.slot for literal in literals}
    found = {FallbackReason.TEXTS for slot in slots if isinstance(slot, DocumentSlot) and slot.is_text}
    compares_whole = DocumentSlot(steps=()) in slots
    if compares_whole:
        found.add(FallbackReason.WHOLE)
    if compares_whole or uses_whole:
        found.add(FallbackReason.BARE)
    return frozenset(found)


def uses_whole(query: str) -> bool:
    """Return True if a query may use the message itself, beyond reading its content or returning it; True in doubt."""
    text = _RETURNED.sub("", _STRING.sub("''", query))
    return bool(_WHOLE.search(text) or _CONTEXT.search(_outside_predicates(text)))


def _outside_predicates(text: str) -> str:
    kept, depth = [], 0
    for piece in _BRACKETS.split(text):
        if piece == "[":
            depth += 1
        elif piece == "]":
            depth -= 1
        elif depth == 0:
            kept.append(piece)
    return "x".join(kept)


def find_fallback_reason(content: bytes, *, is_json: bool) -> FallbackReason | None:
    """Return the feature of these bytes for which the engine must decide, if any."""
    if is_json:
        return _JSON_DOUBTS.get(content.lstrip(_BEFORE_JSON)[:1], FallbackReason.BARE)
    splits = b"<!--" in content or b"<?" in content[2:] or b"\x00" in content[:4]
    return FallbackReason.TEXTS if splits else None


class FallbackBindings:
    """Bindings that may need the engine, by reason and routing key."""

    __slots__ = ("keys",)

    def __init__(self) -> None:
        self.keys: dict[tuple[FallbackReason, str | None], set[Key]] = {}

    def add(self, doubts: frozenset[FallbackReason], routing_key: str | None, key: Key) -> None:
        for doubt in doubts:
            self.keys.setdefault((doubt, routing_key), set()).add(key)

    def discard(self, doubts: frozenset[FallbackReason], routing_key: str | None, key: Key) -> None:
        for doubt in doubts:
            place = (doubt, routing_key)
            self.keys[place].discard(key)
            if not self.keys[place]:
                del self.keys[place]

    def among(self, doubt: FallbackReason | None, topic: object) -> frozenset[Key]:
        """Return the bindings with this reason whose routing key is the topic or empty."""
        if doubt is None:
            return _NONE
        fitting = self.keys.get((doubt, topic), _NONE) if isinstance(topic, str) else _NONE
        return _NONE.union(fitting, self.keys.get((doubt, None), _NONE))
