"""SOAP envelopes that are not the network's own, without attachments."""

from __future__ import annotations

from urllib.parse import quote

from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.mime import find_parameter, read_parameters
from postroad.core.codecs.soap import SOAP11, SOAP12, SoapCodec
from postroad.core.codecs.soap.recognition import declare_encoding
from postroad.core.mediation.conversion_losses import expiry_lost, headers_lost, id_lost
from postroad.core.mediation.model import DecodedMessage, EncodedMessage, OutgoingMessage, Wire
from postroad.core.mediation.soap_root import (
    RootEnvelope,
    decode_root,
    envelope_in,
    find_own_envelope,
    make_envelope,
    root_lost,
    wrap_parts,
)
from postroad.core.mediation.wrapper import Wrapper, cut_wire, mark_of
from postroad.core.model.formats import Format
from postroad.core.model.message import Part

TYPES = ("text/xml", "application/soap+xml")
# Parameters that contain the type of an envelope, including its action.
_DESCRIBED_IN = ("type", "start-info", "startinfo")
_VISIBLE = "".join(map(chr, range(0x20, 0x7F)))


def decode_wire(wire: Wire, limits: WireLimits = DEFAULT_LIMITS) -> DecodedMessage:
    root = decode_root(declare_encoding(wire.body, wire.content_type), limits)
    documents = root.documents
    pieces = cut_wire(wire.body, root.stretches()) if root.is_as_came else root.pieces
    wrapper = Wrapper(Format.SOAP, wire.content_type, pieces, mark_of(documents), root.pieces, action_of(wire))
    return DecodedMessage(format=Format.SOAP, parts=documents, wrapper=wrapper, header=root.header)


def action_of(wire: Wire, root_type: str = "") -> str:
    """The SOAPAction of a message: a header in SOAP 1.1, a content type parameter in 1.2."""
    said = wire.header("soapaction") or _action_in(wire.content_type) or _action_in(root_type)
    return said if said.isascii() and said.isprintable() else quote(said, safe=_VISIBLE)


def _action_in(content_type: str) -> str:
    parameters = read_parameters(content_type)
    described = [find_parameter(parameters, name) for name in _DESCRIBED_IN]
    return find_parameter(parameters, "action") or next(filter(None, map(_own_action, described)), "")


def _own_action(content_type: str) -> str:
    return find_parameter(read_parameters(content_type), "action")


def encode_message(message: OutgoingMessage) -> EncodedMessage:
    wrapper = message.in_wrapper(Format.SOAP)
    if wrapper is not None and wrapper.wire:
        declared = wrapper.media_type if media_type_of(wrapper.media_type) in TYPES else ""
        return _given(envelope_in(b"".join(wrapper.fill(message.parts))), message.action, declared)
    envelope = _around_single(message)
    if envelope is None:
        return _given(RootEnvelope(SOAP11, wrap_parts(message.parts)), message.action)
    return _given(envelope, message.action, dropped=_lost(message.parts[0]))


def _around_single(message: OutgoingMessage) -> RootEnvelope | None:
    return find_own_envelope(message) or make_envelope(message) if len(message.parts) == 1 else None


def _given(envelope: RootEnvelope, action: str, declared: str = "", dropped: tuple[str, ...] = ()) -> EncodedMessage:
    return EncodedMessage(
        media_type=declared or type_of(envelope, action),
        body=[envelope.data],
        headers=action_headers(envelope.version, action),
        dropped=dropped,
    )


def action_headers(version: SoapCodec, action: str) -> tuple[tuple[str, str], ...]:
    """The SOAPAction header, which SOAP 1.1 requires even if it is empty."""
    return () if version is SOAP12 else (("SOAPAction", action or '""'),)


def action_parameter(version: SoapCodec, action: str) -> str:
    return f"; action={quote_parameter(action.strip(chr(34)))}" if version is SOAP12 and action else ""


def type_of(envelope: RootEnvelope, action: str) -> str:
    """Return an envelope's content type, with the action if its SOAP version puts it there."""
    return envelope.media_type + action_parameter(envelope.version, action)


def quote_parameter(text: str) -> str:
    """Quotes text for a parameter value."""
    return '"{}"'.format(text.replace("\\", r"\\").replace('"', r"\""))


def _lost(part: Part) -> tuple[str, ...]:
    place = "SOAP"
    return (*id_lost(part, place), *root_lost(part, place), *headers_lost(part, place), *expiry_lost(part, place))
