"""Value conversion for JSON lookups: values are typed already, so a wrong type is an error.

An array stands for its members wherever values are wanted; a map is then an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from postroad.core.exchange.lookups import FAILED
from postroad.core.exchange.value_conversion import ERROR, NOTHING, Conversion, ConvertedValues

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
