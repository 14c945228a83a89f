"""The base types of everything that the HTTP API returns.

A resource is encoded by the server as it is, decoded by the SDK into the same type, and described in OpenAPI from its
annotations; ``Meta(description=…)`` documents a field.

Rule: unknown fields are ignored when a resource is decoded, so that an older SDK reads the answers of a newer network.
A default is what a newer SDK reads in the answer of an older network that lacks the field; the server sends every
field, except those that are ``UNSET``, and defaults of types with ``omit_defaults``.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, Generic, TypeVar

from msgspec import UNSET, Meta, Struct

Item = TypeVar("Item")


class Resource(Struct, rename="camel", kw_only=True):
    """A response body or a part of one; fields are attributes, or items by their names in JSON.

    Subclasses set ``kw_only=True`` themselves; it is not inherited.
    """

    def __getitem__(self, name: str) -> Any:
        """Return a field by its name in JSON: ``batch["openedAt"]`` is ``batch.opened_at``."""
        found: Any = UNSET
        if name in self.__struct_encode_fields__:
            found = getattr(self, self.__struct_fields__[self.__struct_encode_fields__.index(name)])
        elif name == self.__struct_config__.tag_field:
            found = self.__struct_config__.tag
        if found is UNSET:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def keys(self) -> list[str]:
        """Return the names of the fields in JSON, so that ``dict(batch)`` and ``{**batch}`` work."""
        tag = self.__struct_config__.tag_field
        fields = zip(self.__struct_encode_fields__, self.__struct_fields__, strict=True)
        return [*([tag] if tag else ()), *(name for name, field in fields if getattr(self, field) is not UNSET)]

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field by its name in JSON, or the default if there is no such field."""
        try:
            return self[name]
        except KeyError:
            return default


class Page(Resource, Generic[Item], kw_only=True, omit_defaults=True):
    """One page of a list; ``next`` is the cursor of the next page, and left out on the last one."""

    items: list[Item]
    next: str | None = None


Built = TypeVar("Built", bound=Resource)


def build_resource(kind: type[Built], model: object, **computed: Any) -> Built:
    """Build a resource whose fields are attributes of the model by the same names, except for those that are computed."""
    copied = {name: getattr(model, name) for name in kind.__struct_fields__ if name not in computed}
    return kind(**copied, **computed)


def one_of(*values: str | Enum) -> Meta:
    """Return the annotation of a text with known values; a newer network may send others, which are read all the same."""
    return Meta(extra_json_schema={"enum": [one.value if isinstance(one, Enum) else one for one in values]})


def resource_types(base: type[Resource] = Resource) -> Iterator[type[Resource]]:
    """Yield all types of resources that have been imported, each once."""
    for one in base.__subclasses__():
        yield one
        yield from resource_types(one)
