"""Evaluates the lookups of all bindings (``?items?*?sku``) on a JSON document in one walk, and converts their values.

Rules: lookups with the same start are followed together. A lookup in a value without members is an error, as in XQuery, and
is stored among the values as ``FAILED``. The lookup of a name in an array is empty, as in the engine. Values are already
typed, so a wrong type is an error. If a value is needed, an array represents its members, and a map is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from postroad.core.exchange.match.json_documents import JsonDocument
from postroad.core.exchange.query.syntax import StepKind
from postroad.core.exchange.slots import DocumentSlot, Raw, SlotStep
from postroad.core.exchange.value_conversion import ERROR, NOTHING, Conversion, ConvertedValues

FAILED = object()
LookupValues = dict[int, Raw]


class _Place:
    """A position in JSON: the next lookups, and the slots that take its value."""

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


_Sort = type[str] | type[float] | type[bool]


def _values(items: Any) -> Iterator[Any]:
    for item in items:
        if isinstance(item, list):
            yield from _values(member for member in item if member is not None)
        else:
            yield item


def _all_of(sort: _Sort) -> Callable[[Any], ConvertedValues]:
    def read(raw: Any) -> ConvertedValues:
        values = list(_values(raw))
        fitting = [value for value in values if type(value) is sort]
        return ConvertedValues(fitting, len(fitting) < len(values))

    return read


def _one_of(sort: _Sort, absent: ConvertedValues = NOTHING) -> Callable[[Any], ConvertedValues]:
    def read(raw: Any) -> ConvertedValues:
        values = list(_values(raw))
        if not values:
            return absent
        return ConvertedValues(values, False) if len(values) == 1 and type(values[0]) is sort else ERROR

    return read


def _there(raw: Any) -> ConvertedValues:
    items = [item for item in raw if item is not FAILED]
    return ConvertedValues(items, len(items) < len(raw))


def _count(raw: Any) -> ConvertedValues:
    return ERROR if FAILED in raw else ConvertedValues((len(raw),), False)


def _truth(raw: Any) -> ConvertedValues:
    """The effective boolean value, which several values, maps and arrays do not have."""
    if not raw:
        return ConvertedValues((False,), False)
    if len(raw) > 1 or type(raw[0]) not in (str, float, bool):
        return ERROR
    return ConvertedValues((raw[0] == raw[0] and bool(raw[0]),), False)


LOOKUP_CONVERTERS: dict[Conversion, Callable[[Any], ConvertedValues]] = {
    Conversion.LOOKED_UP: _there,
    Conversion.LOOKED_UP_TEXTS: _all_of(str),
    Conversion.LOOKED_UP_DOUBLES: _all_of(float),
    Conversion.LOOKED_UP_BOOLEANS: _all_of(bool),
    Conversion.LOOKED_UP_TEXT: _one_of(str),
    Conversion.LOOKED_UP_TEXT_OR_EMPTY: _one_of(str, absent=ConvertedValues(("",), False)),
    Conversion.LOOKED_UP_DOUBLE: _one_of(float),
    Conversion.LOOKED_UP_BOOLEAN: _one_of(bool),
    Conversion.LOOKED_UP_COUNT: _count,
    Conversion.LOOKED_UP_TRUTH: _truth,
}
