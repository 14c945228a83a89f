"""The SOAP envelope at the root of a message, as SOAP, SOAP with attachments and DIME share it.

The document of an envelope is the child of its Body; see ``codecs/soap/external_envelope.py`` for envelopes with more
content. A message of several documents without an envelope gets one of the network's: ``pr:Message`` in its Body,
with the parts in it or beside it. A document in a Body loses its XML declaration, which has no effect there.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.parts import XML
from postroad.core.codecs.soap import SOAP11, SoapCodec
from postroad.core.codecs.soap.external_envelope import ExternalEnvelope, read_external_envelope, wrap_in_envelope
from postroad.core.codecs.soap.names import ENVELOPES, network_name
from postroad.core.codecs.soap.parts import read_parts, write_part
from postroad.core.codecs.soap.recognition import root_of, version_of
from postroad.core.codecs.xml import SEPARATOR, is_embeddable, to_utf8
from postroad.core.mediation.conversion_losses import XML_TYPES, type_lost
from postroad.core.mediation.model import OutgoingMessage
from postroad.core.mediation.wrapper import Pieces, Slot, cut_wire, fill_pieces
from postroad.core.model.formats import Format
from postroad.core.model.message import Message, Part
from postroad.errors import Refused

ROOTED = (Format.SOAP, Format.SWA, Format.DIME)
POST, TOGETHER = network_name("Post"), network_name("Message")
SOAP_TYPES = (*XML_TYPES, "application/soap+xml")
_DECLARATION = re.compile(
    rb"""<\?xml\s+version\s*=\s*["']1\.0["'](?:\s+encoding\s*=\s*["'](?:utf-8|us-ascii)["'])?"""
    rb"""(?:\s+standalone\s*=\s*["'](?:yes|no)["'])?\s*\?>""",
    re.IGNORECASE,
)
_WHITE = b" \t\r\n"
UNNAMED = Part(id="1", content_type="", data=b"")


class DecodedRoot(NamedTuple):
    """The contents of an envelope at the root of a message."""

    documents: tuple[Part, ...]
    header: Message | None = None  # the network header in the envelope
    envelope: bytes = b""  # in UTF-8, without the network's own block, if it is a wrapper around a document
    is_as_came: bool = True  # the envelope can be delivered unchanged: it has no block that is only for the network
    holds_together: bool = False  # its only content is that the other parts belong together
    untouched_from: int = 0  # position from which the document equals the bytes of the envelope

    @property
    def pieces(self) -> Pieces:
        return cut_wire(self.envelope, self.stretches()) if self.envelope else ()

    def stretches(self) -> Iterator[tuple[Buffer, Slot]]:
        """Yield the part of the document that is unchanged in the envelope."""
        for document in self.documents[:1]:
            yield memoryview(document.data)[self.untouched_from :], Slot(0, self.untouched_from, len(document.data))


class RootEnvelope(NamedTuple):
    """An envelope that is the root of an encoded message."""

    version: SoapCodec
    data: bytes

    @property
    def media_type(self) -> str:
        """The envelope's media type; with a charset only if it is UTF-8, since others declare theirs."""
        is_utf8 = self.data.endswith(to_utf8(self.data))
        return self.version.media_type if is_utf8 else media_type_of(self.version.media_type)


def decode_root(body: bytes, limits: WireLimits = DEFAULT_LIMITS, said: Part = UNNAMED) -> DecodedRoot:
    """Decode an envelope; ``said`` holds the ID and headers that the wire gives the root."""
    came = read_external_envelope(body, limits)
    if len(came.children) == 1 and came.child.name == POST:
        message = came.version.decode_post(body, limits)
        return DecodedRoot(message.parts, message, is_as_came=False)
    plain = came.without_network_header()
    header, is_as_came = came.network_header(limits), plain is came
    if plain.is_more_than_wrapper:
        data = body if is_as_came else plain.utf8
        document = replace(said, content_type=plain.media_type, data=data)
        return DecodedRoot((document,), header, is_as_came=is_as_came)
    if plain.child.name == TOGETHER:
        documents = _together(plain, limits)
        return DecodedRoot(documents, header, is_as_came=is_as_came, holds_together=not documents)
    document = replace(said, content_type=XML, data=plain.document)
    return DecodedRoot((document,), header, plain.utf8, is_as_came, untouched_from=plain.untouched_from(document.data))


def _together(plain: ExternalEnvelope, limits: WireLimits) -> tuple[Part, ...]:
    element = plain.version.operation(plain.utf8, limits)
    inside = element.fields(Document=limits.parts, Attachment=limits.parts)
    return read_parts(inside["Document"], inside["Attachment"], limits)


def find_own_envelope(message: OutgoingMessage) -> RootEnvelope | None:
    """Return the envelope in which the message arrived, or its first document if that is one; None otherwise."""
    if not message.parts:
        return None
    wrapper = message.in_wrapper(*ROOTED)
    if wrapper is not None and wrapper.envelope:
        return envelope_in(b"".join(fill_pieces(wrapper.envelope, message.parts)))
    first = message.parts[0]
    return envelope_in(first.data) if not first.attachment and is_envelope(first.data) else None


def envelope_in(data: bytes) -> RootEnvelope:
    return RootEnvelope(version_of(data) or SOAP11, data)


def is_envelope(body: bytes, but: Container[str] = (POST, TOGETHER)) -> bool:
    """Return True if this is a complete SOAP envelope that is not one of the network's own operations."""
    if version_of(body) is None:
        return False
    try:
        return not any(child.name in but for child in read_external_envelope(body).children)
    except Refused:
        return False


def make_envelope(message: OutgoingMessage) -> RootEnvelope | None:
    """Wraps the document in a new envelope; None if there is none or it is not valid in a Body."""
    is_one = [part.attachment for part in message.parts].count(False) == 1
    first = message.parts[0] if is_one else None
    if first is None or first.attachment or media_type_of(first.content_type) not in XML_TYPES:
        return None
    data = strip_prolog(first.data)
    if not is_embeddable(data) or root_of(data).rpartition(SEPARATOR)[0] in ENVELOPES:
        return None
    return RootEnvelope(SOAP11, wrap_in_envelope(data))


def strip_prolog(data: bytes) -> bytes:
    """Strips the XML declaration and white space around a document's root."""
    text = data.removeprefix(b"\xef\xbb\xbf")
    declaration = _DECLARATION.match(text)
    return text[declaration.end() if declaration else 0 :].strip(_WHITE)


def wrap_parts(parts: Sequence[Part] = ()) -> bytes:
    """The network's envelope for a message of several parts, with these in it."""
    return wrap_in_envelope(
        b"<pr:Message>%b</pr:Message>" % b"".join(map(write_part, parts)) if parts else b"<pr:Message/>"
    )


def root_lost(part: Part, format: str) -> Iterator[str]:
    """Yield a sentence if the type of a part is lost, because the part is encoded in an envelope or as one."""
    return type_lost(part, format, SOAP_TYPES if version_of(part.data) else XML_TYPES)
