"""Converts slot values for a comparison as XQuery does: to texts, doubles, one decimal or a count.

A conversion returns the values to compare and whether any of them was an error. ``a > 5`` reads all nodes as doubles, and
one that is not a number is an error, unless another already makes it true; ``contains(a, 'x')`` wants one node at most. A
query sees a list in the header as one untyped element with the text of all its values, as the engine writes it. Rule:
conversion never raises.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any

import msgspec

from postroad.core.exchange.slots import HeaderValue, Raw

_SPECIAL_TEXTS = {"inf": "INF", "-inf": "-INF", "nan": "NaN"}


class UntypedText(str):
    """The text of a list."""

    __slots__ = ()


def to_untyped_text(items: list[HeaderValue] | tuple[HeaderValue, ...]) -> UntypedText:
    return UntypedText("".join(map(_text, items)))


def _text(item: HeaderValue) -> str:
    match item:
        case list() | tuple():
            return to_untyped_text(item)
        case bool():
            return "true" if item else "false"
        case float():
            return _SPECIAL_TEXTS.get(repr(item), repr(item))
        case Decimal():
            return format(item, "f")
        case date():
            return item.isoformat()
        case _:
            return str(item)


_DOUBLE = re.compile(r"[ \t\r\n]*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t\r\n]*").fullmatch
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_SPECIAL = {"INF": float("inf"), "+INF": float("inf"), "-INF": float("-inf"), "NaN": float("nan")}
_SPACE = " \t\r\n"
_PLAIN = "0123456789."
_MAX_DIGITS = 1_000  # more make no number that anyone means, and cost
NAN = float("nan")


class ConvertedValues(msgspec.Struct, frozen=True, gc=False):
    values: Any  # a list or tuple of comparable values of one kind
    bad: bool


NOTHING = ConvertedValues((), False)
ERROR = ConvertedValues((), True)


class Conversion(Enum):
    __hash__ = object.__hash__  # they are hashed far more often than made, and an Enum does that by its name

    TEXTS = "texts"
    DOUBLES = "doubles"
    BOOLEANS = "booleans"
    TEXT = "one text"
    TEXT_OR_EMPTY = "one text or none"
    NUMBER = "number"
    DOUBLE = "one double"
    DECIMAL = "one decimal"
    INTEGER = "one integer"
    COUNT = "count"
    LENGTH = "length"
    ITEM_TEXT = "item as text"
    ITEM_TEXT_OR_EMPTY = "item as text or none"
    ITEM_NUMBER = "item as number"
    ITEM_DOUBLE = "item as double"
    ITEM_BOOLEAN = "item as boolean"
    ITEM_AS_NUMBER = "item read as number"
    ITEM_AS_DOUBLE = "item read as double"
    ITEM_AS_BOOLEAN = "item read as boolean"
    ITEM_TRUTH = "item's truth"
    LOOKED_UP = "what is looked up"
    LOOKED_UP_TEXTS = "looked up as texts"
    LOOKED_UP_DOUBLES = "looked up as doubles"
    LOOKED_UP_BOOLEANS = "looked up as booleans"
    LOOKED_UP_TEXT = "looked up as one text"
    LOOKED_UP_TEXT_OR_EMPTY = "looked up as one text or none"
    LOOKED_UP_DOUBLE = "looked up as one double"
    LOOKED_UP_BOOLEAN = "looked up as one boolean"
    LOOKED_UP_COUNT = "looked up, how many"
    LOOKED_UP_TRUTH = "truth of what is looked up"


def to_double(text: str) -> float | None:
    if text.strip(_PLAIN) and not _DOUBLE(text):
        return _SPECIAL.get(text.strip(_SPACE))
    try:
        return float(text)
    except ValueError:  # several points, or nothing
        return None


def to_boolean(text: str) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(text.strip(_SPACE))


def _to_decimal(text: str) -> Decimal | None:
    stripped = text.strip(_SPACE)
    return Decimal(stripped) if len(stripped) <= _MAX_DIGITS and _DECIMAL.fullmatch(stripped) else None


def _to_integer(text: str) -> int | None:
    stripped = text.strip(_SPACE)
    return int(stripped) if len(stripped) <= _MAX_DIGITS and _INTEGER.fullmatch(stripped) else None


def _one(convert: Callable[[str], object]) -> Callable[[Raw], ConvertedValues]:
    def read(raw: Any) -> ConvertedValues:
        if len(raw) != 1:
            return ERROR if raw else NOTHING
        value = convert(raw[0])
        return ERROR if value is None else ConvertedValues((value,), False)

    return read


def _each(convert: Callable[[str], object]) -> Callable[[Raw], ConvertedValues]:
    def read(raw: Any) -> ConvertedValues:
        if len(raw) == 1:
            value = convert(raw[0])
            return ERROR if value is None else ConvertedValues((value,), False)
        values = [convert(text) for text in raw]
        if None in values:
            return ConvertedValues([value for value in values if value is not None], True)
        return ConvertedValues(values, False)

    return read


def _one_or(absent: object, convert: Callable[[str], object]) -> Callable[[Raw], ConvertedValues]:
    def read(raw: Any) -> ConvertedValues:
        if len(raw) > 1:
            return ERROR
        return ConvertedValues((convert(raw[0]) if raw else absent,), False)

    return read


def _number(text: str) -> float:
    value = to_double(text)
    return NAN if value is None else value


def _item(takes: Callable[[HeaderValue], object]) -> Callable[[Raw], ConvertedValues]:
    """Return a reader of typed items: the value, or an error for another type."""

    def read(raw: Any) -> ConvertedValues:
        if not raw:
            return NOTHING
        value = takes(raw[0])
        return ERROR if value is None else ConvertedValues((value,), False)

    return read


def _item_text(value: HeaderValue) -> str | None:
    return value if isinstance(value, str) else None


def _item_number(value: HeaderValue) -> int | Decimal | float | None:
    if isinstance(value, Decimal):
        return value if value.is_finite() else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _item_double(value: HeaderValue) -> float | None:
    number = _item_number(value)
    return None if number is None else as_double(number)


def _item_boolean(value: HeaderValue) -> bool | None:
    return value if isinstance(value, bool) else None


def _converted(
    convert: Callable[[str], object], takes: Callable[[HeaderValue], object]
) -> Callable[[HeaderValue], object]:
    """A list is an element without a type, so that it is converted to that of the other side."""
    return lambda value: convert(value) if isinstance(value, UntypedText) else takes(value)


def _item_truth(raw: Any) -> ConvertedValues:
    """A list is true, for it is an element; a moment or a day has no truth."""
    if not raw:
        return ConvertedValues((False,), False)
    value = raw[0]
    if isinstance(value, UntypedText):
        return ConvertedValues((True,), False)
    plain = isinstance(value, str | bool) or _item_number(value) is not None
    return (
        ConvertedValues((value == value and bool(value),), False) if plain else ERROR
    )  # NaN, which is unlike itself, is false


def _item_text_or_empty(raw: Any) -> ConvertedValues:
    return _item(_item_text)(raw) if raw else ConvertedValues(("",), False)


def as_double(number: int | Decimal | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _texts(raw: Any) -> ConvertedValues:
    return ConvertedValues(raw, False)


CONVERTERS: dict[Conversion, Callable[[Any], ConvertedValues]] = {
    Conversion.TEXTS: _texts,
    Conversion.DOUBLES: _each(to_double),
    Conversion.BOOLEANS: _each(to_boolean),
    Conversion.TEXT: _one(str),
    Conversion.TEXT_OR_EMPTY: _one_or("", str),
    Conversion.NUMBER: _one_or(NAN, _number),
    Conversion.DOUBLE: _one(to_double),
    Conversion.DECIMAL: _one(_to_decimal),
    Conversion.INTEGER: _one(_to_integer),
    Conversion.COUNT: lambda raw: ConvertedValues((len(raw),), False),
    Conversion.LENGTH: _one_or(0, len),
    Conversion.ITEM_TEXT: _item(_item_text),
    Conversion.ITEM_TEXT_OR_EMPTY: _item_text_or_empty,
    Conversion.ITEM_NUMBER: _item(_item_number),
    Conversion.ITEM_DOUBLE: _item(_item_double),
    Conversion.ITEM_BOOLEAN: _item(_item_boolean),
    Conversion.ITEM_AS_NUMBER: _item(_converted(to_double, _item_number)),
    Conversion.ITEM_AS_DOUBLE: _item(_converted(to_double, _item_double)),
    Conversion.ITEM_AS_BOOLEAN: _item(_converted(to_boolean, _item_boolean)),
    Conversion.ITEM_TRUTH: _item_truth,
}
