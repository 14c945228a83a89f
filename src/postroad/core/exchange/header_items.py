"""The header of a message as typed variables for queries and scripts.

Properties come under their own names. What the network itself says of a message comes before a property of the same name:
``routing_key`` and ``topic`` (the same), ``sender``, ``type`` and ``handle``.
Rule: whatever a message may carry becomes an item, at once: a number whose digits would fill pages is a double.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal

from postroad.core.codecs.property_values import items_of
from postroad.core.exchange.slots import ROUTING_KEY
from postroad.core.model.message import COLLECTIONS, Property, PropertyType

SingleItem = str | bool | int | Decimal | float | datetime | date
TypedItem = SingleItem | list[SingleItem] | tuple[SingleItem, ...]  # a list is an array, a tuple a sequence

DATE_CHARS = len("2026-11-16")
EXPONENT_CHARS = 3  # in ten characters a number can have a thousand million digits


def header_items(
    properties: Iterable[Property], *, topic: str = "", sender: str = "", type: str = "", handle: str = ""
) -> dict[str, TypedItem]:
    items: dict[str, TypedItem] = {one.name: _typed(one) for one in properties}
    return items | {ROUTING_KEY: topic, "topic": topic, "sender": sender, "type": type, "handle": handle}


def _typed(given: Property) -> TypedItem:
    if given.type in COLLECTIONS:
        items = [_single(kind, text) for kind, text in items_of(given)]
        return items if given.type is PropertyType.ARRAY else tuple(items)
    return _single(given.type, given.value)


def _single(kind: PropertyType, text: str) -> SingleItem:
    match kind:
        case PropertyType.BOOLEAN:
            return text in ("true", "1")
        case PropertyType.NUMBER:
            return _number(text)
        case PropertyType.DATE:
            if len(text) == DATE_CHARS:
                return date.fromisoformat(text)
            return datetime.fromisoformat(text.upper())  # t and z may be small on the wire
    return text


def _number(text: str) -> int | Decimal | float:
    if len(text.casefold().partition("e")[2].lstrip("+-0")) > EXPONENT_CHARS:
        return float(text)
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() and "." not in text else number
