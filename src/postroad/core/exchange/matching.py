"""A matcher: all bindings of an exchange, and which of them a message meets.

Kept rules: a message is parsed at most once, and not at all if no binding looks inside of messages. Binding and unbinding
cost what the one query costs, however many there are. Keys are the caller's and are bound once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from postroad.core.codecs.xml import Tree
from postroad.core.exchange.decision import Decision, Standing, decide
from postroad.core.exchange.extraction import Found
from postroad.core.exchange.facts import Facts
from postroad.core.exchange.groups import Key
from postroad.core.exchange.questions import Questions
from postroad.core.exchange.slots import DocumentSlot, HeaderValue
from postroad.core.exchange.tree import Node, Placement, placement, put, take_away
from postroad.errors import Refused


class Incoming(msgspec.Struct, frozen=True, kw_only=True):
    """A message as a matcher needs it: its header's items by name, its bytes, and how to get at the document in them."""

    headers: Mapping[str, HeaderValue]
    content: bytes
    root: Callable[[], Tree]  # parses on first use; may refuse


class Binding(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    query: str
    standing: Standing
    placements: tuple[Placement, ...]


class Matches(msgspec.Struct, frozen=True, kw_only=True):
    decided: frozenset[Key] = frozenset()  # yes: the message goes there as it came
    candidates: frozenset[Key] = frozenset()  # the engine says whether, and with what


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How a binding is decided, for people."""

    standing: Standing
    condition: str  # that decides, or without which the engine is not asked
    reason: str = ""
    position: int | None = None

    def __str__(self) -> str:
        if self.standing is Standing.SHARED:
            return f"shared: {self.condition}"
        where = "" if self.position is None else f" (character {self.position + 1})"
        if self.standing is Standing.ALWAYS:
            return f"always evaluated: {self.reason}{where}"
        return f"prefiltered by {self.condition}: {self.reason}{where}"


class Matcher:
    __slots__ = ("_bindings", "_evaluated", "_looks_at_texts", "_questions", "_tree")

    def __init__(self) -> None:
        self._bindings: dict[Key, Binding] = {}
        self._evaluated: set[Key] = set()  # by the engine
        self._looks_at_texts: set[Key] = set()
        self._questions = Questions()
        self._tree = Node(is_root=True)

    def __len__(self) -> int:
        return len(self._bindings)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left of any binding."""
        return not self._bindings and not self._tree and not self._questions.in_use

    def bind(self, key: Key, query: str) -> Binding:
        """Bind a query that the engine has compiled; a key that is bound already is a mistake of the caller."""
        if key in self._bindings:
            raise ValueError(f"{key!r} is bound already; unbind it first")
        decision = decide(query)
        placements = tuple(placement(one, self._questions) for one in decision.normal.conjunctions)
        for place in placements:
            put(self._tree, place, key)
        binding = self._bindings[key] = Binding(key=key, query=query, standing=decision.standing, placements=placements)
        if decision.standing is not Standing.SHARED:
            self._evaluated.add(key)
        if _looks_at_texts(decision):
            self._looks_at_texts.add(key)
        return binding

    def unbind(self, key: Key) -> None:
        binding = self._bindings.pop(key)
        for place in binding.placements:
            take_away(self._tree, place, key)
            for probe, constant in place.probes():
                self._questions.let_go(probe, constant)
        self._evaluated.discard(key)
        self._looks_at_texts.discard(key)

    def match(self, message: Incoming) -> Matches:
        out: list[Key] = []
        self._tree.collect(Facts(self._look(message), message.headers, self._questions), out)
        met = frozenset(out)
        candidates = met & self._evaluated if self._evaluated else _NONE
        if self._looks_at_texts and _may_split_texts(message.content):
            candidates |= self._looks_at_texts
        return Matches(decided=met - candidates if candidates else met, candidates=candidates)

    def _look(self, message: Incoming) -> Found | None:
        if not self._questions.documents:
            return defaultdict(list)
        try:
            return self._questions.extraction.look(message.root())
        except Refused:
            return None

    def explain(self, key: Key) -> Explanation:
        decision = decide(self._bindings[key].query)
        return Explanation(
            standing=decision.standing, condition=decision.necessary, reason=decision.reason, position=decision.position
        )


_NONE: frozenset[Key] = frozenset()


def _looks_at_texts(decision: Decision) -> bool:
    slots = (literal.slot for one in decision.normal.conjunctions for literal in one)
    return any(isinstance(slot, DocumentSlot) and slot.is_text for slot in slots)


def _may_split_texts(content: bytes) -> bool:
    """Whether comments or instructions may part a text into several nodes, which the tree no longer shows."""
    return b"<!--" in content or b"<?" in content[2:] or b"\x00" in content[:4]
