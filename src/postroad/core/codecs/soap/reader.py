"""Reads a SOAP envelope into a small tree, without copying the bytes of inline documents.

expat parses the envelope once. Elements become ``SoapElement`` nodes, except inside ``pr:Xml``: there only the byte
range and the namespaces in scope are recorded, so that the document can be extracted exactly as it was posted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.refusals import malformed, too_complex
from postroad.core.codecs.soap.fragment import make_standalone
from postroad.core.codecs.soap.names import network_name, short_name
from postroad.core.codecs.xml import ComplexityCounter, counts_are_harmless, new_scanner, run_scanner
from postroad.errors import Refused

_INLINE = network_name("Xml")
_REPEATED = frozenset(
    ("Service", "Argument", "Property", "Document", "Attachment", "Token", "Message", "Delivery", "Recipient")
)
_TAG = re.compile(rb"""<[^>"']*(?:(?:"[^"]*"|'[^']*')[^>"']*)*>""")


class SoapElement:
    """An element of the envelope; ``document`` holds the bytes of an inline document."""

    __slots__ = ("attributes", "children", "document", "name", "parent", "pieces")

    def __init__(self, name: str, parent: SoapElement | None, attributes: dict[str, str]) -> None:
        self.name = name
        self.parent = parent
        self.attributes = attributes
        self.pieces: list[str] = []
        self.children: list[SoapElement] = []
        self.document = b""

    @property
    def path(self) -> str:
        """Return the path of the element, for a refusal's pointer."""
        return f"{self.parent.path}/{short_name(self.name)}" if self.parent else ""

    @property
    def text(self) -> str:
        """Return the text of an element; refuses child elements."""
        if self.children:
            raise malformed(f"{short_name(self.name)} may contain only text", self.children[0].path)
        return "".join(self.pieces)

    def only_attributes(self, *allowed: str) -> Mapping[str, str]:
        for name in self.attributes:
            if name not in allowed and "}" not in name:  # attributes of other namespaces (xsi:type …) are ignored
                raise malformed(f"the attribute {name[:80]!r} is not known here", self.path)
        return self.attributes

    def fields(self, **most: int) -> dict[str, list[SoapElement]]:
        """Return the children by local name; each may occur up to its number, others and stray text are refused."""
        if "".join(self.pieces).strip():
            raise malformed(f"{short_name(self.name)} may contain only elements", self.path)
        found: dict[str, list[SoapElement]] = {name: [] for name in most}
        for child in self.children:
            local = short_name(child.name)
            if child.name != network_name(local) or local not in found:
                raise malformed(f"{local[:80]} is not known in {short_name(self.name)}", child.path)
            found[local].append(child)
            if len(found[local]) > most[local]:
                raise _too_often(child, most[local])
        return found


def _too_often(element: SoapElement, most: int) -> Refused:
    local = short_name(element.name)
    if local in _REPEATED:
        return too_complex(f"{local} may occur at most {most} times", element.path)
    return malformed(f"{local} occurs twice", element.path)


def read_tree(utf8: bytes, limits: WireLimits) -> SoapElement:
    """Return the root element of an envelope; refuses one that is malformed or exceeds a limit."""
    return _Reader(utf8, limits).read()


