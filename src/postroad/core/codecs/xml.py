"""The one safe XML parser of the project; nothing else may touch lxml or expat.

Rules: no DTD, so no entities and nothing external. Only known encodings are accepted, and converted to UTF-8 before
parsing. Depth, elements and attributes are limited, and proved by counting bytes where that suffices. What libxml2
caches of documents is freed with them (``xml_names``). ``parse`` builds a tree; ``new_scanner`` returns the expat
parser with which the SOAP codec reads an envelope and finds byte positions in it.

A usual document is read once, by libxml2, which itself refuses documents that are malformed or too deep. A document that
begins unusually, about which libxml2 complains, or whose counts do not prove the limits, is also scanned by expat.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any
from xml.parsers import expat

from lxml import etree

from postroad.core.codecs.lexical import check_size
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.refusals import malformed, too_complex
from postroad.core.codecs.xml_names import SMALL, EachThread, KeptParser, build_with_own_names
from postroad.errors import Refused

SEPARATOR = "}"  # expat reports a name as "namespace}local"

_ENCODING = re.compile(rb"""<\?xml\s[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.-]*)["']""", re.ASCII)
_DECLARATION = re.compile(r"<\?xml\s[^>]*\?>")
_USUAL = (b'<?xml version="1.0" encoding="UTF-8"?>', b"<soap", b'<?xml version="1.0" encoding="utf-8"?>')
_UTF_8 = frozenset({"utf-8", "utf8"})
_UTF_16 = frozenset({"utf-16", "utf-16le", "utf-16be", "ucs-2"})
_TRANSCODED = {
    "us-ascii": "ascii", "ascii": "ascii",
    "iso-8859-1": "latin-1", "latin1": "latin-1", "latin-1": "latin-1",
    "windows-1252": "cp1252", "cp1252": "cp1252",
}  # fmt: skip
_UTF_16_STARTS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"<\x00": "utf-16-le", b"\x00<": "utf-16-be"}

