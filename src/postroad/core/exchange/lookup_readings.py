"""What comparisons make of values looked up in JSON: typed already, so nothing is converted and the wrong type is an error.

An array stands for its members wherever values are wanted; a map is then an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from postroad.core.exchange.lookups import FAILED
from postroad.core.exchange.readings import ERROR, NOTHING, Reading, Values

_Sort = type[str] | type[float] | type[bool]


def _values(items: Any) -> Iterator[Any]:
    for item in items:
        if isinstance(item, list):
            yield from _values(member for member in item if member is not None)
        else:
            yield item


def _all_of(sort: _Sort) -> Callable[[Any], Values]:
    def read(raw: Any) -> Values:
        values = list(_values(raw))
        fitting = [value for value in values if type(value) is sort]
        return Values(fitting, len(fitting) < len(values))

    return read


def _one_of(sort: _Sort, absent: Values = NOTHING) -> Callable[[Any], Values]:
    def read(raw: Any) -> Values:
        values = list(_values(raw))
        if not values:
            return absent
        return Values(values, False) if len(values) == 1 and type(values[0]) is sort else ERROR

    return read


def _there(raw: Any) -> Values:
    items = [item for item in raw if item is not FAILED]
    return Values(items, len(items) < len(raw))


def _count(raw: Any) -> Values:
    return ERROR if FAILED in raw else Values((len(raw),), False)


def _truth(raw: Any) -> Values:
    """The effective boolean value, which several values, maps and arrays do not have."""
    if not raw:
        return Values((False,), False)
    if len(raw) > 1 or type(raw[0]) not in (str, float, bool):
        return ERROR
    return Values((raw[0] == raw[0] and bool(raw[0]),), False)


READ_LOOKUPS: dict[Reading, Callable[[Any], Values]] = {
    Reading.LOOKED_UP: _there,
    Reading.LOOKED_UP_TEXTS: _all_of(str),
    Reading.LOOKED_UP_DOUBLES: _all_of(float),
    Reading.LOOKED_UP_BOOLEANS: _all_of(bool),
    Reading.LOOKED_UP_TEXT: _one_of(str),
    Reading.LOOKED_UP_TEXT_OR_EMPTY: _one_of(str, absent=Values(("",), False)),
    Reading.LOOKED_UP_DOUBLE: _one_of(float),
    Reading.LOOKED_UP_BOOLEAN: _one_of(bool),
    Reading.LOOKED_UP_COUNT: _count,
    Reading.LOOKED_UP_TRUTH: _truth,
}
