"""Readings: what a comparison makes of the values in a slot, as XQuery does: texts, doubles, one decimal, how many …

A reading gives the values to compare and whether reading any of them was an error. ``a > 5`` reads all nodes as doubles, and
one that is no number is an error, unless another already makes it true; ``contains(a, 'x')`` wants one node at most. Kept
rule: reading never raises.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from typing import Any

import msgspec

from postroad.core.exchange.items import Untyped
from postroad.core.exchange.slots import HeaderValue, Raw

_DOUBLE = re.compile(r"[ \t\r\n]*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t\r\n]*").fullmatch
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_SPECIAL = {"INF": float("inf"), "+INF": float("inf"), "-INF": float("-inf"), "NaN": float("nan")}
_SPACE = " \t\r\n"
_PLAIN = "0123456789."
_DIGITS_MOST = 1_000  # more make no number that anyone means, and cost
NAN = float("nan")


class Values(msgspec.Struct, frozen=True, gc=False):
    values: Any  # a list or tuple of comparable values of one kind
    bad: bool


NOTHING = Values((), False)
ERROR = Values((), True)


class Reading(Enum):
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
    return Decimal(stripped) if len(stripped) <= _DIGITS_MOST and _DECIMAL.fullmatch(stripped) else None


def _to_integer(text: str) -> int | None:
    stripped = text.strip(_SPACE)
    return int(stripped) if len(stripped) <= _DIGITS_MOST and _INTEGER.fullmatch(stripped) else None


def _one(convert: Callable[[str], object]) -> Callable[[Raw], Values]:
    def read(raw: Any) -> Values:
        if len(raw) != 1:
            return ERROR if raw else NOTHING
        value = convert(raw[0])
        return ERROR if value is None else Values((value,), False)

    return read


def _each(convert: Callable[[str], object]) -> Callable[[Raw], Values]:
    def read(raw: Any) -> Values:
        if len(raw) == 1:
            value = convert(raw[0])
            return ERROR if value is None else Values((value,), False)
        values = [convert(text) for text in raw]
        if None in values:
            return Values([value for value in values if value is not None], True)
        return Values(values, False)

    return read


def _one_or(absent: object, convert: Callable[[str], object]) -> Callable[[Raw], Values]:
    def read(raw: Any) -> Values:
        if len(raw) > 1:
            return ERROR
        return Values((convert(raw[0]) if raw else absent,), False)

    return read


def _number(text: str) -> float:
    value = to_double(text)
    return NAN if value is None else value


def _item(takes: Callable[[HeaderValue], object]) -> Callable[[Raw], Values]:
    """Of a typed item: what it is, or an error if it is something else."""

    def read(raw: Any) -> Values:
        if not raw:
            return NOTHING
        value = takes(raw[0])
        return ERROR if value is None else Values((value,), False)

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
    return lambda value: convert(value) if isinstance(value, Untyped) else takes(value)


def _item_truth(raw: Any) -> Values:
    """A list is true, for it is an element; a moment or a day has no truth."""
    if not raw:
        return Values((False,), False)
    value = raw[0]
    if isinstance(value, Untyped):
        return Values((True,), False)
    plain = isinstance(value, str | bool) or _item_number(value) is not None
    return Values((value == value and bool(value),), False) if plain else ERROR  # NaN, which is unlike itself, is false


def _item_text_or_empty(raw: Any) -> Values:
    return _item(_item_text)(raw) if raw else Values(("",), False)


def as_double(number: int | Decimal | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _texts(raw: Any) -> Values:
    return Values(raw, False)


READ: dict[Reading, Callable[[Any], Values]] = {
    Reading.TEXTS: _texts,
    Reading.DOUBLES: _each(to_double),
    Reading.BOOLEANS: _each(to_boolean),
    Reading.TEXT: _one(str),
    Reading.TEXT_OR_EMPTY: _one_or("", str),
    Reading.NUMBER: _one_or(NAN, _number),
    Reading.DOUBLE: _one(to_double),
    Reading.DECIMAL: _one(_to_decimal),
    Reading.INTEGER: _one(_to_integer),
    Reading.COUNT: lambda raw: Values((len(raw),), False),
    Reading.LENGTH: _one_or(0, len),
    Reading.ITEM_TEXT: _item(_item_text),
    Reading.ITEM_TEXT_OR_EMPTY: _item_text_or_empty,
    Reading.ITEM_NUMBER: _item(_item_number),
    Reading.ITEM_DOUBLE: _item(_item_double),
    Reading.ITEM_BOOLEAN: _item(_item_boolean),
    Reading.ITEM_AS_NUMBER: _item(_converted(to_double, _item_number)),
    Reading.ITEM_AS_DOUBLE: _item(_converted(to_double, _item_double)),
    Reading.ITEM_AS_BOOLEAN: _item(_converted(to_boolean, _item_boolean)),
    Reading.ITEM_TRUTH: _item_truth,
}
