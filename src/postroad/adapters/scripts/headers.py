"""Header items, properties and the routing key as Starlark values for scripts.

Rule: no name is left out. A decimal number becomes a float; a moment or a day its ISO text (moments in UTC, so that
texts sort like moments); a whole number over 64 bits a float; and a float that is not finite None.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from math import isfinite

from postroad.adapters.scripts.frames import Plain
from postroad.ports import ItemValue

_LARGEST = 2**63
_NO_CHARACTER = "utf-8", "replace"


def to_starlark_headers(items: Mapping[str, ItemValue]) -> dict[str, Plain]:
    return {_text(name): _plain(value) for name, value in items.items()}


def _plain(value: ItemValue) -> Plain:
    match value:
        case str():
            return _text(value)
        case bool():
            return value
        case int():
            return value if -_LARGEST <= value < _LARGEST else _finite(value)
        case Decimal() | float():
            return _finite(value)
        case datetime():
            return _moment(value)
        case date():
            return value.isoformat()
        case _:
            return [_plain(one) for one in value]


def _finite(value: int | float | Decimal) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None


def _moment(value: datetime) -> str:
    try:
        utc = value.astimezone(UTC) if value.tzinfo else value
    except OverflowError:  # in the first or last hours of all years, which are in another year there
        return value.isoformat()
    return utc.isoformat().removesuffix("+00:00") + "Z"


def _text(text: str) -> str:
    """Without lone surrogates, which are no characters."""
    return text.encode(*_NO_CHARACTER).decode()
