"""The matching tree: conjunctions of all bindings, found by what a message says instead of tried one by one.

A conjunction goes down by its equalities, the one with most different constants first, then by the beginning of a text if it
has no equality; what is left of it goes into a group of its kind there. A message goes down only where its values lead. Kept
rules: putting and taking away cost what the one conjunction costs. The way down is written in the placement, so taking away
needs no search, whatever came in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from postroad.core.exchange.conditions import Literal, Test
from postroad.core.exchange.facts import Facts, Questions, View
from postroad.core.exchange.groups import Constants, Group, Key, Shape, is_sorted, new_group
from postroad.core.exchange.normal import Conjunction
from postroad.core.exchange.readings import Reading

_BY_RAW_TEXT = (Reading.TEXTS, Reading.ITEM_TEXT)  # what is no text is never equal to one
_HASHED = frozenset(Reading) - {Reading.ITEM_NUMBER}  # whose equality depends on the type of the other side
_PREFIXED = (Reading.TEXTS, Reading.TEXT, Reading.TEXT_OR_EMPTY, Reading.ITEM_TEXT_OR_EMPTY)

Way = tuple[str, Any, Any]  # kind, slot or view, constant
RAW, VIEW, PREFIX = "raw", "view", "prefix"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where a conjunction stands: the way down, and its place in a group there."""

    ways: tuple[Way, ...]
    shape: Shape
    constants: Constants


class Node:
    __slots__ = ("groups", "keys", "prefixes", "raw", "views")

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.raw: dict[int, dict[str, Child]] = {}
        self.views: dict[View, dict[Any, Child]] = {}
        self.prefixes: dict[View, dict[int, dict[str, Child]]] = {}
        self.groups: dict[Shape, Group] = {}

    def __bool__(self) -> bool:
        return bool(self.keys or self.raw or self.views or self.prefixes or self.groups)

    def table(self, way: Way) -> dict[Any, Child]:
        """Where the way leads from, made if it is not there."""
        kind, where, constant = way
        if kind == RAW:
            return self.raw.setdefault(where, {})
        if kind == VIEW:
            return self.views.setdefault(where, {})
        return self.prefixes.setdefault(where, {}).setdefault(len(constant), {})

    def prune(self, way: Way) -> None:
        """Forget the tables that a way no longer needs."""
        kind, where, constant = way
        tables: dict[Any, Any] = self.raw if kind == RAW else self.views if kind == VIEW else self.prefixes
        if kind == PREFIX and not tables[where][len(constant)]:
            del tables[where][len(constant)]
        if not tables[where]:
            del tables[where]


Child = Node | list[Key]  # a list: nothing is left to test


def placement(conjunction: Conjunction, questions: Questions) -> Placement:
    """Takes the conjunction's literals into use and says where it is to stand."""
    seen = [(literal, questions.use(literal)) for literal in sorted(conjunction, key=str)]
    hashed = [(literal, view) for literal, view in seen if _is_hashed(literal)]
    hashed.sort(key=lambda pair: -questions.distinct[pair[1]])
    ways = [_way(literal, view) for literal, view in hashed]
    left = [(literal, view) for literal, view in seen if not _is_hashed(literal)]
    if not ways:
        prefixed = [pair for pair in left if _is_prefixed(pair[0])][:1]
        ways = [(PREFIX, view, literal.constant) for literal, view in prefixed]
        left = [pair for pair in left if pair not in prefixed]
    parts = [(((view, literal.test), literal.negated), literal.constant) for literal, view in left]
    parts.sort(key=lambda part: not is_sorted(part[0]))
    return Placement(
        ways=tuple(ways), shape=tuple(part for part, _ in parts), constants=tuple(constant for _, constant in parts)
    )


def _is_hashed(literal: Literal) -> bool:
    return literal.test is Test.EQ and not literal.negated and literal.reading in _HASHED


def _is_prefixed(literal: Literal) -> bool:
    return literal.test is Test.STARTS and not literal.negated and literal.reading in _PREFIXED


def _way(literal: Literal, view: View) -> Way:
    if literal.reading in _BY_RAW_TEXT:
        return (RAW, view[0], literal.constant)
    return (VIEW, view, literal.constant)


def put(node: Node, place: Placement, key: Key) -> None:
    for depth, way in enumerate(place.ways):
        table = node.table(way)
        child = table.get(way[2])
        if depth == len(place.ways) - 1 and not place.shape and not isinstance(child, Node):
            table.setdefault(way[2], []).append(key)  # type: ignore[union-attr]  # what is no node is a list
            return
        if not isinstance(child, Node):
            grown = Node()
            grown.keys = child or []
            child = table[way[2]] = grown
        node = child
    if not place.shape:
        node.keys.append(key)
        return
    if place.shape not in node.groups:
        node.groups[place.shape] = new_group(place.shape)
    node.groups[place.shape].add(place.constants, key)


def take_away(node: Node, place: Placement, key: Key, depth: int = 0) -> None:
    if depth < len(place.ways):
        way = place.ways[depth]
        table = node.table(way)
        child = table[way[2]]
        if isinstance(child, Node):
            take_away(child, place, key, depth + 1)
        else:
            child.remove(key)
        if not child:
            del table[way[2]]
            node.prune(way)
    elif place.shape:
        group = node.groups[place.shape]
        group.remove(place.constants, key)
        if not group:
            del node.groups[place.shape]
    else:
        node.keys.remove(key)


def collect(node: Node, facts: Facts, out: list[Key]) -> None:
    """All keys whose conjunction holds; a key may come more than once."""
    out += node.keys
    for group in node.groups.values():
        group.collect(facts, out)
    if node.raw:
        _collect_raw(node.raw, facts, out)
    for view, by_value in node.views.items():
        for value in facts.values(view).values:
            if value in by_value:
                _descend(by_value[value], facts, out)
    for view, by_length in node.prefixes.items():
        for value in facts.values(view).values:
            for length, by_prefix in by_length.items():
                child = by_prefix.get(value[:length])
                if child is not None:
                    _descend(child, facts, out)


def _collect_raw(raw: dict[int, dict[str, Child]], facts: Facts, out: list[Key]) -> None:
    found = facts.found
    slots = raw if len(raw) < len(found) else found
    for slot in slots:
        if slot in raw and slot in found:
            by_value = raw[slot]
            for value in found[slot]:
                if value in by_value:
                    _descend(by_value[value], facts, out)  # type: ignore[index]  # only texts are keys


def _descend(child: Child, facts: Facts, out: list[Key]) -> None:
    if isinstance(child, Node):
        collect(child, facts, out)
    else:
        out += child
