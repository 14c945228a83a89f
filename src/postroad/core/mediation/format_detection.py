"""Detects the external format of a message from its bytes; the declared content type is a hint.

Rules: the bytes decide. If they contradict the declared type, ``DetectedFormat.note`` records it, and the journal
keeps it. Only if the bytes show nothing does the declared type choose the reader that refuses them. Detection never
fails.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec
from msgspec import Struct

from postroad.core.codecs.cloudevents import STRUCTURED
from postroad.core.codecs.dime import MEDIA_TYPE as DIME
from postroad.core.codecs.dime import looks_like_dime
from postroad.core.codecs.json_syntax import UTF_8_MARK
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.mime import read_multipart, read_related
from postroad.core.codecs.parts import JSON, OCTETS, XML
from postroad.core.codecs.soap.recognition import version_of
from postroad.core.mediation.cloudevents_format import is_binary
from postroad.core.mediation.mime_format import MESSAGE
from postroad.core.mediation.model import Wire
from postroad.core.model.formats import Format
from postroad.errors import Refused

SOAP_12, RELATED = "application/soap+xml", "multipart/related"
XML_TYPES = ("text/xml", XML, SOAP_12)
UNDECLARED = ("", OCTETS)  # types that do not identify a format
DECLARED = {DIME: Format.DIME, SOAP_12: Format.SOAP, STRUCTURED: Format.CLOUDEVENTS}
AGREEING = {
    Format.DIME: (DIME, *UNDECLARED),
    Format.SOAP: (*XML_TYPES, *UNDECLARED),
    Format.SWA: (RELATED, *UNDECLARED),
    Format.CLOUDEVENTS: (STRUCTURED, JSON, *UNDECLARED),
}  # formats that the bytes show, and the types under which one expects them
_LOOK = 16_384
_BOUNDARY_LINE = re.compile(
    rb"(?:[^\r\n]{0,998}+\r?\n){0,8}?--([0-9A-Za-z'()+_,./:=?-]{1,70})[ \t]*+\r?\n[!-9;-~]{1,76}+:"
)
_HEADER_BLOCK = re.compile(
    rb"(?!--)(?:[!-9;-~]{1,76}+:[^\r\n]{0,998}+\r?\n(?:[ \t][^\r\n]{0,998}+\r?\n){0,20}){1,100}\r?\n"
)
_OF_CONTENT = re.compile(rb"^(?:content-type|mime-version):", re.IGNORECASE | re.MULTILINE)


class DetectedFormat(NamedTuple):
    """The format, the content type used for reading its bytes, and a note if that contradicts the declared one."""

    format: Format
    content_type: str
    note: str = ""


def detect_format(wire: Wire, limits: WireLimits = DEFAULT_LIMITS) -> DetectedFormat:
    """Detects the external format of a message; any bytes are at least a MIME entity of one part."""
    if wire.header("as2-from") and wire.header("as2-to"):
        return DetectedFormat(Format.AS2, wire.content_type)
    if is_binary(wire):
        return DetectedFormat(Format.CLOUDEVENTS, wire.content_type)
    kind = media_type_of(wire.content_type)
    shown = _shown(wire, kind, limits)
    if shown is None:
        return DetectedFormat(_meant(wire, kind), wire.content_type)
    if shown.format is Format.MIME or kind in AGREEING[shown.format]:
        return shown
    return shown._replace(note=f"declared as {kind[:80]}, but is {shown.format.value}")


def _meant(wire: Wire, kind: str) -> Format:
    """Return the format that the transport declares."""
    if kind in XML_TYPES and wire.header("soapaction"):
        return Format.SOAP
    return DECLARED.get(kind, Format.MIME)


def _shown(wire: Wire, kind: str, limits: WireLimits) -> DetectedFormat | None:
    """Return the format that the bytes show, if any."""
    body, declared = wire.body, wire.content_type
    if looks_like_dime(body):
        return DetectedFormat(Format.DIME, declared)
    if kind.startswith("multipart/"):
        return _multipart(body, declared, limits)
    if version_of(body) is not None:
        return DetectedFormat(Format.SOAP, declared if kind in XML_TYPES else "")
    if kind in (JSON, STRUCTURED, *UNDECLARED) and _is_event(body):
        return DetectedFormat(Format.CLOUDEVENTS, declared)
    return _undeclared(body, limits) if kind in UNDECLARED else None


def _undeclared(body: bytes, limits: WireLimits) -> DetectedFormat | None:
    """Detect undeclared bytes: an entity with its header block, or a multipart without it."""
    start = body[:_LOOK]
    block = _HEADER_BLOCK.match(start)
    if block and _OF_CONTENT.search(block[0]):
        return DetectedFormat(Format.MIME, MESSAGE)
    line = _BOUNDARY_LINE.match(start)
    declared = f'{RELATED}; boundary="{line[1].decode()}"' if line else ""
    return _multipart(body, declared, limits) if declared and _is_multipart(body, declared, limits) else None


def _is_multipart(body: bytes, declared: str, limits: WireLimits) -> bool:
    try:
        return bool(read_multipart(declared, body, limits).parts)
    except Refused:
        return False


def _multipart(body: bytes, declared: str, limits: WireLimits) -> DetectedFormat:
    """Return SOAP with attachments if the root is an envelope; its reader reports errors."""
    if media_type_of(declared) != RELATED:
        return DetectedFormat(Format.MIME, declared)
    try:
        is_soap = version_of(bytes(read_related(declared, body, limits).root.data(limits))) is not None
    except Refused:
        is_soap = b"Envelope" in body[:_LOOK]
    return DetectedFormat(Format.SWA if is_soap else Format.MIME, declared)


class _Claims(Struct):
    """The members of a JSON object that identify it as an event."""

    specversion: str
    id: str
    source: str
    type: str


_CLAIMS = msgspec.json.Decoder(_Claims)


def _is_event(body: bytes) -> bool:
    if b'"specversion"' not in body:
        return False
    try:
        _CLAIMS.decode(body.removeprefix(UTF_8_MARK))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
