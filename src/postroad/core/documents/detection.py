"""Detects the kind of a document from its bytes.

Rules: only the bytes count, nothing is raised, and only the beginning is read; JSON alone is read to its end, because
its first byte proves nothing. One table lists the signs and their locations; the first match wins. XML has the kind of
its root's namespace; ISO 20022 is recognized inside a wrapper element, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import StrEnum

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.xml import SEPARATOR, first_elements

_LOOK_EVENT = 4096  # bytes in which the first event of a batch shows what it is


class BusinessDocumentKind(StrEnum):
    """The kinds of business documents that the network recognizes."""

    X12 = "x12"
    EDIFACT = "edifact"
    TRADACOMS = "tradacoms"
    HL7 = "hl7"  # version 2, alone or in a batch
    HL7_MLLP = "hl7-mllp"  # the same in the frame of its transport
    SWIFT_FIN = "swift-fin"  # with its blocks, alone or several in a file
    SWIFT_TEXT = "swift-text"  # only the fields, as banks give account statements
    IDOC = "idoc"  # of SAP, flat
    ISO20022 = "iso20022"
    GS1 = "gs1"
    UBL = "ubl"
    OAGIS = "oagis"
    ROSETTANET = "rosettanet"
    SBDH = "sbdh"  # an envelope around a document of any of these
    CII = "cii"
    CXML = "cxml"
    SOAP = "soap"
    XML = "xml"  # of no one we know
    CLOUDEVENTS = "cloudevents"
    CLOUDEVENTS_BATCH = "cloudevents-batch"
    JSON = "json"
    JSON_LINES = "json-lines"
    UNKNOWN = ""


class _Signs(Struct, gc=False):
    """The attributes that every CloudEvent has."""

    specversion: Raw | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    source: Raw | UnsetType = UNSET
    type: Raw | UnsetType = UNSET

    def are_of_an_event(self) -> bool:
        return UNSET not in (self.specversion, self.id, self.source, self.type)


_OBJECT = msgspec.json.Decoder(_Signs)
_OBJECTS = msgspec.json.Decoder(list[_Signs])
_ANY = msgspec.json.Decoder(Raw)


def json_kind(data: Buffer) -> BusinessDocumentKind:
    """The kind of bytes that begin like a JSON object or array."""
    try:
        return _kind_of_whole(data)
    except msgspec.DecodeError:
        return BusinessDocumentKind.JSON_LINES if _are_lines(bytes(data)) else BusinessDocumentKind.UNKNOWN
    except RecursionError:
        return BusinessDocumentKind.UNKNOWN  # too deep to be read


def _kind_of_whole(data: Buffer) -> BusinessDocumentKind:
    try:
        return BusinessDocumentKind.CLOUDEVENTS if _OBJECT.decode(data).are_of_an_event() else BusinessDocumentKind.JSON
    except msgspec.ValidationError:
        pass  # an array
    if b'"specversion"' in bytes(data[:_LOOK_EVENT]) and _are_events(data):
        return BusinessDocumentKind.CLOUDEVENTS_BATCH
    _ANY.decode(data)
    return BusinessDocumentKind.JSON


def _are_events(data: Buffer) -> bool:
    try:
        return all(signs.are_of_an_event() for signs in _OBJECTS.decode(data))
    except msgspec.ValidationError:
        return False


def _are_lines(data: bytes) -> bool:
    """Whether the first two lines are documents of their own."""
    lines = data.lstrip().split(b"\n", 2)[:2]
    try:
        return len(lines) > 1 and all(_ANY.decode(line) for line in lines)
    except (msgspec.DecodeError, RecursionError):
        return False


_WRAPPED = 30  # elements within which a wrapper has come to its header or document
_MESSAGE_NAME = re.compile(r"\b[a-z]{4}\.[0-9]{3}\.[0-9]{3}\.[0-9]{2}\b")  # pacs.008.001.07
_ISO20022 = ("urn:iso:std:iso:20022:", "urn:swift:xsd:")
_ISO20022_ELEMENTS = frozenset(("AppHdr", "Document"))
_NAMESPACES = (  # beginnings
    ("http://schemas.xmlsoap.org/soap/envelope/", BusinessDocumentKind.SOAP),
    ("http://www.w3.org/2003/05/soap-envelope", BusinessDocumentKind.SOAP),
    ("urn:oasis:names:specification:ubl:", BusinessDocumentKind.UBL),
    ("http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader", BusinessDocumentKind.SBDH),
    ("http://www.openapplications.org/oagis", BusinessDocumentKind.OAGIS),
    ("urn:gs1:", BusinessDocumentKind.GS1),
    ("urn:ean.ucc", BusinessDocumentKind.GS1),
    ("urn:global:gs1", BusinessDocumentKind.GS1),
    ("urn:epcglobal:", BusinessDocumentKind.GS1),
    ("urn:un:unece:uncefact:data:standard:CrossIndustry", BusinessDocumentKind.CII),
)
_ROOTS = (
    ("cXML", BusinessDocumentKind.CXML),
    ("Pip", BusinessDocumentKind.ROSETTANET),
)  # beginnings of names that have no namespace


def xml_kind(beginning: bytes) -> BusinessDocumentKind:
    """The kind of a document of which this is the beginning."""
    names = [_parted(name) for name in first_elements(beginning, _WRAPPED)]
    if not names:
        return BusinessDocumentKind.XML if beginning.startswith(b"<?xml") else BusinessDocumentKind.UNKNOWN
    return _kind_of_root(*names[0]) or _kind_inside(names)


def _parted(name: str) -> tuple[str, str]:
    namespace, _, local = name.rpartition(SEPARATOR)
    return namespace, local


def _kind_of_root(namespace: str, local: str) -> BusinessDocumentKind:
    if "rosettanet" in namespace.lower():
        return BusinessDocumentKind.ROSETTANET
    if _is_iso20022(namespace):
        return BusinessDocumentKind.ISO20022
    table, text = (_NAMESPACES, namespace) if namespace else (_ROOTS, local)
    return next((kind for beginning, kind in table if text.startswith(beginning)), BusinessDocumentKind.UNKNOWN)


def _is_iso20022(namespace: str) -> bool:
    return namespace.startswith(_ISO20022) or _MESSAGE_NAME.search(namespace) is not None


def _kind_inside(names: Iterable[tuple[str, str]]) -> BusinessDocumentKind:
    """Banks wrap ISO 20022 in elements of their own; header and document inside keep their names."""
    wrapped = any(local in _ISO20022_ELEMENTS and _is_iso20022(namespace) for namespace, local in names)
    return BusinessDocumentKind.ISO20022 if wrapped else BusinessDocumentKind.XML


_LOOK = 4096  # bytes in which every kind but XML and JSON has shown itself
_LOOK_XML = 65_536  # comments and licences may come before the root
_UTF_8_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_BLANKS = b" \t\r\n"
# UTF-16 without a mark, as its readers know it: the letters with which X12 and EDIFACT begin.
_UTF_16_BEGINNINGS = {b"I\0S\0": "utf-16-le", b"\0I\0S": "utf-16-be", b"U\0N\0": "utf-16-le", b"\0U\0N": "utf-16-be"}

# Sixteen elements, their separator chosen by the sender; many senders forget to fill them up to the length they should have.
_ISA = re.compile(rb"ISA([^A-Za-z0-9 \r\n])(?=([\s\S]{0,160}))")
_ISA_ELEMENTS = 16
# UNA says which characters separate what; without it they are the usual ones, unless "UNOA:1" and the like show others.
_UNA = re.compile(rb"UNA[\s\S]([\s\S])[\s\S]{4}[\s]*UN[BGH]\1")
_UNB = re.compile(rb"UN[BGH][+\x1d]|UNB([^A-Za-z0-9\s])[A-Z]{4}([^A-Za-z0-9\s])[0-9]\1")
_TRADACOMS = re.compile(rb"STX=|MHD=")
_HL7 = re.compile(rb"(?:MSH|FHS|BHS)([^A-Za-z0-9\s])[^A-Za-z0-9\s]{1,5}\1")
_FIN = re.compile(rb"\x01?\{1:[FAL][0-9]{2}[A-Z0-9]{12}")
_FIELD = re.compile(rb"^:[0-9]{2}[A-Z]?:", re.MULTILINE)
_LATER_REFERENCE = re.compile(rb"(?:[^\n]*\n){1,6}?:20:")  # a bank's own lines may come first
_IDOC = re.compile(rb"EDI_DC(?:40)? ")


def document_kind(data: Buffer) -> BusinessDocumentKind:
    """Return the kind of a document, as far as its bytes show it."""
    beginning = _beginning(data)
    first = beginning[:1]
    if first == b"<" or data[:2] in (b"<\0", b"\0<"):
        return xml_kind(_beginning_of_xml(data).removeprefix(_UTF_8_MARK).lstrip(_BLANKS))
    if first in (b"{", b"["):
        found = json_kind(data[len(_UTF_8_MARK) :] if data[: len(_UTF_8_MARK)] == _UTF_8_MARK else data)
        if found:
            return found
    return next((kind for kind, fits in _SIGNS if fits(beginning)), BusinessDocumentKind.UNKNOWN)


def _beginning(data: Buffer) -> bytes:
    """Return the first bytes after any byte order mark and blanks, in an ASCII-compatible encoding."""
    beginning = bytes(data[:_LOOK])
    if beginning.startswith(_UTF_16_MARKS):
        beginning = beginning.decode("utf-16", "ignore").encode("utf-8", "ignore")
    elif encoding := _UTF_16_BEGINNINGS.get(beginning[:4]):
        beginning = beginning.decode(encoding, "ignore").encode("utf-8", "ignore")
    return beginning.removeprefix(_UTF_8_MARK).lstrip(_BLANKS)


def _beginning_of_xml(data: Buffer) -> bytes:
    """Cut before a character of UTF-16 that has two halves, if the cut would fall between them."""
    beginning = bytes(data[:_LOOK_XML])
    is_halved = b"\0" in beginning[:4] and any(0xD8 <= octet <= 0xDB for octet in beginning[-2:])
    return beginning[:-2] if is_halved else beginning


def _is_x12(beginning: bytes) -> bool:
    found = _ISA.match(beginning)
    return found is not None and found.group(2).count(found.group(1)) >= _ISA_ELEMENTS - 1


def _is_framed_hl7(beginning: bytes) -> bool:
    return beginning[:1] == b"\x0b" and _HL7.match(beginning, 1) is not None


def _is_swift_text(beginning: bytes) -> bool:
    """A field first; or later the one that begins every message, and then another: one line with colons may be anything."""
    if _FIELD.match(beginning):
        return True
    return _LATER_REFERENCE.match(beginning) is not None and len(_FIELD.findall(beginning)) > 1


def _matches(sign: re.Pattern[bytes]) -> Callable[[bytes], bool]:
    return lambda beginning: sign.match(beginning) is not None


_SIGNS: tuple[tuple[BusinessDocumentKind, Callable[[bytes], bool]], ...] = (
    (BusinessDocumentKind.X12, _is_x12),
    (BusinessDocumentKind.EDIFACT, _matches(_UNA)),
    (BusinessDocumentKind.EDIFACT, _matches(_UNB)),
    (BusinessDocumentKind.TRADACOMS, _matches(_TRADACOMS)),
    (BusinessDocumentKind.HL7, _matches(_HL7)),
    (BusinessDocumentKind.HL7_MLLP, _is_framed_hl7),
    (BusinessDocumentKind.SWIFT_FIN, _matches(_FIN)),
    (BusinessDocumentKind.IDOC, _matches(_IDOC)),
    (BusinessDocumentKind.SWIFT_TEXT, _is_swift_text),
)
