"""Header items that are lists: a query sees each as one untyped element with the text of all its values.

Rule: the text is the one that the engine sees.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from postroad.core.exchange.slots import HeaderValue

_SPECIAL = {"inf": "INF", "-inf": "-INF", "nan": "NaN"}


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
            return _SPECIAL.get(repr(item), repr(item))
        case Decimal():
            return format(item, "f")
        case date():
            return item.isoformat()
        case _:
            return str(item)
