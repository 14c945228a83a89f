"""The element names and namespaces of postroad's SOAP messages."""

from __future__ import annotations

from postroad.core.codecs.xml import SEPARATOR

NAMESPACE = "urn:postroad:message:1"
SOAP_11 = "http://schemas.xmlsoap.org/soap/envelope/"
SOAP_12 = "http://www.w3.org/2003/05/soap-envelope"
ENVELOPES = frozenset({SOAP_11, SOAP_12, NAMESPACE})  # the text of a document never needs these


def network_name(local: str) -> str:
    return NAMESPACE + SEPARATOR + local


def short_name(name: str) -> str:
    """Return a name for a pointer, without its namespace if that is one of the envelope's."""
    uri, found, local = name.rpartition(SEPARATOR)
    return local if not found or uri in ENVELOPES else f"{{{uri}}}{local}"
