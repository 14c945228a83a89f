"""All paths of an exchange as one automaton; its states are created when a document first reaches them.

A position is a point on a path. A state is the set of positions of an element; it contains the values to collect there and
the next state for each tag. Rules: the next state of a tag outside all paths is None, and nothing below that tag is read.
States are discarded when there are too many, because senders can use any number of names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from postroad.core.exchange.query.syntax import ANY_NAME, QualifiedName, StepKind
from postroad.core.exchange.slots import SlotStep

FEW = 3
MAX_STATES = 2_000
MAX_TAGS = 2_000  # that a state remembers


class PathPosition:
    """The steps that remain after those taken; ``anywhere`` holds what follows a //."""

    __slots__ = ("anywhere", "attributes", "children", "is_anywhere", "texts", "values")

    def __init__(self, *, is_anywhere: bool = False) -> None:
        self.children: dict[QualifiedName, PathPosition] = {}
        self.anywhere: PathPosition | None = None
        self.is_anywhere = is_anywhere
        self.attributes: list[tuple[QualifiedName, int]] = []
        self.texts: list[int] = []
        self.values: list[int] = []

    def add(self, steps: tuple[SlotStep, ...], slot: int) -> None:
        here = self
        for step in steps:
            if step.descends:
                here.anywhere = here.anywhere or PathPosition(is_anywhere=True)
                here = here.anywhere
            if step.kind is StepKind.ATTRIBUTE:
                here.attributes.append((step.name, slot))
                return
            if step.kind is StepKind.TEXT:
                here.texts.append(slot)
                return
            here = here.children.setdefault(step.name, PathPosition())
        here.values.append(slot)


class AutomatonState:
    __slots__ = (
        "attributes", "collects", "collects_rarely", "goes_on", "next", "only_attributes", "only_value", "places", "tags",
        "texts", "values", "wild_attributes",
    )  # fmt: skip

    def __init__(self, places: frozenset[PathPosition]) -> None:
        self.places = places
        named = [(name, slot) for place in places for name, slot in place.attributes]
        self.attributes = tuple((_written(name), slot) for name, slot in named if _is_full(name))
        self.wild_attributes: dict[QualifiedName, list[int]] = defaultdict(list)
        for name, slot in named:
            if not _is_full(name):
                self.wild_attributes[name].append(slot)
        self.texts = tuple(slot for place in places for slot in place.texts)
        self.values = tuple(slot for place in places for slot in place.values)
        self.goes_on = any(place.children or place.is_anywhere for place in places)
        self.next: dict[object, AutomatonState | None] = {}
        more = bool(self.wild_attributes or self.texts or self.values)
        self.collects = bool(self.attributes) or more
        self.collects_rarely = bool(self.wild_attributes or self.texts)
        alone = len(self.values) == 1 and not (self.attributes or self.collects_rarely or self.goes_on)
        self.only_value = self.values[0] if alone else None
        self.only_attributes = bool(self.attributes) and not more and not self.goes_on
        self.tags = _few_tags(places)


def _few_tags(places: frozenset[PathPosition]) -> tuple[str, ...]:
    """Return the only tags that continue a path, if they are few; otherwise none."""
    names = {name for place in places for name in place.children}
    if len(names) > FEW or any(place.is_anywhere for place in places) or not all(map(_is_full, names)):
        return ()
    return tuple(map(_written, names))


class Automaton:
    __slots__ = ("_states", "start")

    def __init__(self, paths: Iterable[tuple[tuple[SlotStep, ...], int]]) -> None:
        root = PathPosition()
        for steps, slot in paths:
            root.add(steps, slot)
        self._states: dict[frozenset[PathPosition], AutomatonState] = {}
        self.start = self._state([root])

    def step(self, state: AutomatonState, tag: object) -> AutomatonState | None:
        """Where a tag leads that no element had here before."""
        found = self._below(state, tag) if isinstance(tag, str) else None  # comments and instructions have no tag
        if len(state.next) >= MAX_TAGS:
            state.next.clear()
        state.next[tag] = found
        return found

    def _below(self, state: AutomatonState, tag: str) -> AutomatonState | None:
        namespace, _, local = tag[1:].rpartition("}") if tag.startswith("{") else ("", "", tag)
        fitting = list_fitting_names(namespace, local)
        places = [place for place in state.places if place.is_anywhere]
        for place in state.places:
            places += [place.children[name] for name in fitting if name in place.children]
        found = self._state(places) if places else None
        return found if found is not None and (found.collects or found.goes_on) else None

    def _state(self, places: Iterable[PathPosition]) -> AutomatonState:
        closed = set(places)
        closed |= {place.anywhere for place in closed if place.anywhere is not None}
        key = frozenset(closed)
        state = self._states.get(key)
        if state is None:
            if len(self._states) >= MAX_STATES:
                self._forget()
            state = self._states[key] = AutomatonState(key)
        return state

    def _forget(self) -> None:
        """Discards all states. A walk in progress keeps its own; the next one builds new ones."""
        self._states = {self.start.places: self.start}
        self.start.next.clear()


def list_fitting_names(namespace: str, local: str) -> tuple[QualifiedName, ...]:
    """Return all names and wildcards that match an element or attribute; their number does not depend on the slots."""
    wild = QualifiedName(namespace=None, local=local), QualifiedName(namespace=namespace, local=None), ANY_NAME
    return (QualifiedName(namespace=namespace, local=local), *wild)


def _is_full(name: QualifiedName) -> bool:
    return name.local is not None and name.namespace is not None


def _written(name: QualifiedName) -> str:
    return f"{{{name.namespace}}}{name.local}" if name.namespace else str(name.local)
