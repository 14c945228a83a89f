"""Recognises a SOAP envelope and its version by the first tag."""

from __future__ import annotations

import re
from contextlib import suppress

from postroad.core.codecs.media import parameter_of
from postroad.core.codecs.soap import SOAP11, SOAP12, SoapCodec
from postroad.core.codecs.soap.names import SOAP_11, SOAP_12
from postroad.core.codecs.xml import SEPARATOR, new_scanner, run_scanner, to_utf8
from postroad.errors import Refused

VERSIONS: dict[str, SoapCodec] = {SOAP_11: SOAP11, SOAP_12: SOAP12}
_MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*+<")


def version_of(body: bytes) -> SoapCodec | None:
    """Return the SOAP version of an envelope by its first tag; None if it is not an envelope."""
    is_utf16 = b"\0" in body[:4]
    if not is_utf16 and (b"Envelope" not in body or not _MARKUP.match(body)):
        return None  # decided without a parser, as for most bodies that are not envelopes
    namespace, _, local = root_of(body).rpartition(SEPARATOR)
    return VERSIONS.get(namespace) if local == "Envelope" else None


def root_of(body: bytes) -> str:
    """Return the name of a document's root element as ``namespace}local``; empty if it is not XML."""
    try:
        return _FirstTag(to_utf8(body)).name
    except Refused:
        return ""


class _Enough(Exception):
    """Raised when the first tag has been read."""


class _FirstTag:
    """Reads a document up to its root element's first tag."""

    __slots__ = ("_utf8", "name")

    def __init__(self, utf8: bytes) -> None:
        self.name, self._utf8 = "", utf8
        scanner = new_scanner()
        scanner.StartElementHandler = self._started
        scanner.StartDoctypeDeclHandler = self._doctype
        with suppress(_Enough):
            run_scanner(scanner, utf8)

    def _started(self, name: str, _attributes: dict[str, str]) -> None:
        self.name = name
        raise _Enough

    def _doctype(self, name: str, *_: object) -> None:
        """Use the name in the document type, and the namespace mentioned in it; the parser stops here."""
        mentioned = next((uri for uri in VERSIONS if uri.encode() in self._utf8), "")
        self.name = f"{mentioned}{SEPARATOR}{name.rpartition(':')[2]}"
        raise _Enough


def declare_encoding(body: bytes, content_type: str) -> bytes:
    """Return the bytes with an XML declaration, if only their content type declares an encoding other than UTF-8."""
    charset = parameter_of(content_type, "charset")
    if not charset or b"\0" in body[:4] or body.startswith((b"<?xml", b"\xef\xbb\xbf")) or _is_utf8(body):
        return body
    return b'<?xml version="1.0" encoding="%b"?>%b' % (charset.encode("ascii", "replace"), body)


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
