"""The matching tree: finds the conjunctions that hold for a message without testing each one.

A conjunction is placed by its equalities, the one with the most different constants first, or by the prefix of a text if it
has no equality; its other literals are placed in a group of their kind there. A message visits only nodes for its values.

Rules: the cost of adding and removing depends only on the one conjunction. Its path is stored in the placement, so removing
needs no search, even after other additions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from postroad.core.exchange.conditions import Literal, Test
from postroad.core.exchange.match.groups import (
    NO_ANCHOR,
    Constants,
    Group,
    Key,
    Shape,
    SortedGroup,
    TableGroup,
    anchor_of,
    sort_if_large,
)
from postroad.core.exchange.match.message_facts import MessageFacts
from postroad.core.exchange.match.questions import Probe, View
from postroad.core.exchange.value_conversion import Conversion

_HASHED = frozenset(Conversion) - {
    Conversion.ITEM_NUMBER,
    Conversion.ITEM_AS_NUMBER,
}  # readings whose equality depends on the type of the other side
_PREFIXED = (
    Conversion.TEXTS,
    Conversion.TEXT,
    Conversion.TEXT_OR_EMPTY,
    Conversion.ITEM_TEXT_OR_EMPTY,
    Conversion.LOOKED_UP_TEXTS,
    Conversion.LOOKED_UP_TEXT_OR_EMPTY,
)

_NOTHING = object()
_SEVERAL = frozenset({list, dict})
MANY_KEYS = 32
FEW_VALUES = 3  # with more, the needed ones are found together
Keys = dict[Key, None]

Way = tuple[Probe, Any]  # with its constant: an equality, or the beginning of a text


class ConjunctionLayout:
    """The layout of conjunctions that differ only in constants: the path down the tree, and the group there."""

    __slots__ = ("shape", "ways")

    def __init__(self, ways: tuple[Probe, ...], shape: Shape) -> None:
        self.ways = ways
        self.shape = shape


class ConjunctionPlacement(NamedTuple):
    """The place of a conjunction in the tree."""

    layout: ConjunctionLayout
    constants: Constants  # of the ways, then of the group

    @property
    def rest(self) -> Constants:
        return self.constants[len(self.layout.ways) :]

    def forget(self) -> None:
        """Stop counting the constants of this placement."""
        for probe, constant in zip(self.layout.ways, self.constants, strict=False):
            probe.part(constant)


class MatchNode:
    __slots__ = ("anchored", "groups", "keys", "prefixes", "raw", "views")

    def __init__(self, *, is_root: bool = False) -> None:
        self.keys: Keys | None = None
        self.raw: dict[int, dict[str, Child]] | None = None
        self.views: dict[View, dict[Any, Child]] | None = None
        self.prefixes: dict[View, dict[int, dict[str, Child]]] | None = None
        self.groups: dict[Shape, Group] | None = None
        # The root has groups of all kinds of documents, so those are kept by a slot that they cannot do without.
        self.anchored: dict[int, dict[Shape, Group]] | None = {} if is_root else None

    def __bool__(self) -> bool:
        return bool(self.keys or self.raw or self.views or self.prefixes or self.groups or self.anchored)

    def table(self, way: Way) -> dict[Any, Child]:
        """Where the way leads from, made if it is not there."""
        probe, constant = way
        view = probe.view
        if probe.test is Test.STARTS:
            self.prefixes = self.prefixes if self.prefixes is not None else {}
            return self.prefixes.setdefault(view, {}).setdefault(len(constant), {})
        if view.by_raw_text:
            self.raw = self.raw if self.raw is not None else {}
            return self.raw.setdefault(view.number, {})
        self.views = self.views if self.views is not None else {}
        return self.views.setdefault(view, {})

    def prune(self, way: Way) -> None:
        """Forget the tables that a way no longer needs."""
        probe, constant = way
        if probe.test is Test.STARTS and self.prefixes:
            by_length = self.prefixes[probe.view]
            _drop_if_empty(by_length, len(constant))
            _drop_if_empty(self.prefixes, probe.view)
        elif probe.view.by_raw_text:
            _drop_if_empty(self.raw, probe.view.number)
        else:
            _drop_if_empty(self.views, probe.view)

    def add(self, shape: Shape, constants: Constants, key: Key) -> None:
        if not shape:
            self.keys = self.keys if self.keys is not None else {}
            self.keys[key] = None
            return
        groups = self._groups_with(shape)
        if shape not in groups:
            groups[shape] = TableGroup(shape)
        groups[shape].add(constants, key)
        groups[shape] = sort_if_large(groups[shape])

    def _groups_with(self, shape: Shape) -> dict[Shape, Group]:
        anchor = NO_ANCHOR if self.anchored is None else anchor_of(shape)
        if self.anchored is not None and anchor != NO_ANCHOR:
            return self.anchored.setdefault(anchor, {})
        self.groups = self.groups if self.groups is not None else {}
        return self.groups

    def remove(self, shape: Shape, constants: Constants, key: Key) -> None:
        if not shape:
            (self.keys or {}).pop(key)
            return
        groups = self._groups_with(shape)
        groups[shape].remove(constants, key)
        _drop_if_empty(groups, shape)
        if self.anchored is not None and anchor_of(shape) != NO_ANCHOR:
            _drop_if_empty(self.anchored, anchor_of(shape))

    def collect(self, facts: MessageFacts, out: list[Key]) -> None:
        """Collect all keys whose conjunction holds; a key may be repeated."""
        if self.keys:
            out += self.keys
        if self.groups:
            for group in self.groups.values():
                group.collect(facts, out)
        if self.anchored:
            _collect_anchored(self.anchored, facts, out)
        if self.raw:
            _collect_raw(self.raw, facts, out)
        if self.views:
            for view, by_value in self.views.items():
                for value in facts.values(view).values:
                    if value in by_value:
                        _descend(by_value[value], facts, out)
        if self.prefixes:
            _collect_prefixes(self.prefixes, facts, out)


def _drop_if_empty(tables: Any, where: Any) -> None:
    if not tables[where]:
        del tables[where]


# A node; or, where nothing else stands there, a group; or, where nothing is left to test, a key, or several of them in a
# list, or many in a dict, which lets each go at once. Neither of the two is ever a key itself.
Child = Any


def is_hashed(literal: Literal) -> bool:
    return literal.test is Test.EQ and not literal.negated and literal.reading in _HASHED


def is_prefixed(literal: Literal) -> bool:
    return literal.test is Test.STARTS and not literal.negated and literal.reading in _PREFIXED


def add_placement(node: MatchNode, place: ConjunctionPlacement, key: Key) -> None:
    ways = place.layout.ways
    last = len(ways) - 1
    for depth, probe in enumerate(ways):
        constant = place.constants[depth]
        table = node.table((probe, constant))
        child = table.get(constant, _NOTHING)
        if type(child) is not MatchNode and depth == last:
            joined = _joined(child, place, key)
            if joined is not _NOTHING:
                table[constant] = joined
                return
        if type(child) is not MatchNode:
            child = table[constant] = _as_node(child)
        node = child
    node.add(place.layout.shape, place.rest, key)


def _joined(child: Child, place: ConjunctionPlacement, key: Key) -> Child:
    """Return the child with the key added; nothing if that requires another node."""
    shape = place.layout.shape
    if shape:
        if child is not _NOTHING and not (isinstance(child, Group) and child.shape == shape):
            return _NOTHING
        group = child if isinstance(child, Group) else TableGroup(shape)
        group.add(place.rest, key)
        return sort_if_large(group)
    if isinstance(child, Group):
        return _NOTHING
    if type(child) is dict:
        child[key] = None
        return child
    if type(child) is list:
        child.append(key)
        return child if len(child) < MANY_KEYS else dict.fromkeys(child)
    return key if child is _NOTHING else [child, key]


def _as_node(child: Child) -> MatchNode:
    node = MatchNode()
    if isinstance(child, Group):
        node.groups = {child.shape: child}
    elif child is not _NOTHING:
        node.keys = dict.fromkeys(child if type(child) in _SEVERAL else (child,))
    return node


def remove_placement(node: MatchNode, place: ConjunctionPlacement, key: Key, depth: int = 0) -> None:
    if depth == len(place.layout.ways):
        node.remove(place.layout.shape, place.rest, key)
        return
    constant = place.constants[depth]
    way = (place.layout.ways[depth], constant)
    table = node.table(way)
    child = table[constant]
    if type(child) is MatchNode:
        remove_placement(child, place, key, depth + 1)
    elif isinstance(child, Group):
        child.remove(place.rest, key)
    elif type(child) in _SEVERAL:
        child.remove(key) if type(child) is list else child.pop(key)
    if type(child) not in _HOLDING or not child:
        del table[constant]
        node.prune(way)


def _collect_anchored(anchored: dict[int, dict[Shape, Group]], facts: MessageFacts, out: list[Key]) -> None:
    found = facts.found
    for anchor in anchored if len(anchored) <= len(found) else found:
        if anchor in found and anchor in anchored:
            for group in anchored[anchor].values():
                group.collect(facts, out)


def _collect_prefixes(prefixes: dict[View, dict[int, dict[str, Child]]], facts: MessageFacts, out: list[Key]) -> None:
    for view, by_length in prefixes.items():
        for value in facts.values(view).values:
            for length, by_prefix in by_length.items():
                if (start := value[:length]) in by_prefix:
                    _descend(by_prefix[start], facts, out)


def _collect_raw(raw: dict[int, dict[str, Child]], facts: MessageFacts, out: list[Key]) -> None:
    """Collect the keys of equal texts; iterates over the smaller of the two sets of slots."""
    found: Any = facts.found
    for slot in raw if len(raw) < len(found) else found:
        if slot in found and slot in raw:
            by_value, values = raw[slot], found[slot]
            for value in by_value.keys() & values if len(values) > FEW_VALUES else values:
                if value in by_value:
                    child = by_value[value]
                    kind = type(child)
                    if kind in _COLLECTING:  # as _descend does, without the cost of a call
                        child.collect(facts, out)
                    elif kind in _SEVERAL:
                        out += child
                    else:
                        out.append(child)


def _descend(child: Child, facts: MessageFacts, out: list[Key]) -> None:
    if type(child) in _COLLECTING:
        child.collect(facts, out)
    elif type(child) in _SEVERAL:
        out += child
    else:
        out.append(child)


_COLLECTING = frozenset({MatchNode, TableGroup, SortedGroup})
_HOLDING = _COLLECTING | _SEVERAL
