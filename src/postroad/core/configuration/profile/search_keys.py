"""The search keys of a service as people write them: a name and a location in the message.

Rule: sender and receivers may both know a declared key; so of the header only properties are allowed, and never other
recipients.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Self

from pydantic import Field, StrictStr, StringConstraints, model_validator

from postroad.core.configuration.entries.rules import PlaceEntry
from postroad.core.model.directory import SearchKey
from postroad.core.model.rule import MessageSection
from postroad.core.routing.conditions.places import lookup_of
from postroad.errors import Refused

MAX_BUSINESS_KEYS = 20
PROPERTY = re.compile(r"properties\..")
KeyName = Annotated[StrictStr, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9._-]{0,63}$")]


class IndexEntry(PlaceEntry):
    """Where the key stands: a path into documents or attachments, or a property of the header."""

    @model_validator(mode="before")
    @classmethod
    def check_place(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            raise ValueError("specify where the key is, such as {body: /order/number} or {header: properties.region}")
        return given

    @model_validator(mode="after")
    def check_lookup(self) -> Self:
        if self.header is not None and not PROPERTY.match(self.header):
            raise ValueError("header indexes can only use properties; write header: properties.NAME")
        if self.schema_:
            raise ValueError("indexes do not support schema; remove it")
        try:
            lookup_of(self.place())
        except Refused as refusal:
            raise ValueError(refusal.detail) from None
        return self


Indexes = Annotated[
    dict[KeyName, IndexEntry],
    Field(
        max_length=MAX_BUSINESS_KEYS,
        description="Search keys of its messages: name and location of each",
    ),
]


def search_keys_of(indexes: dict[str, IndexEntry]) -> tuple[SearchKey, ...]:
    return tuple([SearchKey(name=name, place=entry.place()) for name, entry in indexes.items()])


def indexes_entry(keys: tuple[SearchKey, ...]) -> dict[str, Any]:
    """Return search keys in the file format, without default values."""
    return {key.name: _written(key) for key in keys}


def _written(key: SearchKey) -> dict[str, Any]:
    place = key.place
    written: dict[str, Any] = {MessageSection(place.where).value: place.path}
    if place.document:
        written["document"] = place.document
    if place.namespaces:
        written["namespaces"] = dict(place.namespaces)
    return written
