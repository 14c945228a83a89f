"""Finds the members of an XML wrapper in its bytes, and the markup around them.

Rules: the content of a member is skipped, but must be well-formed. A member outside of its wrapper gets the namespace
declarations that it inherited from the wrapper; nothing else in it changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from postroad.core.codecs.buffers import Buffer, whole_bytes
from postroad.core.codecs.limits import DEFAULT_LIMITS
from postroad.core.codecs.xml import SEPARATOR, check_well_formed, complexity_refusal, new_scanner, run_scanner, to_utf8
from postroad.core.codecs.xml_escape import attribute_value
from postroad.core.interchange.envelope_errors import too_many
from postroad.core.interchange.model import MAX_MEMBERS

_TAG = re.compile(rb"""<[^>"']*+(?:(?:"[^"]*+"|'[^']*+')[^>"']*+)*>""")
_TAG_NAME = re.compile(rb"<[^\s/>]+")
_BEGINNING = re.compile(rb"(?:<\?xml\s[^>]*\?>)?\s*<([A-Za-z_][^\s/>]*)")  # a document whose root element comes first
_ENDING = re.compile(rb"</([^\s<>]+)>\s*\Z")
_MAX_TEXT = 500  # maximum characters of one value of the wrapper
_MAX_TEXTS = 200  # maximum number of stored values

Path = tuple[str, ...]  # names of elements from the root on, as namespace}local
IsMember = Callable[[Path], bool]


class MemberElement(NamedTuple):
    """One member, by its position in the bytes."""

    begin: int
    end: int
    name: str  # namespace}local
    lacking: Mapping[str, str]  # namespaces inherited from the wrapper, by prefix


class Outline(NamedTuple):
    utf8: bytes
    root: str  # namespace}local
    attributes: Mapping[str, str]  # of the root
    members: list[MemberElement]
    texts: Mapping[
        str, str
    ]  # texts of the wrapper's own elements, by path below the root in local names: PyldDesc/PyldTp

    def document(self, member: MemberElement) -> Buffer:
        """Return the member as a standalone document; a view without copying if it needs no declarations."""
        lacking = [_declaration(*one) for one in member.lacking.items() if self._needs(member, one[0])]
        view = memoryview(self.utf8)[member.begin : member.end]
        if not lacking:
            return view
        raw = bytes(view)
        name = _TAG_NAME.match(raw)
        cut = name.end() if name else 0  # it always matches: expat has parsed an element here
        return b"".join((raw[:cut], *lacking, raw[cut:]))

    def _needs(self, member: MemberElement, prefix: str) -> bool:
        """Return the namespaces that a member needs: the default one, and each whose prefix occurs anywhere, even in values."""
        return not prefix or self.utf8.find(prefix.encode() + b":", member.begin, member.end) >= 0


def local_name(name: str) -> str:
    return name.rpartition(SEPARATOR)[2]


def namespace_of(name: str) -> str:
    return name.rpartition(SEPARATOR)[0]


def read_outline(data: Buffer, is_member: IsMember, most_members: int = MAX_MEMBERS) -> Outline:
    """Return the outline; refuses XML that is malformed, too deep, or has a document type."""
    utf8 = to_utf8(whole_bytes(data))
    scan = _Scan(utf8, is_member, most_members)
    scan.run()
    return Outline(utf8, scan.root, scan.attributes, scan.members, scan.texts)


def root_of(data: Buffer) -> Buffer:
    """Return a document's root element without prolog and epilog; refuses the same XML as ``read_outline``."""
    utf8 = to_utf8(whole_bytes(data))
    begin, end = _BEGINNING.match(utf8), _ENDING.match(utf8, max(utf8.rfind(b"</"), 0))
    if begin is None or end is None or begin.group(1) != end.group(1):
        found = read_outline(utf8, lambda path: len(path) == 1)
        return memoryview(utf8)[found.members[0].begin : found.members[0].end]
    check_well_formed(
        utf8
    )  # then the last end tag is the root's: a comment or a processing instruction ends differently
    return memoryview(utf8)[begin.start(1) - 1 : end.end(1) + 1]


