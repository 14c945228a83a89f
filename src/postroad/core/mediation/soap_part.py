"""Removes the SOAP part of a message for AS2 partners, who receive the attachments only.

The SOAP part is the envelope itself if it contains more than one document (an empty Body, header blocks), or the
document in its Body. Rules: a message without attachments keeps its document, since there is nothing else to send. An
empty envelope is dropped silently, and everything else that is dropped is recorded.
"""

from __future__ import annotations

from msgspec.structs import replace

from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.soap.external_envelope import read_external_envelope
from postroad.core.codecs.soap.recognition import root_of
from postroad.core.codecs.xml import SEPARATOR
from postroad.core.mediation.mime_entities import reads_as_attachment
from postroad.core.mediation.model import OutgoingMessage
from postroad.core.mediation.soap_root import ROOTED, is_envelope
from postroad.core.model.message import Part
from postroad.errors import Refused

STRIP, KEEP = "strip", "keep"


def without_soap_part(message: OutgoingMessage, soap_body: str = STRIP) -> tuple[OutgoingMessage, tuple[str, ...]]:
    """Return the message without its SOAP part, if it also has other parts, and one sentence for each dropped item."""
    if len(message.parts) < 2 or message.parts[0].attachment or not _came_as_soap(message):
        return message, ()
    first = message.parts[0]
    if is_envelope(first.data):
        said = _content_of(first)
    elif (wrapper := message.in_wrapper(*ROOTED)) is not None and wrapper.envelope:
        said = f"the SOAP Body {_root_name(first.data)}"
    else:
        return message, ()
    if said and soap_body == KEEP:
        return message, ()
    dropped = (f"{said} ({len(first.data)} bytes) is not sent beside its attachments",) if said else ()
    return _of(message, message.parts[1:]), dropped


def payloads(message: OutgoingMessage, soap_body: str = STRIP) -> tuple[Part, ...]:
    """The parts that an AS2 partner gets."""
    return without_soap_part(message, soap_body)[0].parts


def _came_as_soap(message: OutgoingMessage) -> bool:
    return message.form in ROOTED or (message.wrapper is not None and message.wrapper.format in ROOTED)


def _content_of(envelope: Part) -> str:
    """Describe the contents of an envelope; empty if it has none."""
    try:
        plain = read_external_envelope(envelope.data)
    except Refused:
        return "the SOAP envelope"
    names = [_local(one.name) for one in (*plain.blocks, *plain.children)]
    if not names and not plain.has_more:
        return ""
    return f"the SOAP envelope with {', '.join(names)[:80]}" if names else "the SOAP envelope"


def _root_name(document: bytes) -> str:
    try:
        return _local(root_of(document))[:80]
    except Refused:
        return ""


def _local(name: str) -> str:
    return name.rpartition(SEPARATOR)[2]


def _of(message: OutgoingMessage, parts: tuple[Part, ...]) -> OutgoingMessage:
    """Return the message with these parts; each is an attachment only if its own header declares it."""
    documents = [replace(part, attachment=reads_as_attachment(replace(part, attachment=False))) for part in parts]
    if len(documents) == 1 and not media_type_of(documents[0].content_type).startswith(("multipart/", "message/")):
        documents = [replace(documents[0], attachment=False)]
    return replace(message, parts=tuple(documents))
