"""The base type of everything that the HTTP API returns.

A resource is encoded by the server as it is, decoded by the SDK into the same type, and described in OpenAPI from its
annotations; ``Meta(description=…)`` documents a field.

Rule: unknown fields are ignored when a resource is decoded, so that an older SDK reads the answers of a newer network.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import fields


class Resource(Struct, rename="camel", kw_only=True):
    """A response body or a part of one; fields are attributes, or items by their names in JSON.

    Subclasses set ``kw_only=True`` themselves; it is not inherited.
    """

    def __getitem__(self, name: str) -> Any:
        """Return a field by its name in JSON: ``batch["openedAt"]`` is ``batch.opened_at``."""
        for one in fields(self):
            if one.encode_name == name:
                return getattr(self, one.name)
        raise KeyError(name)


def resource_types(base: type[Resource] = Resource) -> Iterator[type[Resource]]:
    """Yield all types of resources that have been imported, each once."""
    for one in base.__subclasses__():
        yield one
        yield from resource_types(one)
