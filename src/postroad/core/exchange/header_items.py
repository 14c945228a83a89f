"""The items of a message's header as queries and scripts know them: variables by name, each of its type.

Properties come under their own names. What the network itself says of a message comes before a property of the same name:
``routing_key`` and ``topic`` (the same), ``sender``, ``type`` and ``handle``.
Kept rule: whatever a message may carry becomes an item, at once: a number whose digits would fill pages is a double.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal

from postroad.core.exchange.slots import ROUTING_KEY
from postroad.core.model.message import Property, PropertyType

TypedItem = str | bool | int | Decimal | float | datetime | date

DATE_CHARS = len("2026-11-16")
EXPONENT_CHARS = 3  # in ten characters a number can have a thousand million digits


def header_items(
    properties: Iterable[Property], *, topic: str = "", sender: str = "", type: str = "", handle: str = ""
) -> dict[str, TypedItem]:
    items: dict[str, TypedItem] = {one.name: _typed(one) for one in properties}
    return items | {ROUTING_KEY: topic, "topic": topic, "sender": sender, "type": type, "handle": handle}


def _typed(given: Property) -> TypedItem:
    match given.type:
        case PropertyType.BOOLEAN:
            return given.value in ("true", "1")
        case PropertyType.NUMBER:
            return _number(given.value)
        case PropertyType.DATE:
            if len(given.value) == DATE_CHARS:
                return date.fromisoformat(given.value)
            return datetime.fromisoformat(given.value.upper())  # t and z may be small on the wire
    return given.value


def _number(text: str) -> int | Decimal | float:
    if len(text.casefold().partition("e")[2].lstrip("+-0")) > EXPONENT_CHARS:
        return float(text)
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() and "." not in text else number
