"""Values in an XML document, found by a path and replaced in place.

Rule: everything that is not replaced stays the same byte for byte: comments, white space, prefixes, the declaration.
So the tree is used only to find values; the change is made in the bytes, at the positions that a second pass reports.
(A document in another encoding is converted to UTF-8 first.)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from postroad.core.codecs.lexical import NOT_XML
from postroad.core.codecs.xml import Scanner, Tree, new_scanner, parse_for_this_thread, run_scanner, to_utf8
from postroad.core.routing.paths.xml_path import Finds, XmlPath, read_xml_path
from postroad.core.routing.paths.xml_walk import Attributes, TooManyNodes, matches_name, select_elements
from postroad.errors import Refused
from postroad.services.arguments import bad_argument

PATHS_KEPT = 1_000

_ATTRIBUTES: Attributes = attrgetter("attrib")
_TAG = re.compile(rb"""<([^\s/>]++)([^>"']*+(?:(?:"[^"]*+"|'[^']*+')[^>"']*+)*)>""")
_ATTRIBUTE = re.compile(rb"""([^\s=]+)\s*=\s*("[^"]*"|'[^']*')""")
_NAMESPACE = re.compile(rb"xmlns(?::|\Z)")


class ValueTarget(NamedTuple):
    """One value: its element's number in document order, the attribute or '', and the current text."""

    element: int
    attribute: str
    value: str


class ElementSpan(NamedTuple):
    """The byte range of an element; ``attributes`` are its names in written order."""

    start: int
    closing: int  # start of the next end tag; its own if it contains no elements
    attributes: tuple[str, ...]


Splice = tuple[int, int, bytes]


def parse_xml_path(path: str, namespaces: Mapping[str, str]) -> XmlPath:
    """Return the parsed path, cached across messages."""
    return _read_path(path, tuple(namespaces.items()))


@lru_cache(maxsize=PATHS_KEPT)
def _read_path(path: str, namespaces: tuple[tuple[str, str], ...]) -> XmlPath:
    return read_xml_path(path, dict(namespaces))


class XmlValues:
    """The values that a path selects in one document."""

    def __init__(self, data: bytes, path: str, namespaces: Mapping[str, str]) -> None:
        self._utf8 = to_utf8(data)
        self._targets = _targets(parse_for_this_thread(self._utf8), parse_xml_path(path, namespaces), path)

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(target.value for target in self._targets)

    def replace_values(self, replacements: Mapping[str, str | None]) -> bytes:
        """Return the document with new values; None removes a value, unnamed values stay."""
        concerned = [target for target in self._targets if target.value in replacements]
        spans = _spans(self._utf8, {target.element for target in concerned})
        splices = [self._splice(spans[one.element], one, replacements[one.value]) for one in concerned]
        return splice_bytes(self._utf8, splices)

    def _splice(self, span: ElementSpan, target: ValueTarget, text: str | None) -> Splice:
        tag = _TAG.match(self._utf8, span.start)
        if tag is None:
            raise AssertionError("expat reported a tag where there is none")
        if text is not None and NOT_XML.search(text):
            raise Refused(
                "value.invalid", "The new value has a character that XML does not allow; correct it at its source"
            )
        if target.attribute:
            return _attribute_splice(tag, span.attributes.index(target.attribute), text)
        if text is None:
            if target.element == 0:
                raise bad_argument("element", "The root of a document cannot be removed; select an element inside it")
            return tag.start(), _end(self._utf8, tag, span), b""
        if tag[2].endswith(b"/"):
            return tag.end() - 2, tag.end(), b">%s</%s>" % (escape_text(text), tag[1])
        return tag.end(), span.closing, escape_text(text)


def _targets(root: Tree, path: XmlPath, written: str) -> list[ValueTarget]:
    try:
        elements = select_elements(root, path, _ATTRIBUTES)
    except TooManyNodes:
        raise bad_argument("element", f"{written} selects too many elements; use a more precise path") from None
    numbers = _numbers(root, elements if path.finds is not Finds.ATTRIBUTES else set(_holders(elements, path)))
    if path.finds is Finds.ATTRIBUTES:
        return list(_attributes(_holders(elements, path), path.steps[-1].name, numbers))
    if any(len(element) for element in elements):
        raise bad_argument("element", f"{written} selects elements with child elements; select the one with the value")
    return [ValueTarget(numbers[element], "", element.text or "") for element in elements]


