"""The names and addresses of postroad's SOAP messages, each written once."""

from __future__ import annotations

from postroad.core.codecs.xml import SEPARATOR

NAMESPACE = "urn:postroad:message:1"
SOAP_11 = "http://schemas.xmlsoap.org/soap/envelope/"
SOAP_12 = "http://www.w3.org/2003/05/soap-envelope"
ENVELOPES = frozenset({SOAP_11, SOAP_12, NAMESPACE})  # a document's text never leans on these


def network_name(local: str) -> str:
    return NAMESPACE + SEPARATOR + local


def short_name(name: str) -> str:
    """A name for a pointer: without its namespace when it is one of the envelope's."""
    uri, found, local = name.rpartition(SEPARATOR)
    return local if not found or uri in ENVELOPES else f"{{{uri}}}{local}"
