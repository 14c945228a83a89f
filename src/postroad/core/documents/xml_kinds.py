"""Recognizes kinds of XML by the namespace of the root, and ISO 20022 also inside a wrapper element."""

from __future__ import annotations

import re
from collections.abc import Iterable

from postroad.core.codecs.xml import SEPARATOR, first_elements
from postroad.core.documents.kinds import BusinessDocumentKind

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