class _Reader(ComplexityCounter):
    __slots__ = ("_harmless", "_inside", "_open", "_roots", "_scanner", "_scope", "_start_of_document", "_utf8")

    def __init__(self, utf8: bytes, limits: WireLimits) -> None:
        super().__init__(limits)
        self._utf8 = utf8
        self._harmless = counts_are_harmless(utf8, limits)
        self._scanner = new_scanner()
        self._open = [SoapElement("", None, {})]
        self._scope: list[tuple[str, str]] = []
        self._inside = 0  # levels below and including pr:Xml; 0 outside of it
        self._roots = 0
        self._start_of_document = 0

    def read(self) -> SoapElement:
        self.attach(self._scanner)
        self._scanner.buffer_text = True
        self._scanner.EndNamespaceDeclHandler = self._undeclared
        self._scanner.CharacterDataHandler = self._text
        self._scanner.ProcessingInstructionHandler = self._instruction
        run_scanner(self._scanner, self._utf8)
        return self._open[0].children[0]

    def add_prefix(self, prefix: str | None, uri: str | None) -> None:
        super().add_prefix(prefix, uri)
        self._scope.append((prefix or "", uri or ""))

    def _undeclared(self, _prefix: str | None) -> None:
        self._scope.pop()

    def start_element(self, name: str, attributes: dict[str, str]) -> None:
        super().start_element(name, attributes)
        parent = self._open[-1]
        element = SoapElement(name, parent, attributes)
        parent.children.append(element)
        self._open.append(element)
        if name == _INLINE:
            self._enter_document()

    def _enter_document(self) -> None:
        tag = _TAG.match(self._utf8, self._scanner.CurrentByteIndex)
        self._start_of_document = tag.end() if tag else 0
        self._inside = 1
        self._roots = 0
        self._scanner.StartElementHandler = self._deeper
        self._scanner.EndElementHandler = self._shallower

    def _deeper(self, name: str, attributes: dict[str, str]) -> None:
        self._inside += 1
        if self._inside == 2:
            self._roots += 1
            self._scanner.CharacterDataHandler = None  # the content of a document is not read
        if not self._harmless:
            super().start_element(name, attributes)

    def _shallower(self, name: str) -> None:
        self._inside -= 1
        if self._inside == 1:
            self._scanner.CharacterDataHandler = self._text
        if self._inside and not self._harmless:
            super().end_element(name)
        if not self._inside:
            self._leave_document(self._open[-1])
            self.end_element(name)

    def end_element(self, name: str) -> None:
        super().end_element(name)
        self._open.pop()

    def _leave_document(self, element: SoapElement) -> None:
        if self._roots != 1 or element.pieces:
            raise malformed("Xml holds exactly one element, the document", element.path)
        inline = self._utf8[self._start_of_document : self._scanner.CurrentByteIndex].strip(b" \t\r\n")
        self._scanner.StartElementHandler = self.start_element
        self._scanner.EndElementHandler = self.end_element
        element.document = make_standalone(inline, dict(self._scope))

    def _text(self, text: str) -> None:
        if not self._inside or text.strip():
            self._open[-1].pieces.append(text)

    def _instruction(self, target: str, _data: str) -> None:
        if not self._inside:
            raise Refused("wire.forbidden-markup", f"a SOAP envelope holds no processing instructions ({target[:40]})")


def operation_in(root: SoapElement, namespace: str, *, role: str) -> SoapElement:
    """Return the element in the Body; refuses Header blocks that must be understood."""
    body: SoapElement | None = None
    if root.name != f"{namespace}}}Envelope":
        raise Refused("wire.unsupported", f"a SOAP envelope of {namespace} is expected", pointer="/Envelope")
    for child in root.children:
        if child.name == f"{namespace}}}Header" and body is None:
            _check_understood(child, namespace)
        elif child.name == f"{namespace}}}Body" and body is None:
            body = child
        else:
            raise malformed("an Envelope has a Header and a Body", child.path)
    if body is None or len(body.children) != 1:
        raise malformed(f"the Body holds exactly one element, the {role}", "/Envelope/Body")
    return body.children[0]


def _check_understood(header: SoapElement, namespace: str) -> None:
    for block in header.children:
        addressed = block.attributes.get(f"{namespace}}}actor") or block.attributes.get(f"{namespace}}}role") or ""
        for_us = not addressed or addressed.endswith(("/next", "/ultimateReceiver"))
        if for_us and block.attributes.get(f"{namespace}}}mustUnderstand", "").strip() in ("1", "true"):
            raise Refused(
                "wire.unsupported",
                f"the header block {short_name(block.name)[:200]} is marked mustUnderstand and is not supported; remove it",
                pointer=block.path,
            )
