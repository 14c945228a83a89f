"""Reads SOAP envelopes that are not operations of the network, without changing a byte.

The document of such an envelope is the child of its Body, extracted as a standalone document. Rules: an envelope with
more content than one Body child (header blocks, attributes, several children, a fault) is itself the document, so that
nothing is lost. The network's own header block, ``pr:Header``, is read and removed, because only the network uses it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.refusals import malformed
from postroad.core.codecs.soap import CLOSING, SOAP11, SoapCodec
from postroad.core.codecs.soap.fragment import make_standalone
from postroad.core.codecs.soap.names import network_name
from postroad.core.codecs.soap.recognition import VERSIONS
from postroad.core.codecs.xml import (
    SEPARATOR,
    ComplexityCounter,
    counts_are_harmless,
    new_scanner,
    run_scanner,
    to_utf8,
)
from postroad.core.model.message import Message
from postroad.errors import Refused

_TAG = re.compile(rb"""</?[^>"']*+(?:(?:"[^"]*+"|'[^']*+')[^>"']*+)*>""")
_NAME = re.compile(rb"<[^\s/>]++")
_NETWORK_HEADER = network_name("Header")
_SECTIONS: dict[tuple[str, ...], tuple[str, ...]] = {
    (): ("Header", "Body"),
    ("Header",): ("Body",),
}  # allowed successors of each element
BEHIND_ENVELOPE = ""  # the section for everything after the Body


class EnvelopeSpan(NamedTuple):
    """An element of the envelope: its name, the position of its first byte, and the position after its last byte."""

    name: str
    begin: int
    end: int


class ExternalEnvelope(NamedTuple):
    """A received envelope in UTF-8, with the positions of its header blocks and Body children."""

    version: SoapCodec
    utf8: bytes
    blocks: tuple[EnvelopeSpan, ...]  # of its Header
    children: tuple[EnvelopeSpan, ...]  # of its Body
    has_more: bool  # attributes, text, or elements after its Body, which SOAP 1.1 allows
    scopes: dict[str, dict[str, str]]  # the prefixes in scope in Header and Body

    @property
    def is_more_than_wrapper(self) -> bool:
        """Whether the envelope is more than a wrapper around one document."""
        if len(self.children) != 1 or self.has_more or self.child.name == f"{self.version.namespace}{SEPARATOR}Fault":
            return True
        return any(block.name != _NETWORK_HEADER for block in self.blocks)

    @property
    def child(self) -> EnvelopeSpan:
        return self.children[0]

    @property
    def document(self) -> bytes:
        """Return the child of the Body as a standalone document."""
        return make_standalone(self.utf8[self.child.begin : self.child.end], self.scopes["Body"])

    def untouched_from(self, document: bytes) -> int:
        """Return the position from which the document equals the envelope's bytes: after what was added to its first tag."""
        added = len(document) - (self.child.end - self.child.begin)
        name = _NAME.match(document)
        return name.end() + added if added and name is not None else 0

    @property
    def media_type(self) -> str:
        return "text/xml" if self.version is SOAP11 else "application/soap+xml"

    @property
    def _network_block(self) -> EnvelopeSpan | None:
        found = [block for block in self.blocks if block.name == _NETWORK_HEADER]
        if len(found) > 1:
            raise malformed("the header block Header of urn:postroad:message:1 occurs twice", "/Envelope/Header")
        return found[0] if found else None

    def network_header(self, limits: WireLimits = DEFAULT_LIMITS) -> Message | None:
        """Return the network's own header block as a message without parts; None if it is missing."""
        block = self._network_block
        if block is None:
            return None
        alone = make_standalone(self.utf8[block.begin : block.end], self.scopes["Header"])
        return self.version.decode_post(wrap_in_envelope(b"<pr:Post>%b</pr:Post>" % alone, self.version), limits)

    def without_network_header(self) -> ExternalEnvelope:
        """Return a copy of the envelope without the network's own header block."""
        block = self._network_block
        if block is None:
            return self
        return self._replace(
            utf8=self.utf8[: block.begin] + self.utf8[block.end :],
            blocks=tuple([_moved(other, block) for other in self.blocks if other is not block]),
            children=tuple([_moved(child, block) for child in self.children]),
        )


def _moved(span: EnvelopeSpan, cut: EnvelopeSpan) -> EnvelopeSpan:
    """Return the span's position after another one has been removed."""
    length = cut.end - cut.begin
    return EnvelopeSpan(span.name, span.begin - length, span.end - length) if span.begin > cut.begin else span


def wrap_in_envelope(body: bytes, version: SoapCodec = SOAP11) -> bytes:
    """Wrap bytes that are valid in a Body in a new envelope."""
    return version.opening + body + CLOSING


