"""Which format a message is in, found by looking at its bytes; what the transport says of it is a hint, and no more.

Kept rule: the bytes decide. Where they and the declared type disagree, ``Found.note`` says so, and the journal keeps it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from postroad.core.codecs.dime import looks_like_dime
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.mime import read_related
from postroad.core.codecs.mime.xop import is_xop
from postroad.core.codecs.soap.plain import looks_like_envelope
from postroad.core.mediation.cloudevents_format import MEDIA_TYPE as CLOUDEVENTS
from postroad.core.mediation.nouns import Wire
from postroad.core.mediation.rooted import is_envelope
from postroad.core.model.formats import Format
from postroad.errors import Refused

_BOUNDARY_LINE = re.compile(rb"(?:[^\r\n]{0,998}\r?\n){0,8}--([0-9A-Za-z'()+_,./:=?-]{1,70})[ \t]*\r?\n[!-9;-~]{1,76}:")
_HEADER_BLOCK = re.compile(rb"(?:[!-9;-~]{1,76}:[^\r\n]{0,998}\r?\n(?:[ \t][^\r\n]{0,998}\r?\n){0,20}){1,100}\r?\n")
_EVENT = re.compile(rb'"specversion"\s*:\s*"')
_LOOK = 16_384
XML_TYPES = ("text/xml", "application/xml", "application/soap+xml")
DECLARED = {
    "application/dime": Format.DIME,
    "application/soap+xml": Format.SOAP,
    CLOUDEVENTS: Format.CLOUDEVENTS,
    "multipart/related": Format.SWA,
}


class Found(NamedTuple):
    """The format, the content type under which its bytes are read, and where that contradicts what was declared."""

    format: Format
    content_type: str
    note: str = ""


def look(wire: Wire) -> Found:
    """The format of a message in a plain format; anything at all is at least a MIME entity of one part."""
    declared = wire.content_type
    kind = media_type_of(declared)
    if wire.header("as2-from") and wire.header("as2-to"):
        return Found(Format.AS2, declared)
    found = _by_bytes(wire, kind)
    expected = DECLARED.get(kind)
    if expected is None or expected is found.format or (expected is Format.SWA and found.format is Format.MIME):
        return found
    return found._replace(note=f"said to be {kind[:80]}, and is {found.format.value}")


def _by_bytes(wire: Wire, kind: str) -> Found:
    body, declared = wire.body, wire.content_type
    if looks_like_dime(body):
        note = (
            ""
            if kind in ("", "application/dime", "application/octet-stream")
            else f"said to be {kind[:80]}, and is dime"
        )
        return Found(Format.DIME, declared, note)
    if kind.startswith("multipart/") or _is_multipart(body, kind):
        return _multipart(body, declared, kind)
    if _is_soap(body):
        note = "" if kind in XML_TYPES or not kind else f"said to be {kind[:80]}, and is soap"
        return Found(Format.SOAP, declared if kind in XML_TYPES else "", note)
    if wire.header("ce-specversion") or kind == CLOUDEVENTS or (kind in ("", "application/json") and _is_event(body)):
        return Found(Format.CLOUDEVENTS, declared)
    if kind in ("", "message/rfc822") and _HEADER_BLOCK.match(body[:_LOOK]):
        return Found(Format.MIME, "message/rfc822")
    return Found(Format.MIME, declared)


def _is_multipart(body: bytes, kind: str) -> bool:
    return (
        body[:_LOOK].find(b"--") >= 0
        and kind in ("", "application/octet-stream")
        and bool(_BOUNDARY_LINE.match(body[:_LOOK]))
    )


def _multipart(body: bytes, declared: str, kind: str) -> Found:
    if not kind.startswith("multipart/"):
        line = _BOUNDARY_LINE.match(body[:_LOOK])
        boundary = line.group(1).decode() if line else ""
        declared, kind = f'multipart/related; boundary="{boundary}"', "multipart/related"
    if kind == "multipart/related" and _has_soap_root(declared, body):
        return Found(Format.SWA, declared)
    return Found(Format.MIME, declared)


def _has_soap_root(declared: str, body: bytes) -> bool:
    """Whether the root of the multipart is an envelope; the reader finds out the rest."""
    try:
        root = read_related(declared, body).root
        return is_xop(root.content_type) or is_envelope(bytes(root.data()))
    except Refused:
        return looks_like_envelope(body)


def _is_soap(body: bytes) -> bool:
    start = body[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    is_utf16 = body[:2] in (b"\xff\xfe", b"\xfe\xff", b"<\x00", b"\x00<")
    if start[:1] != b"<" and not is_utf16:
        return False
    return looks_like_envelope(body.replace(b"\x00", b"") if is_utf16 else body)


def _is_event(body: bytes) -> bool:
    return body[:64].lstrip()[:1] == b"{" and _EVENT.search(body, 0, _LOOK) is not None