class _Scan:
    """One run of the scanner; inside a member, it only looks for the end.

    Levels and attributes are limited. The number of elements is not, because each member was limited when it was posted."""

    def __init__(self, utf8: bytes, is_member: IsMember, most_members: int) -> None:
        self._utf8, self._is_member, self._most = utf8, is_member, most_members
        self._scanner = new_scanner()
        self._path: list[str] = []
        self._spaces: list[dict[str, str]] = [{}]  # namespaces in scope, for each element of the path
        self._declared: dict[str, str] = {}  # declared by the element that is about to start
        self._inside = 0  # depth in the open member
        self._begin = 0
        self._deepest, self._widest = DEFAULT_LIMITS.xml_depth, DEFAULT_LIMITS.xml_attributes
        self._lacking: dict[str, str] = {}
        self._text: list[str] = []
        self.root = ""
        self.attributes: dict[str, str] = {}
        self.members: list[MemberElement] = []
        self.texts: dict[str, str] = {}

    def run(self) -> None:
        scanner = self._scanner
        scanner.buffer_text = True
        scanner.StartNamespaceDeclHandler = self._declare
        scanner.StartElementHandler = self._start
        scanner.EndElementHandler = self._end
        scanner.CharacterDataHandler = self._characters
        run_scanner(scanner, self._utf8)

    def _declare(self, prefix: str | None, uri: str | None) -> None:
        self._declared[prefix or ""] = uri or ""
        if len(self._declared) > DEFAULT_LIMITS.xml_attributes:
            raise complexity_refusal(DEFAULT_LIMITS)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        declared = self._declared
        if len(self._path) + self._inside >= self._deepest or len(attributes) + len(declared) > self._widest:
            raise complexity_refusal(DEFAULT_LIMITS)
        if declared:
            self._declared = {}
        if self._inside:
            self._inside += 1
            return
        self._path.append(name)
        if len(self._path) == 1:
            self.root, self.attributes = name, attributes
        if self._is_member(tuple(self._path)):
            self._open(declared)
        else:
            self._spaces.append(self._spaces[-1] | declared if declared else self._spaces[-1])
            self._text = []

    def _open(self, declared: dict[str, str]) -> None:
        self._begin, self._inside = self._scanner.CurrentByteIndex, 1
        self._scanner.CharacterDataHandler = None  # its texts are not needed
        if len(self.members) >= self._most:
            raise too_many(self._begin, self._most)
        inherited = self._spaces[-1].items()
        self._lacking = {prefix: uri for prefix, uri in inherited if prefix not in declared and (uri or prefix)}

    def _end(self, name: str) -> None:
        if self._inside > 1:
            self._inside -= 1
            return
        if self._inside:
            self._inside = 0
            self._scanner.CharacterDataHandler = self._characters
            self.members.append(MemberElement(self._begin, self._member_end(), name, self._lacking))
            self._path.pop()
            return
        if self._text and len(self.texts) < _MAX_TEXTS:
            self.texts.setdefault("/".join(map(local_name, self._path[1:])), "".join(self._text)[:_MAX_TEXT].strip())
        self._text = []
        self._path.pop()
        self._spaces.pop()

    def _member_end(self) -> int:
        """Return the position after the member's end tag, or after its only tag if the element is empty."""
        only = _TAG.match(self._utf8, self._begin)
        if only is not None and only.group().endswith(b"/>"):
            return only.end()
        return self._utf8.index(b">", self._scanner.CurrentByteIndex) + 1

    def _characters(self, text: str) -> None:
        if len(self._text) < _MAX_TEXT:
            self._text.append(text)


def _declaration(prefix: str, uri: str) -> bytes:
    name = f"xmlns:{prefix}" if prefix else "xmlns"
    return f' {name}="{attribute_value(uri)}"'.encode()