def _numbers(root: Tree, elements: Collection[Tree]) -> dict[Tree, int]:
    """Return the positions of these elements in document order."""
    wanted, numbers = set(elements), dict[Tree, int]()
    for number, element in enumerate(root.iter("*")):
        if len(numbers) == len(wanted):
            break
        if element in wanted:
            numbers[element] = number
    return numbers


def _holders(elements: list[Tree], path: XmlPath) -> Iterator[Tree]:
    """Return the elements whose attributes are selected, each once; ``//@id`` selects those of all descendants, too."""
    if not path.steps[-1].descends:
        yield from elements
        return
    seen: set[Tree] = set()
    for top in elements:
        for element in top.iter("*"):
            if element not in seen:
                seen.add(element)
                yield element


def _attributes(holders: Iterator[Tree], name: str, numbers: Mapping[Tree, int]) -> Iterator[ValueTarget]:
    for holder in holders:
        for found, value in holder.attrib.items():
            if matches_name(str(found), name):
                yield ValueTarget(numbers[holder], str(found), str(value))


def _spans(utf8: bytes, wanted: set[int]) -> dict[int, ElementSpan]:
    """Return the byte ranges of the elements with these numbers."""
    if not wanted:
        return {}
    recorder = _Recorder(new_scanner(), wanted)
    run_scanner(recorder.scanner, utf8)
    return recorder.spans


class _Recorder:
    """Records the byte ranges of elements during a scan, until all wanted ones are found."""

    __slots__ = ("_found", "_number", "_wanted", "scanner", "spans")

    def __init__(self, scanner: Scanner, wanted: set[int]) -> None:
        self._wanted = wanted
        self._number = -1  # of the latest start tag
        self._found: tuple[int, int, tuple[str, ...]] | None = None  # the open element
        self.spans: dict[int, ElementSpan] = {}
        self.scanner = scanner
        scanner.ordered_attributes = True
        scanner.StartElementHandler = self.start_element

    def start_element(self, _name: str, attributes: list[str]) -> None:
        self._number += 1
        if self._number in self._wanted:
            self._keep()  # of an outer element, of which only attributes are wanted
            self._found = (self._number, self.scanner.CurrentByteIndex, tuple(map(_qualified, attributes[::2])))
            self.scanner.EndElementHandler = self.end_element

    def end_element(self, _name: str) -> None:
        self.scanner.EndElementHandler = None
        self._keep()
        if len(self.spans) == len(self._wanted):
            self.scanner.StartElementHandler = None

    def _keep(self) -> None:
        if self._found is not None:
            number, start, names = self._found
            self.spans[number] = ElementSpan(start, self.scanner.CurrentByteIndex, names)
            self._found = None


def _qualified(name: str) -> str:
    return "{" + name if "}" in name else name


def _attribute_splice(tag: re.Match[bytes], place: int, text: str | None) -> Splice:
    written = [one for one in _ATTRIBUTE.finditer(tag[2]) if not _NAMESPACE.match(one[1])]
    at, offset = written[place], tag.start(2)
    if text is None:
        before = tag[2][: at.start()]
        return offset + len(before.rstrip()), offset + at.end(), b""
    return offset + at.start(2), offset + at.end(2), b'"%s"' % escape_text(text).replace(b'"', b"&quot;")


def _end(utf8: bytes, tag: re.Match[bytes], span: ElementSpan) -> int:
    return tag.end() if tag[2].endswith(b"/") else utf8.index(b">", span.closing) + 1


def escape_text(text: str) -> bytes:
    """Return the text escaped for element content, with line ends preserved."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")
    return plain.encode()


def splice_bytes(data: bytes, splices: list[Splice]) -> bytes:
    """Return the bytes with some ranges replaced; the ranges must not overlap."""
    pieces, position = [], 0
    for start, end, new in sorted(splices):
        pieces += [data[position:start], new]
        position = end
    return b"".join([*pieces, data[position:]])