def read_external_envelope(body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> ExternalEnvelope:
    """Read an envelope with any Header and Body."""
    return _Reader(to_utf8(body), limits).read()


class _Reader(ComplexityCounter):
    """Walks the envelope and records the positions of header blocks and of the Body's children."""

    __slots__ = (
        "_begin",
        "_found",
        "_harmless",
        "_has_more",
        "_names",
        "_namespace",
        "_scanner",
        "_scopes",
        "_stack",
        "_utf8",
    )

    def __init__(self, utf8: bytes, limits: WireLimits) -> None:
        super().__init__(limits)
        self._utf8 = utf8
        self._scanner = new_scanner()
        self._names: list[str] = []
        self._stack: list[tuple[str, str]] = []
        self._scopes: dict[str, dict[str, str]] = {}
        self._begin = 0
        self._namespace = ""
        self._found: dict[str, list[EnvelopeSpan]] = {"Header": [], "Body": [], BEHIND_ENVELOPE: []}
        self._has_more = False
        self._harmless = counts_are_harmless(utf8, limits)

    def read(self) -> ExternalEnvelope:
        self.attach(self._scanner)
        self._scanner.buffer_text = True  # otherwise each line of white space would cause a call
        self._scanner.EndNamespaceDeclHandler = lambda _prefix: self._stack.pop()
        self._scanner.ProcessingInstructionHandler = self._instruction
        run_scanner(self._scanner, self._utf8)
        if "Body" not in self._names:
            raise malformed("the envelope has no Body", "/Envelope")
        version = VERSIONS[self._namespace]
        blocks, children = tuple(self._found["Header"]), tuple(self._found["Body"])
        return ExternalEnvelope(version, self._utf8, blocks, children, self._has_more, self._scopes)

    def add_prefix(self, prefix: str | None, uri: str | None) -> None:
        super().add_prefix(prefix, uri)
        self._stack.append((prefix or "", uri or ""))

    def start_element(self, name: str, attributes: dict[str, str]) -> None:
        super().start_element(name, attributes)
        if self._depth == 1:
            self._open_envelope(name)
            self._has_more |= bool(attributes)
        elif self._depth == 2:
            self._open_section(name)
            self._has_more |= bool(attributes)
        elif self._depth == 3:
            self._enter_document()

    def _enter_document(self) -> None:
        """Enter a document: its elements are not interpreted, only counted where limits apply."""
        self._begin = self._scanner.CurrentByteIndex
        self._scanner.CharacterDataHandler = None
        if self._harmless:
            self._scanner.StartElementHandler = self._deeper
            self._scanner.EndElementHandler = self._shallower

    def _deeper(self, _name: str, _attributes: dict[str, str]) -> None:
        self._depth += 1
        self._declarations = 0

    def _shallower(self, name: str) -> None:
        if self._depth > 3:
            self._depth -= 1
            return
        self._scanner.StartElementHandler = self.start_element
        self._scanner.EndElementHandler = self.end_element
        self.end_element(name)

    def _open_envelope(self, name: str) -> None:
        namespace, _, local = name.rpartition(SEPARATOR)
        if local != "Envelope" or namespace not in VERSIONS:
            raise Refused("wire.unsupported", "a SOAP 1.1 or 1.2 envelope is expected", pointer="/Envelope")
        self._namespace = namespace
        self._scanner.CharacterDataHandler = self._text

    def _open_section(self, name: str) -> None:
        namespace, _, local = name.rpartition(SEPARATOR)
        if "Body" in self._names and namespace not in VERSIONS:
            local, self._has_more = BEHIND_ENVELOPE, True
        elif namespace != self._namespace or local not in _SECTIONS.get(tuple(self._names), ()):
            raise malformed("an Envelope has a Header and a Body", "/Envelope")
        self._names.append(local)
        self._scopes[local] = dict(self._stack)

    def end_element(self, name: str) -> None:
        if self._depth == 3:
            self._note(name)
            self._scanner.CharacterDataHandler = self._text
        super().end_element(name)

    def _note(self, name: str) -> None:
        opening = _TAG.match(self._utf8, self._begin)
        closing = _TAG.match(self._utf8, self._scanner.CurrentByteIndex)
        if opening is not None and opening[0].endswith(b"/>"):
            closing = opening  # an empty element: the scanner has already passed its only tag
        end = closing.end() if closing is not None else len(self._utf8)
        self._found[self._names[-1]].append(EnvelopeSpan(name, self._begin, end))

    def _text(self, text: str) -> None:
        self._has_more = self._has_more or bool(text.strip(" \t\r\n"))

    def _instruction(self, target: str, _data: str) -> None:
        if self._depth < 3:
            raise Refused("wire.forbidden-markup", f"a SOAP envelope holds no processing instructions ({target[:40]})")
