"""The documents of one message, parsed on first use and at most once.

Rule: a document that cannot be parsed has no nodes; this is recorded, not raised, because the sender
is responsible for the contents of its documents.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

from postroad.core.codecs.parts import looks_like_json, looks_like_xml
from postroad.core.codecs.recent_trees import tree_of
from postroad.core.codecs.xml import Tree, to_utf8
from postroad.core.model.message import Part
from postroad.core.model.rule import MessageSection, ValueLocation
from postroad.core.routing.budget import CHARS_A_STEP, Budget, Write
from postroad.core.routing.conditions.canonical_content import json_content, json_text, xml_content
from postroad.core.routing.conditions.json_reader import read_json
from postroad.core.routing.conditions.place_content import NO_CONTENT, PlaceContent
from postroad.core.routing.conditions.places import place_key
from postroad.core.routing.paths.json_path import JsonPath, select_json
from postroad.core.routing.paths.schema_defaults import DoctypeDefaults
from postroad.core.routing.paths.xml_path import Finds, XmlPath
from postroad.core.routing.paths.xml_walk import Attributes, Look, TooManyNodes, select_elements, select_texts
from postroad.core.schemas.doctype import read_doctype
from postroad.core.schemas.dtd_defaults import read_internal_subset
from postroad.errors import Refused

_PLAIN: Attributes = attrgetter("attrib")

# Returns how attributes of a document are read, given its root and its document type declaration.
DefaultsOf = Callable[[Tree, DoctypeDefaults | None], Attributes | None]


UNREADABLE = object()  # marks a document that cannot be parsed


class MessageDocuments:
    """The parsed documents of a message, shared by all views of it."""

    __slots__ = ("_doctypes", "_elements", "_meant", "_read", "budget", "faults", "overfull", "parts", "shares")

    def __init__(self, parts: tuple[Part, ...], budget: Budget | None = None) -> None:
        self.parts = parts
        self.faults: list[str] = []
        self.overfull: dict[str, str] = {}  # errors of locations with too many nodes, by location key
        self.budget = budget or Budget()
        self.shares = self.budget.share_of("")  # the share of the service whose rules are evaluated
        self._elements: dict[str, int] = {}  # number of elements of XML documents, by id
        self._read: dict[str, Any] = {}  # by id
        self._doctypes: dict[str, DoctypeDefaults] = {}  # the same
        self._meant: dict[tuple[str, str, str], list[tuple[Part, Any]]] = {}  # by kind, ``where``, and id or ""

    def xml(self, place: ValueLocation, path: XmlPath, defaults_of: DefaultsOf) -> PlaceContent:
        """Return what an XML path finds in all documents it applies to."""
        meant = self._meant.get(("/", place.where, place.document)) or self._find_meant("/", place)
        found = []
        for part, root in meant:
            try:
                if path.walks:
                    self.shares.look(path.walks * self._size(part, root) // 2)
                attributes = defaults_of(root, self._doctypes.get(part.id)) or _PLAIN
                found.append(_from_xml(root, path, attributes, self._canonical, self.shares.look))
            except TooManyNodes:
                self._note_too_many(place, part)
        return found[0] if len(found) == 1 else _combine(found)

    def json(self, place: ValueLocation, path: JsonPath) -> PlaceContent:
        meant = self._meant.get(("$", place.where, place.document)) or self._find_meant("$", place)
        found = []
        for part, value in meant:
            try:
                found.append(_from_json(value, path, self._canonical, self.shares.look))
            except TooManyNodes:
                self._note_too_many(place, part)
        return _combine(found)

    def note(self, fault: str) -> None:
        if fault not in self.faults:
            self.faults.append(fault)

    def _note_too_many(self, place: ValueLocation, part: Part) -> None:
        if not self.shares.is_looked_up:
            self.overfull[place_key(place)] = f"{place.path} selects too many nodes of {part.id}"

    def _size(self, part: Part, root: Tree) -> int:
        """Return the number of elements in the document; counted once."""
        if part.id not in self._elements:
            self._elements[part.id] = sum(1 for _ in root.iter())
            self.budget.spend(self._elements[part.id] // 2)
        return self._elements[part.id]

    def _find_meant(self, kind: str, place: ValueLocation) -> list[tuple[Part, Any]]:
        """Return the parsed documents of a kind that a location applies to: the one it names, or all."""
        fits, read = _KINDS[kind]
        attachment = place.where is MessageSection.ATTACHMENT
        meant = [
            (part, self._tried(part, read))
            for part in self.parts
            if part.attachment is attachment and place.document in ("", part.id) and fits(part)
        ]
        readable = [(part, value) for part, value in meant if value is not UNREADABLE]
        self._meant[kind, place.where, place.document] = readable
        return readable

    def _tried(self, part: Part, read: Callable[[bytes], Any]) -> Any:
        if part.id not in self._read:
            self.budget.spend(len(part.data) // CHARS_A_STEP)
            try:
                self._read[part.id] = read(self._plain(part) if read is tree_of else part.data)
            except Refused as refusal:
                self.note(f"{part.id} cannot be read: {refusal.detail}")
                self._read[part.id] = UNREADABLE
        return self._read[part.id]

    def _plain(self, part: Part) -> bytes:
        """Return an XML document without its document type declaration; the declared default attributes are kept."""
        if b"<!DOCTYPE" not in part.data:
            return part.data
        doctype = read_doctype(to_utf8(part.data))
        self._doctypes[part.id] = DoctypeDefaults(doctype.system_id, read_internal_subset(doctype.internal))
        return doctype.document

    def _canonical(self, write: Write, most: int) -> str:
        return self.shares.canonical(write, most)


_Share = Callable[[Write, int], str]


def _from_xml(root: Tree, path: XmlPath, attributes: Attributes, share: _Share, look: Look) -> PlaceContent:
    if path.finds is not Finds.ELEMENTS:
        return PlaceContent(tuple(select_texts(root, path, attributes, look)))
    elements = select_elements(root, path, attributes, look)
    leaves = tuple([element.text or "" for element in elements if len(element) == 0])
    if len(leaves) == len(elements):
        return PlaceContent(leaves)
    contents = tuple(partial(share, partial(xml_content, element)) for element in elements if len(element))
    return PlaceContent(leaves, contents=contents)


_KINDS: dict[str, tuple[Callable[[Part], bool], Callable[[bytes], Any]]] = {
    "/": (looks_like_xml, tree_of),
    "$": (looks_like_json, read_json),
}


def _from_json(value: object, path: JsonPath, share: _Share, look: Look) -> PlaceContent:
    nodes = select_json(value, path, look)
    leaves = tuple(json_text(node) for node in nodes if not isinstance(node, (dict, list)))
    contents = tuple(partial(share, partial(json_content, node)) for node in nodes if isinstance(node, (dict, list)))
    return PlaceContent(leaves, contents=contents)


def _combine(found: list[PlaceContent]) -> PlaceContent:
    if len(found) == 1:
        return found[0]
    if not found:
        return NO_CONTENT
    return PlaceContent(
        tuple(text for one in found for text in one.texts),
        contents=tuple(content for one in found for content in one.contents),
    )
