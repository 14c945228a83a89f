"""Compiled locations: functions that find the content of a location in a message.

Rule: a location has one key, wherever it is written, under which its values are cached and explained.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec.json import encode

from postroad.core.codecs.xml import Tree
from postroad.core.model.rule import MessageSection, ValueLocation
from postroad.core.routing.conditions.header import header_item
from postroad.core.routing.conditions.place_content import PlaceContent
from postroad.core.routing.paths.json_path import read_json_path
from postroad.core.routing.paths.schema_defaults import DoctypeDefaults
from postroad.core.routing.paths.xml_path import Equality, Finds, XmlPath, read_xml_path
from postroad.core.routing.paths.xml_walk import Attributes
from postroad.errors import Refused

if TYPE_CHECKING:
    from postroad.core.routing.conditions.subject import Subject


PLACES_CACHED = 10_000


def place_key(place: ValueLocation) -> str:
    """Return the key of a location: its text, followed by whatever else distinguishes it from others.

    Rule: a location has one key, wherever it is written.
    """
    rest = {
        "document": place.document,
        "namespaces": dict(sorted(place.namespaces)),
        "schema": place.schema,
    }
    given = {name: value for name, value in rest.items() if value}
    return f"{place.where.value} {place.path}" + (f" {encode(given).decode()}" if given else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """A compiled location."""

    key: str
    find: Callable[[Subject], PlaceContent]
    names: bool = False  # its values name services or organizations; case is ignored
    in_documents: bool = False  # so all services see the same values …
    by_schema: bool = False  # … except services whose schemas set default attributes


@lru_cache(maxsize=PLACES_CACHED)
def lookup_of(place: ValueLocation) -> Lookup:
    """Compile a location; raises Refused with the reason if it is invalid."""
    if place.where is MessageSection.HEADER:
        return _header(place)
    if place.path.startswith("/"):
        return _xml(place)
    if place.path.startswith("$"):
        return _json(place)
    raise Refused("rule.invalid", "a path starts with / for XML documents or with $ for JSON documents")


def _header(place: ValueLocation) -> Lookup:
    item = header_item(place.path)
    if item is None:
        raise Refused(
            "rule.invalid", f"the header has no field {place.path[:80]!r}; use one such as topic or properties.NAME"
        )
    if place.document or place.namespaces or place.schema:
        raise Refused("rule.invalid", "document, namespaces and schema apply only to paths into documents; remove them")
    look = item.look
    return Lookup(key=place_key(place), find=lambda subject: look(subject.view), names=item.names)


def _xml(place: ValueLocation) -> Lookup:
    path = read_xml_path(place.path, dict(place.namespaces))
    key = place_key(place)
    if not _reads_attributes(path):
        return Lookup(key=key, find=lambda subject: subject.documents.xml(place, path, _no_defaults), in_documents=True)

    def find(subject: Subject) -> PlaceContent:
        def defaults_of(root: Tree, doctyped: DoctypeDefaults | None) -> Attributes | None:
            return subject.default_attributes.attributes(place.schema, root.tag, doctyped)

        return subject.documents.xml(place, path, defaults_of)

    return Lookup(key=key, find=find, in_documents=True, by_schema=True)


def _no_defaults(_root: Tree, _doctyped: DoctypeDefaults | None) -> None:
    return None


def _reads_attributes(path: XmlPath) -> bool:
    predicates = (predicate for step in path.steps for predicate in step.predicates)
    return path.finds is Finds.ATTRIBUTES or any(
        isinstance(predicate, Equality) and predicate.attribute for predicate in predicates
    )


def _json(place: ValueLocation) -> Lookup:
    if place.namespaces or place.schema:
        raise Refused("rule.invalid", "namespaces and schema apply only to paths into XML documents; remove them")
    path = read_json_path(place.path)
    return Lookup(key=place_key(place), find=lambda subject: subject.documents.json(place, path), in_documents=True)
