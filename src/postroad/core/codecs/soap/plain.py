"""Envelopes of others: a SOAP message that is not made of the network's own operations, read without changing a byte of it.

The one document of such an envelope is the child of its Body, cut out where it stands and made to stand alone. Kept rules: an
envelope that says more than its Body (header blocks of others, several children, a fault) is a document itself, so that nothing of
it is lost; the network's own header block, ``pr:Header``, is read and cut out, since it is meant for nobody else.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from postroad.core.codecs.faults import malformed
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.soap import CLOSING, SOAP11, SOAP12, SoapCodec
from postroad.core.codecs.soap.fragment import standing_alone
from postroad.core.codecs.soap.names import NAMESPACE, SOAP_11, SOAP_12, ours
from postroad.core.codecs.xml import SEPARATOR, Counter, new_scanner, run_scanner, to_utf8
from postroad.core.model.message import Message
from postroad.errors import Refused

VERSIONS: dict[str, SoapCodec] = {SOAP_11: SOAP11, SOAP_12: SOAP12}
_TAG = re.compile(rb"""</?[^>"']*(?:(?:"[^"]*"|'[^']*')[^>"']*)*>""")
_LOOK = 2_048  # bytes within which an envelope names its namespace
_OURS = NAMESPACE.encode()
_NETWORK_HEADER, _FAULT = ours("Header"), "Fault"
_SECTIONS: dict[tuple[str, ...], tuple[str, ...]] = {
    (): ("Header", "Body"),
    ("Header",): ("Body",),
}  # what may follow what


class Span(NamedTuple):
    """An element of the envelope: its name and where its bytes begin and end."""

    name: str
    begin: int
    end: int


class PlainEnvelope(NamedTuple):
    """An envelope as it came, in UTF-8, and where in it things stand."""

    version: SoapCodec
    utf8: bytes
    blocks: tuple[Span, ...]  # of its Header
    children: tuple[Span, ...]  # of its Body
    scopes: dict[str, dict[str, str]]  # the prefixes that are declared around what stands in Header and Body

    @property
    def says_more(self) -> bool:
        """Whether it is more than a wrapper around one document."""
        if len(self.children) != 1 or self.children[0].name.endswith(SEPARATOR + _FAULT):
            return True
        return any(block.name != _NETWORK_HEADER for block in self.blocks)

    @property
    def child(self) -> Span:
        return self.children[0]

    @property
    def document(self) -> bytes:
        """The child of the Body, standing alone."""
        return standing_alone(self.utf8[self.child.begin : self.child.end], self.scopes["Body"])

    @property
    def media_type(self) -> str:
        return "text/xml" if self.version is SOAP11 else "application/soap+xml"

    def network_header(self, limits: WireLimits = DEFAULT_LIMITS) -> Message | None:
        """What the network's own header block says, as a message without parts; None when there is no such block."""
        block = next((block for block in self.blocks if block.name == _NETWORK_HEADER), None)
        if block is None:
            return None
        alone = standing_alone(self.utf8[block.begin : block.end], self.scopes["Header"])
        return self.version.decode_post(b"%b<pr:Post>%b</pr:Post>%b" % (self.version.opening, alone, CLOSING), limits)

    def without_network_header(self) -> PlainEnvelope:
        """The same envelope without the network's own block; the one place where an envelope is ever cut."""
        block = next((block for block in self.blocks if block.name == _NETWORK_HEADER), None)
        if block is None:
            return self
        length = block.end - block.begin
        utf8 = self.utf8[: block.begin] + self.utf8[block.end :]
        moved = tuple(_moved(other, block, length) for other in self.blocks if other is not block)
        children = tuple(_moved(child, block, length) for child in self.children)
        return self._replace(utf8=utf8, blocks=moved, children=children).without_network_header()


def _moved(span: Span, cut: Span, length: int) -> Span:
    return Span(span.name, span.begin - length, span.end - length) if span.begin > cut.begin else span


