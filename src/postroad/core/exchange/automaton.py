"""All paths of an exchange as one automaton, whose states are made when a document first leads there.

A place is a point on a path. A state is the set of places an element is at, and holds what is to be collected there and where
each tag leads. Kept rules: a tag that leads nowhere is None, and nothing below it is looked at. What documents have led to is
forgotten when it becomes much: their names are whatever their senders like.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from postroad.core.exchange.query.syntax import ANY_NAME, Kind, Name
from postroad.core.exchange.slots import SlotStep

FEW = 3
STATES_MOST = 2_000
TAGS_MOST = 2_000  # that a state remembers


class Place:
    """What follows after the steps so far; ``anywhere`` is what follows a //."""

    __slots__ = ("anywhere", "attributes", "children", "is_anywhere", "texts", "values")

    def __init__(self, *, is_anywhere: bool = False) -> None:
        self.children: dict[Name, Place] = {}
        self.anywhere: Place | None = None
        self.is_anywhere = is_anywhere
        self.attributes: list[tuple[Name, int]] = []
        self.texts: list[int] = []
        self.values: list[int] = []

    def add(self, steps: tuple[SlotStep, ...], slot: int) -> None:
        here = self
        for step in steps:
            if step.descends:
                here.anywhere = here.anywhere or Place(is_anywhere=True)
                here = here.anywhere
            if step.kind is Kind.ATTRIBUTE:
                here.attributes.append((step.name, slot))
                return
            if step.kind is Kind.TEXT:
                here.texts.append(slot)
                return
            here = here.children.setdefault(step.name, Place())
        here.values.append(slot)


class State:
    __slots__ = (
        "attributes", "collects", "collects_rarely", "goes_on", "next", "only_attributes", "only_value", "places", "tags",
        "texts", "values", "wild_attributes",
    )  # fmt: skip

    def __init__(self, places: frozenset[Place]) -> None:
        self.places = places
        named = [(name, slot) for place in places for name, slot in place.attributes]
        self.attributes = tuple((_written(name), slot) for name, slot in named if _is_full(name))
        self.wild_attributes: dict[Name, list[int]] = defaultdict(list)
        for name, slot in named:
            if not _is_full(name):
                self.wild_attributes[name].append(slot)
        self.texts = tuple(slot for place in places for slot in place.texts)
        self.values = tuple(slot for place in places for slot in place.values)
        self.goes_on = any(place.children or place.is_anywhere for place in places)
        self.next: dict[object, State | None] = {}
        more = bool(self.wild_attributes or self.texts or self.values)
        self.collects = bool(self.attributes) or more
        self.collects_rarely = bool(self.wild_attributes or self.texts)
        alone = len(self.values) == 1 and not (self.attributes or self.collects_rarely or self.goes_on)
        self.only_value = self.values[0] if alone else None
        self.only_attributes = bool(self.attributes) and not more and not self.goes_on
        self.tags = _few_tags(places)


def _few_tags(places: frozenset[Place]) -> tuple[str, ...]:
    """The only tags that lead on, if they are few; else none."""
    names = {name for place in places for name in place.children}
    if len(names) > FEW or any(place.is_anywhere for place in places) or not all(map(_is_full, names)):
        return ()
    return tuple(map(_written, names))


class Automaton:
    __slots__ = ("_states", "start")

    def __init__(self, paths: Iterable[tuple[tuple[SlotStep, ...], int]]) -> None:
        root = Place()
        for steps, slot in paths:
            root.add(steps, slot)
        self._states: dict[frozenset[Place], State] = {}
        self.start = self._state([root])

    def step(self, state: State, tag: object) -> State | None:
        """Where a tag leads that no element had here before."""
        found = self._below(state, tag) if isinstance(tag, str) else None  # comments and instructions have no tag
        if len(state.next) >= TAGS_MOST:
            state.next.clear()
        state.next[tag] = found
        return found

    def _below(self, state: State, tag: str) -> State | None:
        namespace, _, local = tag[1:].rpartition("}") if tag.startswith("{") else ("", "", tag)
        fitting = fitting_names(namespace, local)
        places = [place for place in state.places if place.is_anywhere]
        for place in state.places:
            places += [place.children[name] for name in fitting if name in place.children]
        found = self._state(places) if places else None
        return found if found is not None and (found.collects or found.goes_on) else None

    def _state(self, places: Iterable[Place]) -> State:
        closed = set(places)
        closed |= {place.anywhere for place in closed if place.anywhere is not None}
        key = frozenset(closed)
        state = self._states.get(key)
        if state is None:
            if len(self._states) >= STATES_MOST:
                self._forget()
            state = self._states[key] = State(key)
        return state

    def _forget(self) -> None:
        """Whoever is on their way through a document has their states still; the next one begins anew."""
        self._states = {self.start.places: self.start}
        self.start.next.clear()


def fitting_names(namespace: str, local: str) -> tuple[Name, ...]:
    """All names, wildcards among them, that fit an element or attribute: as few, however many are asked for."""
    wild = Name(namespace=None, local=local), Name(namespace=namespace, local=None), ANY_NAME
    return (Name(namespace=namespace, local=local), *wild)


def _is_full(name: Name) -> bool:
    return name.local is not None and name.namespace is not None


def _written(name: Name) -> str:
    return f"{{{name.namespace}}}{name.local}" if name.namespace else str(name.local)
