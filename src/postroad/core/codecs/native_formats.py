"""Detects which native format a body is in from its bytes; the content type is a hint.

Rule: the bytes decide. If the content type disagrees with them, ``NativeForm.note`` records it, and the journal keeps the note.
Bytes that no native format begins with are refused, with what they look like. The native format is None for external formats,
which ``core.mediation`` reads. A body that is nearly always a native post is decoded at once, and detected only if that fails.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from postroad.core.codecs.codec import Codec
from postroad.core.codecs.dime import looks_like_dime
from postroad.core.codecs.envelope import ENVELOPE_FORM, ENVELOPES
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.json_syntax import UTF_8_MARK
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.media import MULTIPART, NDJSON, media_type_of, parse_accept
from postroad.core.codecs.refusals import malformed
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.codecs.soap.names import NAMESPACE, SOAP_11, SOAP_12
from postroad.core.codecs.soap.recognition import declare_encoding, version_of
from postroad.core.model.formats import Format
from postroad.core.model.message import Message
from postroad.errors import Refused

CODECS: dict[str, Codec] = {
    "application/json": JSON_FORM,
    "text/xml": SOAP11,
    "application/soap+xml": SOAP12,
    ENVELOPES: ENVELOPE_FORM,
    "application/msgpack": ENVELOPE_FORM,
    "application/vnd.msgpack": ENVELOPE_FORM,
}
FORMS: dict[str, Codec] = {
    Format.JSON: JSON_FORM,
    Format.SOAP11: SOAP11,
    Format.SOAP12: SOAP12,
    Format.ENVELOPE: ENVELOPE_FORM,
}
_NAMES = {codec.media_type: name for name, codec in FORMS.items()}
BULK_TYPES = frozenset({NDJSON, MULTIPART, ENVELOPES})
UNTYPED = frozenset({"", "application/octet-stream", "application/x-www-form-urlencoded", "text/plain"})
_XML_TYPES = ("application/xml", "text/xml", "application/soap+xml")
_SOAP_11, _SOAP_12, _OURS = SOAP_11.encode(), SOAP_12.encode(), NAMESPACE.encode()
_OPERATION = re.compile(rb"<(?:([\w.-]+):)?(Post|Poll|Acknowledge)[\s/>]")
_BINDING = re.compile(rb"""xmlns(?::([\w.-]+))?\s*=\s*["']%b["']""" % re.escape(_OURS))
_LOOK = 1024  # bytes within which most envelopes name their namespace


class NativeForm(NamedTuple):
    """A native form, and where the bytes contradict the declared type."""

    codec: Codec
    note: str = ""


class _Fields(Struct):
    """The fields that distinguish an event from a post."""

    specversion: Raw | UnsetType = UNSET
    to: Raw | UnsetType = UNSET
    reference: Raw | UnsetType = UNSET


_FIELDS = msgspec.json.Decoder(_Fields)


def detect_native_form(content_type: str, body: bytes) -> NativeForm | None:
    """The native format that a body is in; None when it is in an external format. Raises Refused when it can be neither."""
    kind = media_type_of(content_type)
    first = body[:1]
    if kind == "application/json" and first == b"{":
        return _JSON  # what most posts are
    if kind == "text/xml" and first == b"<" and body.find(_OURS, 0, _LOOK) >= 0 and body.find(_SOAP_12, 0, _LOOK) < 0:
        return _SOAP
    if kind == ENVELOPES and first >= b"\x80":
        return _ENVELOPE
    if kind not in CODECS and kind != "application/xml":
        return _undeclared(kind, body)
    found = _found(body)
    if found == "empty":
        raise malformed(f"Content-Type is {kind}, but the body is empty")
    codec = _by_bytes(kind, body, found)
    return NativeForm(codec, _note(kind, codec, found)) if codec is not None else None


_JSON, _SOAP, _ENVELOPE = NativeForm(JSON_FORM), NativeForm(SOAP11), NativeForm(ENVELOPE_FORM)


def form_of(codec: Codec) -> str:
    """The name of a native form in the journal."""
    return str(_NAMES[codec.media_type])


def decode_native_post(
    own: NativeForm | None, body: bytes, limits: WireLimits = DEFAULT_LIMITS, content_type: str = ""
) -> Message | None:
    """The message of a post in a native format; None where its bytes turn out to be in an external format.

    Only the content type may say in which encoding an envelope is; it is asked where the bytes cannot be read without it.
    """
    if own is None:
        return None
    try:
        return own.codec.decode_post(body, limits)
    except Refused:
        if is_external_format(own.codec, body):
            return None
        described = declare_encoding(body, content_type) if own.codec in (SOAP11, SOAP12) else body
        if described is body:
            raise
        return own.codec.decode_post(described, limits)


def is_external_format(codec: Codec, body: bytes) -> bool:
    """Whether a body that its codec could not read is an event or an envelope in an external format."""
    if codec is JSON_FORM:
        return _has_fields(body, "specversion")
    return codec in (SOAP11, SOAP12) and _found(body).startswith("SOAP") and not find_operation(body)


def codec_for(content_type: str, body: bytes) -> Codec:
    """The codec for a body that can only be in a native format."""
    own = detect_native_form(content_type, body)
    if own is not None:
        return own.codec
    found = _found(body)
    if found.startswith("SOAP"):
        return SOAP12 if found == "SOAP 1.2" else SOAP11  # it knows best what is missing
    kind, known = media_type_of(content_type), ", ".join(sorted(CODECS))
    raise Refused("wire.unsupported", f"the content type {kind[:80]!r} is not supported; use one of {known}")


def find_operation(body: bytes) -> str:
    """The operation of the network's that an envelope asks for: Post, Poll, Acknowledge; "" where it asks for none."""
    if _is_utf16(body):
        body = body.replace(b"\x00", b"")
    if body.find(_OURS) < 0:
        return ""
    first = _OPERATION.search(body)
    if first is None:
        return ""
    if body.find(b'xmlns:%b="%b"' % (first[1] or b"", _OURS)) >= 0:
        return str(first[2].decode())  # as nearly everyone writes it
    prefixes = set(_BINDING.findall(body))
    named = (found[2].decode() for found in _OPERATION.finditer(body) if (found[1] or b"") in prefixes)
    return next(named, "")


def _undeclared(kind: str, body: bytes) -> NativeForm | None:
    """Return the native format of a body without a meaningful type, if its bytes are unambiguous."""
    if kind not in UNTYPED:
        return None
    found = _found(body)
    if found in ("SOAP 1.1", "SOAP 1.2") and find_operation(body):
        codec: Codec = SOAP12 if found == "SOAP 1.2" else SOAP11
        return NativeForm(codec, _note(kind, codec, found))
    if found == "JSON" and _has_fields(body, "to", "reference") and not _has_fields(body, "specversion"):
        return NativeForm(JSON_FORM, _note(kind, JSON_FORM, found))
    return None


def _by_bytes(kind: str, body: bytes, found: str) -> Codec | None:
    if found == "JSON":
        return None if _has_fields(body, "specversion") else JSON_FORM
    if found in ("SOAP 1.1", "SOAP 1.2"):
        return (SOAP12 if found == "SOAP 1.2" else SOAP11) if find_operation(body) else None
    if looks_like_dime(body):
        return None
    if found == "XML" and kind in _XML_TYPES:
        return SOAP12 if kind == "application/soap+xml" else SOAP11
    if found == "msgpack" or (found == "something else" and CODECS.get(kind) is ENVELOPE_FORM):
        return ENVELOPE_FORM
    raise malformed(f"Content-Type is {kind}, but the body is {found}")


def _note(kind: str, codec: Codec, found: str) -> str:
    if kind == "application/xml" or CODECS.get(kind) is codec:
        return ""
    return f"declared as {kind[:80] or 'nothing'}, but is {found}"


def _has_fields(body: bytes, *names: str) -> bool:
    """Whether this JSON object has one of these fields; False also for what cannot be read."""
    try:
        fields = _FIELDS.decode(body.removeprefix(UTF_8_MARK))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return any(getattr(fields, name) is not UNSET for name in names)


def _found(body: bytes) -> str:
    """What the first bytes look like."""
    first = body[:1]
    if _is_utf16(body):
        return _found_xml(body)
    if first not in (b"<", b"{", b"["):
        first = body[:_LOOK].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if first == b"<":
        return _found_xml(body)
    if first in (b"{", b"["):
        return "JSON"
    if not first:
        return "empty"
    return "msgpack" if first[0] >= 0x80 else "something else"


def _found_xml(body: bytes) -> str:
    """One of the namespaces at the beginning is nearly always the envelope's; both or none of them prove nothing."""
    start = body[:_LOOK]
    if _is_utf16(body):
        start = start.replace(b"\x00", b"")  # seen as ASCII it is good enough to find a namespace
    is_11, is_12 = _SOAP_11 in start, _SOAP_12 in start
    if is_11 is is_12:
        version = version_of(body)
        is_11, is_12 = version is SOAP11, version is SOAP12
    return "SOAP 1.2" if is_12 else "SOAP 1.1" if is_11 else "XML"


def _is_utf16(body: bytes) -> bool:
    return body[:2] in (b"\xff\xfe", b"\xfe\xff", b"<\x00", b"\x00<")


def choose_answer_form(accept: str, posted: Codec) -> Codec:
    """The form of the answer: the best one of Accept, else the form in which was posted."""
    wanted = parse_accept(accept)
    own = media_type_of(posted.media_type)
    for media_type in wanted:
        if media_type in ("*/*", own, own.partition("/")[0] + "/*"):
            return posted
        if media_type in CODECS:
            return CODECS[media_type]
        if media_type == "application/*":
            return JSON_FORM
    if wanted:
        raise Refused("wire.not-acceptable", f"responses are available as {', '.join(sorted(CODECS))}")
    return posted