def looks_like_envelope(body: bytes) -> bool:
    """A quick look that never misses an envelope in UTF-8; reading it tells for certain."""
    return body.find(b"Envelope", 0, _LOOK) >= 0 and (
        body.find(SOAP_11.encode(), 0, _LOOK) >= 0 or body.find(SOAP_12.encode(), 0, _LOOK) >= 0
    )


def mentions_network(body: bytes) -> bool:
    return body.find(_OURS) >= 0


def read_plain(body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> PlainEnvelope:
    """The envelope in these bytes, whatever stands in its Header and Body."""
    return _Reader(to_utf8(body), limits).read()


class _Reader(Counter):
    """Walks the envelope and notes where the blocks of its Header and the children of its Body stand."""

    __slots__ = ("_begin", "_blocks", "_children", "_names", "_namespace", "_scanner", "_scopes", "_stack", "_utf8")

    def __init__(self, utf8: bytes, limits: WireLimits) -> None:
        super().__init__(limits)
        self._utf8 = utf8
        self._scanner = new_scanner()
        self._names: list[str] = []
        self._stack: list[tuple[str, str]] = []
        self._scopes: dict[str, dict[str, str]] = {}
        self._begin = 0
        self._namespace = ""
        self._blocks: list[Span] = []
        self._children: list[Span] = []

    def read(self) -> PlainEnvelope:
        self.attach(self._scanner)
        self._scanner.EndNamespaceDeclHandler = lambda _prefix: self._stack.pop()
        self._scanner.ProcessingInstructionHandler = _refuse_instruction
        run_scanner(self._scanner, self._utf8)
        if "Body" not in self._names:
            raise malformed("the envelope has no Body", "/Envelope")
        version = VERSIONS[self._namespace]
        return PlainEnvelope(version, self._utf8, tuple(self._blocks), tuple(self._children), self._scopes)

    def declared(self, prefix: str | None, uri: str | None) -> None:
        super().declared(prefix, uri)
        self._stack.append((prefix or "", uri or ""))

    def started(self, name: str, attributes: dict[str, str]) -> None:
        super().started(name, attributes)
        if self._depth == 1:
            self._open_envelope(name)
        elif self._depth == 2:
            self._open_section(name)
        elif self._depth == 3:
            self._begin = self._scanner.CurrentByteIndex

    def _open_envelope(self, name: str) -> None:
        namespace, _, local = name.rpartition(SEPARATOR)
        if local != "Envelope" or namespace not in VERSIONS:
            raise Refused("wire.unsupported", "a SOAP 1.1 or 1.2 envelope is expected", pointer="/Envelope")
        self._namespace = namespace

    def _open_section(self, name: str) -> None:
        namespace, _, local = name.rpartition(SEPARATOR)
        if namespace != self._namespace or local not in _SECTIONS.get(tuple(self._names), ()):
            raise malformed("an Envelope holds a Header and a Body", "/Envelope")
        self._names.append(local)
        self._scopes[local] = dict(self._stack)

    def ended(self, name: str) -> None:
        if self._depth == 3:
            self._note(name)
        super().ended(name)

    def _note(self, name: str) -> None:
        opening = _TAG.match(self._utf8, self._begin)
        closing = _TAG.match(self._utf8, self._scanner.CurrentByteIndex)
        if opening is not None and opening[0].endswith(b"/>"):
            closing = opening  # an empty element: the scanner stands behind its one tag already
        end = closing.end() if closing is not None else len(self._utf8)
        (self._children if self._names[-1] == "Body" else self._blocks).append(Span(name, self._begin, end))


def _refuse_instruction(target: str, _data: str) -> None:
    raise Refused("wire.forbidden-markup", f"a SOAP envelope holds no processing instructions ({target[:40]})")


def wrapped(body: bytes, version: SoapCodec = SOAP11) -> bytes:
    """A new envelope around bytes that can stand in a Body."""
    return version.opening + body + CLOSING
