"""Evaluates the lookups of all bindings (``?items?*?sku``) on a JSON document in one walk.

Rules: lookups that begin alike are followed together. What cannot be looked into is an error, as in XQuery, and stands
among the values as ``FAILED``. A name looked up in an array is nothing, as the engine has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from postroad.core.exchange.json_documents import JsonDocument
from postroad.core.exchange.query.syntax import StepKind
from postroad.core.exchange.slots import DocumentSlot, Raw, SlotStep

FAILED = object()
LookupValues = dict[int, Raw]


class _Place:
    """What is looked up from here, and which slots take what is here."""

    __slots__ = ("slots", "steps")

    def __init__(self) -> None:
        self.slots: list[int] = []
        self.steps: dict[SlotStep, _Place] = {}

    def add(self, steps: tuple[SlotStep, ...], slot: int) -> None:
        here = self
        for step in steps:
            here = here.steps.setdefault(step, _Place())
        here.slots.append(slot)


class Lookups:
    """A plan for looking at JSON documents, rebuilt when the slots in use change."""

    __slots__ = ("_start",)

    def __init__(self, slots: Mapping[int, DocumentSlot]) -> None:
        self._start = _Place()
        for number, slot in slots.items():
            self._start.add(slot.steps, number)

    def look(self, document: JsonDocument) -> LookupValues:
        found: LookupValues = {}
        _visit(self._start, [] if document is None else [document], found)
        return found


def _visit(place: _Place, items: list[Any], found: LookupValues) -> None:
    for slot in place.slots:
        found[slot] = items
    for step, below in place.steps.items():
        if reached := [value for item in items for value in _looked_up(item, step) if value is not None]:
            _visit(below, reached, found)


def _looked_up(item: Any, step: SlotStep) -> Iterable[Any]:
    if isinstance(item, dict):
        return _in_map(item, step)
    if isinstance(item, list):
        return _in_array(item, step)
    return (FAILED,)


def _in_map(item: dict[str, Any], step: SlotStep) -> Iterable[Any]:
    if step.kind is StepKind.PLACE:
        return ()
    return item.values() if step.name.local is None else (item.get(step.name.local),)


def _in_array(item: list[Any], step: SlotStep) -> Iterable[Any]:
    if step.kind is StepKind.KEY:
        return item if step.name.local is None else ()
    place = int(step.name.local or 0)
    return (item[place - 1],) if 0 < place <= len(item) else (FAILED,)
