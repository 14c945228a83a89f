"""The key of a place: under it what was found there is remembered, and explained.

Rule: a place has one key, the same wherever it is written.
"""

from __future__ import annotations

from msgspec.json import encode

from postroad.core.model.rule import ValueLocation


def place_key(place: ValueLocation) -> str:
    """The key of a place: what it is in words, and behind that what else tells it apart from others."""
    rest = {
        "document": place.document,
        "namespaces": dict(sorted(place.namespaces)),
        "schema": place.schema,
    }
    given = {name: value for name, value in rest.items() if value}
    return f"{place.where.value} {place.path}" + (f" {encode(given).decode()}" if given else "")
