"""Items of the header that are lists: for a query each is one element without a type, whose text is that of all it holds.

Kept rule: the text is the one that the engine sees.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from postroad.core.exchange.slots import HeaderValue

_SPECIAL = {"inf": "INF", "-inf": "-INF", "nan": "NaN"}


class Untyped(str):
    """The text of a list."""

    __slots__ = ()


def untyped(items: list[HeaderValue] | tuple[HeaderValue, ...]) -> Untyped:
    return Untyped("".join(map(_text, items)))


def _text(item: HeaderValue) -> str:
    match item:
        case list() | tuple():
            return untyped(item)
        case bool():
            return "true" if item else "false"
        case float():
            return _SPECIAL.get(repr(item), repr(item))
        case Decimal():
            return format(item, "f")
        case date():
            return item.isoformat()
        case _:
            return str(item)
