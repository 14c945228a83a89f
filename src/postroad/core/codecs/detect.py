"""Which codec a body asks for: its content type says so, and a look at its first bytes must agree.

A contradiction is refused and says what was found, since it is nearly always a client's mistake and never safe to
guess.
"""

from __future__ import annotations

from postroad.core.codecs.codec import Codec
from postroad.core.codecs.envelope import ENVELOPE_FORM, ENVELOPES
from postroad.core.codecs.faults import malformed
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.media import MULTIPART, NDJSON, accepted_types, media_type_of
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.codecs.soap.names import SOAP_11, SOAP_12
from postroad.errors import Refused

CODECS: dict[str, Codec] = {
    "application/json": JSON_FORM,
    "text/xml": SOAP11,
    "application/soap+xml": SOAP12,
    ENVELOPES: ENVELOPE_FORM,
    "application/msgpack": ENVELOPE_FORM,
    "application/vnd.msgpack": ENVELOPE_FORM,
}
BULK_TYPES = frozenset({NDJSON, MULTIPART, ENVELOPES})
_XML_TYPES = ("application/xml", "text/xml", "application/soap+xml")
_SOAP_11, _SOAP_12 = SOAP_11.encode(), SOAP_12.encode()
_LOOK = 1024  # bytes within which an envelope names its namespace


def codec_for(content_type: str, body: bytes) -> Codec:
    """The codec for a posted body."""
    kind = media_type_of(content_type)
    if kind == "text/xml" and body[:1] == b"<" and body[1:2] != b"\x00" and body.find(_SOAP_12, 0, _LOOK) < 0:
        return SOAP11  # what most posts are: it says so, looks like XML, and is not of the other version
    if kind not in CODECS and kind != "application/xml":
        known = ", ".join(sorted(CODECS))
        raise Refused("wire.unsupported", f"the content type {kind[:80]!r} is not known here; use one of {known}")
    found = _found(body)
    if kind in _XML_TYPES:
        return _soap(kind, found)
    wanted = "JSON" if CODECS[kind] is JSON_FORM else "msgpack"
    if found != wanted and not (wanted == "msgpack" and found == "something else"):
        raise malformed(f"Content-Type says {kind}, but the body is {found}")
    return CODECS[kind]


def _soap(kind: str, found: str) -> Codec:
    if found not in ("SOAP 1.1", "SOAP 1.2", "XML"):
        raise malformed(f"Content-Type says {kind}, but the body is {found}")
    if kind == "application/xml":
        return SOAP12 if found == "SOAP 1.2" else SOAP11
    codec = CODECS[kind]
    if found != "XML" and codec is not (SOAP11 if found == "SOAP 1.1" else SOAP12):
        usual = "text/xml" if found == "SOAP 1.1" else "application/soap+xml"
        raise malformed(f"Content-Type says {kind}, but the envelope is {found}; send it as {usual}")
    return codec


def _found(body: bytes) -> str:
    """What the first bytes look like."""
    first = body[:1]
    if first not in (b"<", b"{", b"["):
        body = body[:_LOOK].lstrip(b"\xef\xbb\xbf \t\r\n") if not _is_utf16(body) else body[:_LOOK]
        first = body[:1]
    if first == b"<" or _is_utf16(body):
        return _found_xml(body)
    if first in (b"{", b"["):
        return "JSON"
    if not first:
        return "empty"
    return "msgpack" if first[0] >= 0x80 else "something else"


def _found_xml(body: bytes) -> str:
    if _is_utf16(body):
        body = body[:_LOOK].replace(b"\x00", b"")  # seen as ASCII it is good enough to find a namespace
    if body.find(_SOAP_12, 0, _LOOK) >= 0:
        return "SOAP 1.2"
    return "SOAP 1.1" if body.find(_SOAP_11, 0, _LOOK) >= 0 else "XML"


def _is_utf16(body: bytes) -> bool:
    return body[:2] in (b"\xff\xfe", b"\xfe\xff", b"<\x00", b"\x00<")


def answer_codec(accept: str, posted: Codec) -> Codec:
    """The form of the answer: the best one of Accept, else the form in which was posted."""
    wanted = accepted_types(accept)
    own = media_type_of(posted.media_type)
    for media_type in wanted:
        if media_type in ("*/*", own, own.partition("/")[0] + "/*"):
            return posted
        if media_type in CODECS:
            return CODECS[media_type]
        if media_type == "application/*":
            return JSON_FORM
    if wanted:
        raise Refused("wire.not-acceptable", f"answers are given as {', '.join(sorted(CODECS))}")
    return posted
