"""Reads a partner's MDN, and checks whether the partner signed it.

Rules: an MDN without a signature or with an invalid one is read too, so that people can see it, and ``signature``
records this; only ``mdn_verdict`` decides whether it is valid. The fields of the disposition notification are parsed
leniently: a field is found at the start of any line, even after blank lines, continuation lines without indentation, or
unusual line ends.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from cryptography.x509 import Certificate

from postroad.core.codecs.as2.dispositions import Disposition, read_disposition
from postroad.core.codecs.as2.headers import Headers, field_of, fields_of
from postroad.core.codecs.as2.heading import read_plain_entity
from postroad.core.codecs.as2.mic import Mic, read_mic
from postroad.core.codecs.as2.multipart_signed import read_signed
from postroad.core.codecs.as2.names import unquote_name
from postroad.core.codecs.as2.partners import As2Identity
from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.mime import Entity, Multipart, find_parameter, read_multipart, read_parameters
from postroad.errors import Refused

_LINE = re.compile(rb"([!-9;-~]+)[ \t]*:(.*)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_MAX_FIELDS, _MAX_BYTES = 200, 64 << 10  # real ones have ten, in less than a kilobyte


def read_notification(content: Buffer) -> dict[str, str]:
    """Return the first value of each name, unfolded, by its lower-case name."""
    found: dict[str, list[bytes]] = {}
    last: list[bytes] = []
    for line in bytes(content[:_MAX_BYTES]).splitlines():
        field = None if line[:1] in (b" ", b"\t") else _LINE.match(line)
        if field and len(found) < _MAX_FIELDS:
            last = [field[2]]
            found.setdefault(field[1].decode("ascii").lower(), last)
        elif line.strip():
            last.append(line)
    return {name: _on_one_line(lines) for name, lines in found.items()}


def _on_one_line(lines: list[bytes]) -> str:
    text = b" ".join([line.strip() for line in lines]).decode("utf-8", "replace")
    return _CONTROL.sub(" ", text).strip()


_TEXT_BYTES = 4096
_NOTIFICATION = "message/disposition-notification"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mdn:
    sender: str  # bare names; "" if the header is missing
    recipient: str
    message_id: str
    original_message_id: str
    disposition: Disposition
    mic: Mic | None
    signature: Literal["none", "valid", "invalid"]
    fault: str = ""  # why the signature is invalid
    signer: Certificate | None = None
    text: str = ""  # the part for people, at most 4 KB of it


def is_mdn(headers: Headers, body: Buffer, limits: WireLimits = DEFAULT_LIMITS) -> bool:
    """Return True if this is an MDN and not a message."""
    content_type = field_of(headers, "content-type")
    try:
        if media_type_of(content_type) == "multipart/signed":
            content_type = read_multipart(content_type, body, limits).parts[0].content_type
        return _is_report(content_type, limits)
    except Refused:
        return False


def _is_report(content_type: str, limits: WireLimits) -> bool:
    """Return True for a multipart/report of dispositions; some products omit the report type."""
    if media_type_of(content_type) != "multipart/report":
        return False
    return find_parameter(read_parameters(content_type, limits), "report-type").lower() in (
        "",
        "disposition-notification",
    )


def read_mdn(headers: Headers, body: Buffer, partner: As2Identity, limits: WireLimits = DEFAULT_LIMITS) -> Mdn:
    """Read an MDN; refuses only content that is not an MDN."""
    entity = read_plain_entity(fields_of(headers), body, limits)
    signature: Literal["none", "valid", "invalid"] = "none"
    fault, signer = "", None
    if media_type_of(entity.content_type) == "multipart/signed":
        multipart = read_multipart(entity.content_type, entity.body, limits)
        try:
            entity, verified = read_signed(multipart, partner.certificates, limits)
            signature, signer = "valid", verified.signers[0]
        except Refused as refused:
            entity, signature, fault = multipart.parts[0], "invalid", refused.detail
    return _read_report(headers, entity, limits, signature=signature, fault=fault, signer=signer)


def _read_report(
    headers: Headers,
    entity: Entity,
    limits: WireLimits,
    *,
    signature: Literal["none", "valid", "invalid"],
    fault: str,
    signer: Certificate | None,
) -> Mdn:
    if not _is_report(entity.content_type, limits):
        raise Refused("as2.malformed", "This is not an MDN: an MDN is a multipart/report of a disposition-notification")
    report = read_multipart(entity.content_type, entity.body, limits)
    notification = _notification(report, limits)
    return Mdn(
        sender=_name(headers, "as2-from"),
        recipient=_name(headers, "as2-to"),
        message_id=field_of(headers, "message-id"),
        original_message_id=notification.get("original-message-id", ""),
        disposition=read_disposition(notification.get("disposition", "")),
        mic=read_mic(notification.get("received-content-mic", "")),
        signature=signature,
        fault=fault,
        signer=signer,
        text=_text(report, limits),
    )


def _name(headers: Headers, field: str) -> str:
    value = field_of(headers, field)
    return unquote_name(value) if value else ""


def _notification(report: Multipart, limits: WireLimits) -> dict[str, str]:
    """Return the machine-readable fields, which are the content of this part."""
    for part in report.parts:
        if media_type_of(part.content_type) == _NOTIFICATION:
            return read_notification(part.data(limits))
    raise Refused("as2.malformed", f"The MDN has no part of type {_NOTIFICATION}")


def _text(report: Multipart, limits: WireLimits) -> str:
    first = report.parts[0]
    if media_type_of(first.content_type) not in ("", "text/plain"):
        return ""
    try:
        return bytes(first.data(limits)[:_TEXT_BYTES]).decode("utf-8", "replace").strip()
    except Refused:
        return ""  # nothing depends on the text for people