_EMBEDDED = WireLimits(xml_depth=240)  # leaves room for the envelope's own levels
_SHORT = 40_000
_USUAL_URI = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:(?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?=[/?#]|\Z)|(?!//))"
    r"(?:[A-Za-z0-9._~/!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*(?:\?[A-Za-z0-9._~/?!$&'()*+,;=:@-]*)?(?:#[A-Za-z0-9._~/?!$&'()*+,;=:@-]*)?"
    r"|[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*"
)

_BEGINNING = re.compile(
    rb"""(?:<\?xml\ version=["']1\.0["'](?:\ encoding=["'](?:UTF|utf)-8["'])?(?:\ standalone=["'](?:yes|no)["'])?\ ?\?>)?"""
    rb"""\s*<[A-Za-z_]""",
    re.VERBOSE,
)  # matches a document that starts with its root, so that no document type can follow
_LIBXML2_DEPTH = 256  # which it refuses to pass by itself
_FEW_NAMESPACES = 16
_ATTRIBUTE_BYTES = 5  # at least: a space and a=""

Tree = etree._Element
Scanner = expat.XMLParserType


def to_utf8(body: bytes) -> bytes:
    """The document in UTF-8. A declared encoding that the bytes contradict, or that we do not know, is refused."""
    if body.startswith(_USUAL):
        return body
    if body.startswith(b"\xef\xbb\xbf"):
        body = body[3:]
    if not body.startswith(b"<?xml"):
        codec = _UTF_16_STARTS.get(body[:2])
        return body if codec is None else _transcoded(body, codec)
    declared = _ENCODING.match(body)
    name = declared.group(1).decode().lower() if declared else "utf-8"
    if name in _UTF_8:
        return body
    if name in _UTF_16:
        raise malformed(f"the XML declares {name} but has another encoding; declare the actual encoding", "line 1")
    if name not in _TRANSCODED:
        raise malformed(f"the encoding {name[:40]} is not accepted; use UTF-8", "line 1")
    return _transcoded(body, _TRANSCODED[name])


def _transcoded(body: bytes, codec: str) -> bytes:
    try:
        text = body.decode(codec)
    except UnicodeDecodeError as fault:
        raise malformed(f"byte {fault.start} is not {codec}; declare the actual encoding") from None
    declared = _ENCODING.match(text[:200].encode("ascii", "replace")) if codec.startswith("utf-16") else None
    if declared and declared.group(1).decode().lower() not in _UTF_16:
        raise malformed("the XML is in UTF-16 but declares another encoding", "line 1")
    declaration = _DECLARATION.match(text)  # only at the start: a search could take very long
    text = text[declaration.end() :] if declaration else text
    return text.encode("utf-8", "surrogatepass")  # what is no character at all is refused by the parser


def _refuse_doctype(*_: object) -> None:
    raise Refused(
        "wire.forbidden-markup", "document type declarations and entities are not allowed; remove the DOCTYPE"
    )


def new_scanner(*, namespaces: bool = True) -> Scanner:
    """An expat parser for UTF-8 bytes that refuses any document type declaration."""
    scanner = expat.ParserCreate("utf-8", SEPARATOR) if namespaces else expat.ParserCreate("utf-8")
    scanner.StartDoctypeDeclHandler = _refuse_doctype
    return scanner


def run_scanner(scanner: Scanner, utf8: bytes) -> None:
    """Feed the whole document; not being well-formed is a refusal that names line and column."""
    try:
        scanner.Parse(utf8, True)
    except expat.ExpatError as fault:
        pointer = f"line {fault.lineno}, column {fault.offset + 1}"
        raise malformed(f"the XML is not well-formed: {expat.ErrorString(fault.code)}", pointer) from None


def counts_are_harmless(utf8: bytes, limits: WireLimits) -> bool:
    """Whether counting bytes alone proves that no limit on depth, elements or attributes can be passed."""
    tags = utf8.count(b"<")
    return tags <= limits.xml_depth and tags <= limits.xml_elements and _tags_are_narrow(utf8, limits)


class ComplexityCounter:
    """Counts while a scanner runs, and refuses documents that are too deep, too long or too wide."""

    __slots__ = ("_declarations", "_depth", "_elements", "_limits")

    def __init__(self, limits: WireLimits) -> None:
        self._limits = limits
        self._depth = self._elements = self._declarations = 0

    def attach(self, scanner: Scanner) -> None:
        scanner.StartNamespaceDeclHandler = self.add_prefix
        scanner.StartElementHandler = self.start_element
        scanner.EndElementHandler = self.end_element

    def add_prefix(self, _prefix: str | None, _uri: str | None) -> None:
        self._declarations += 1
        if self._declarations > self._limits.xml_attributes:
            raise complexity_refusal(self._limits)

    def start_element(self, _name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._elements += 1
        width = self._declarations + len(attributes)
        self._declarations = 0
        limits = self._limits
        if self._depth > limits.xml_depth or self._elements > limits.xml_elements or width > limits.xml_attributes:
            raise complexity_refusal(limits)

    def end_element(self, _name: str) -> None:
        self._depth -= 1


def complexity_refusal(limits: WireLimits) -> Refused:
    return too_complex(
        f"the XML is too complex; at most {limits.xml_depth} levels, {limits.xml_elements} elements "
        f"and {limits.xml_attributes} attributes on one element are allowed",
    )


def check_well_formed(utf8: bytes, limits: WireLimits = DEFAULT_LIMITS) -> None:
    """Refuse XML that is malformed, misuses namespaces, or exceeds a limit."""
    scanner = new_scanner()
    if not counts_are_harmless(utf8, limits):
        ComplexityCounter(limits).attach(scanner)
    run_scanner(scanner, utf8)


class _Enough(Exception):
    """Raised when enough of a document has been read."""


def first_elements(beginning: bytes, most: int) -> list[str]:
    """Return the names of at most ``most`` first elements of a document, of which only the beginning is needed.

    Used to recognise documents, so a document type is skipped and nothing is refused: the list ends where the given bytes
    end or cannot be parsed. It also ends at an entity declaration, because entities are never expanded.
    """
    names: list[str] = []

    def started(name: str, _attributes: dict[str, str]) -> None:
        names.append(name)
        if len(names) >= most:
            raise _Enough

    def stop(*_: object) -> None:
        raise _Enough

    scanner = expat.ParserCreate("utf-8", SEPARATOR)
    scanner.StartElementHandler = started
    scanner.EntityDeclHandler = stop
    with suppress(_Enough, expat.ExpatError, Refused):
        scanner.Parse(to_utf8(beginning), False)
    return names


class _Portability(ComplexityCounter):
    """Refuses complex documents, and namespace names that parsers read differently."""

    __slots__ = ()

    def add_prefix(self, prefix: str | None, uri: str | None) -> None:
        super().add_prefix(prefix, uri)
        if uri and not _USUAL_URI.fullmatch(uri):
            raise malformed("a namespace name is not a valid URI")


def is_embeddable(data: bytes) -> bool:
    """Return True if the bytes can be embedded in another XML document unchanged, for every parser.

    A document that only some parsers take would make a whole answer unreadable for the others, so it is carried as text.
    """
    if data[:1] != b"<" or data[-1:] != b">" or data[1:2] in (b"!", b"?"):
        return False
    scanner = new_scanner()
    portability = _Portability(_EMBEDDED)
    scanner.StartNamespaceDeclHandler = portability.add_prefix
    if not counts_are_harmless(data, _EMBEDDED):
        portability.attach(scanner)
    try:
        run_scanner(scanner, data)
        if len(data) > _SHORT:
            parse(data, _EMBEDDED)  # libxml2 limits the length of names and texts
    except Refused:
        return False
    return True


def parse(body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> Tree:
    """The root element of a document of unknown origin, comments and processing instructions left out."""
    return _parsed(body, limits, _built_alone)


def parse_for_this_thread(body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> Tree:
    """Parses a document for use in this thread only; cheaper than ``parse`` for small documents."""
    return _parsed(body, limits, _built_here if len(body) <= SMALL else _built_alone)


_Build = Callable[[bytes], tuple[Tree, bool]]  # with it, whether libxml2 complained of anything


def _parsed(body: bytes, limits: WireLimits, build: _Build) -> Tree:
    check_size(body, limits)
    utf8 = to_utf8(body)
    scanned = not _is_usual(utf8, limits)
    if scanned:
        check_well_formed(utf8, limits)
    try:
        root, complained = build(utf8)
    except etree.XMLSyntaxError as fault:
        check_well_formed(utf8, limits)
        raise malformed(f"the XML is not well-formed: {fault.msg}", f"line {fault.lineno}") from None
    # lxml accepts a document with an undeclared prefix if a harmless complaint follows.
    if not scanned and (complained or not _is_narrow(root, utf8, limits)):
        check_well_formed(utf8, limits)
    return root


def _new_parser() -> etree.XMLParser:
    return etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False,
        attribute_defaults=False, huge_tree=False, remove_comments=True, remove_pis=True, collect_ids=False,
    )  # fmt: skip


_kept = EachThread(partial(KeptParser, _new_parser))


def _built_here(utf8: bytes) -> tuple[Tree, bool]:
    kept = _kept.own
    parser = kept.take(len(utf8))
    root = etree.fromstring(utf8, parser)
    kept.give_back(parser)
    return root, len(parser.error_log) > 0


def _built_alone(utf8: bytes) -> tuple[Tree, bool]:
    def built() -> tuple[Tree, bool]:
        parser = _new_parser()
        return etree.fromstring(utf8, parser), len(parser.error_log) > 0

    return build_with_own_names(built)


def _is_usual(utf8: bytes, limits: WireLimits) -> bool:
    """Whether libxml2 alone refuses all that is to be refused, wide elements aside."""
    if _BEGINNING.match(utf8) is None or b"\x00" in utf8:
        return False
    enough = limits.xml_elements if limits.xml_depth >= _LIBXML2_DEPTH else min(limits.xml_elements, limits.xml_depth)
    return len(utf8) < 4 * enough or utf8.count(b"<") <= enough  # an element has 4 bytes


def _is_narrow(root: Tree, utf8: bytes, limits: WireLimits) -> bool:
    """Whether it is proved that no element has too many attributes, namespace declarations included."""
    most = limits.xml_attributes
    if _tags_are_narrow(utf8, limits):
        return True
    return most > _FEW_NAMESPACES >= utf8.count(b"xmlns") and not _wider_than(most - _FEW_NAMESPACES)(root)


def _tags_are_narrow(utf8: bytes, limits: WireLimits) -> bool:
    """Whether no tag has room for too many attributes, or there are too few of them in all."""
    most = limits.xml_attributes
    return _tags_are_shorter(utf8, most * _ATTRIBUTE_BYTES) or utf8.count(b"=") <= most


def _tags_are_shorter(utf8: bytes, length: int) -> bool:
    """Return True if every ``<`` is followed by another within this length, which bounds the length of tags."""
    at, last = 0, len(utf8) - length
    while 0 <= at <= last:
        at = utf8.rfind(b"<", at + 1, at + length)
    return at >= 0


@lru_cache(maxsize=8)
def _wider_than(attributes: int) -> etree.XPath:
    return etree.XPath(f"boolean(//@*[{attributes + 1}])")


def compile_finder(path: str) -> Callable[[Tree], Any]:
    """Compile a trusted XPath to a function that returns the elements or attribute values found from an element."""
    return etree.XPath(path, smart_strings=False)


def serialize(root: Tree) -> bytes:
    """The element as UTF-8 bytes without an XML declaration."""
    return etree.tostring(root, encoding="utf-8", xml_declaration=False)
