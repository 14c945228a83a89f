"""The key of a location, under which its values are cached and explained.

Rule: a location has one key, wherever it is written.
"""

from __future__ import annotations

from msgspec.json import encode

from postroad.core.model.rule import ValueLocation


def place_key(place: ValueLocation) -> str:
    """Return the key of a location: its text, followed by whatever else distinguishes it from others."""
    rest = {
        "document": place.document,
        "namespaces": dict(sorted(place.namespaces)),
        "schema": place.schema,
    }
    given = {name: value for name, value in rest.items() if value}
    return f"{place.where.value} {place.path}" + (f" {encode(given).decode()}" if given else "")
