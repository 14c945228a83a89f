"""The table of external formats: decoders and encoders."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.parts import check_lists
from postroad.core.mediation import cloudevents_format, dime_format, mime_format, soap_format, swa_format
from postroad.core.mediation.conversion_losses import action_lost, wrapping_lost
from postroad.core.mediation.format_detection import DetectedFormat, detect_format
from postroad.core.mediation.header_fields import has_fields, read_fields
from postroad.core.mediation.model import DecodedMessage, EncodedMessage, OutgoingMessage, Wire, make_outgoing
from postroad.core.mediation.soap_part import STRIP, without_soap_part
from postroad.core.mediation.soap_root import ROOTED
from postroad.core.mediation.wrapper import unpack_wrapper
from postroad.core.model.delivery import LocalDelivery
from postroad.core.model.directory import Service
from postroad.core.model.formats import PLAIN, Format
from postroad.core.model.message import Delivered, Message
from postroad.core.telemetry.trace_context import TRACEPARENT, TRACESTATE
from postroad.errors import Refused

DECODERS: dict[Format, Callable[[Wire, WireLimits], DecodedMessage]] = {
    Format.SOAP: soap_format.decode_wire,
    Format.SWA: swa_format.decode_wire,
    Format.DIME: dime_format.decode_wire,
    Format.MIME: mime_format.decode_wire,
    Format.CLOUDEVENTS: cloudevents_format.decode_wire,
}
ENCODERS: dict[Format, Callable[[OutgoingMessage], EncodedMessage]] = {
    Format.SOAP: soap_format.encode_message,
    Format.SWA: swa_format.encode_message,
    Format.DIME: dime_format.encode_message,
    Format.MIME: mime_format.encode_message,
    Format.AS2: mime_format.encode_entity,  # which is then signed and encrypted
    Format.CLOUDEVENTS: cloudevents_format.encode_message,
}


def decode_wire(wire: Wire, limits: WireLimits = DEFAULT_LIMITS) -> DecodedMessage:
    """Decodes a message in any external format."""
    found = detect_format(wire, limits)
    if found.format not in DECODERS:
        raise Refused("wire.unsupported", "AS2 needs the keys of its recipient; post it to the AS2 address")
    return add_note(DECODERS[found.format](redeclare_wire(wire, found), limits), found)


def redeclare_wire(wire: Wire, found: DetectedFormat) -> Wire:
    """The wire under the content type that its bytes have."""
    if found.content_type == wire.content_type:
        return wire
    others = [(name, value) for name, value in wire.headers if name != "content-type"]
    return Wire([*others, ("content-type", found.content_type)], wire.body)


def add_note(taken: DecodedMessage, found: DetectedFormat) -> DecodedMessage:
    return replace(taken, notes=(found.note, *taken.notes)) if found.note else taken


def message_of(wire: Wire, taken: DecodedMessage, limits: WireLimits = DEFAULT_LIMITS) -> Message:
    """The message to be posted: from the transport's header fields, otherwise from the message itself."""
    own = taken.header or Message()
    fields = read_fields(wire.headers, limits) if has_fields(wire.headers) else Message()
    named = {entry.name: entry for entry in (*own.properties, *fields.properties)}
    message = Message(
        sender=fields.sender or own.sender,
        to=fields.to or own.to,
        type=fields.type if wire.header("postroad-type") else own.type,
        topic=fields.topic or own.topic,
        handle=fields.handle or own.handle,
        possible_duplicate=fields.possible_duplicate or own.possible_duplicate,
        reference=fields.reference or own.reference,
        expires_at_us=fields.expires_at_us or own.expires_at_us,
        route=fields.route or own.route,
        properties=tuple(named.values()),
        status=fields.status or own.status,
        parts=taken.parts,
        routing=fields.routing or own.routing,
        traceparent=own.traceparent or wire.header(TRACEPARENT),
        tracestate=own.tracestate if own.traceparent else wire.header(TRACESTATE),
    )
    check_lists(message, limits)
    return message


def external_format_of(service: Service) -> Format | None:
    """Return the external format of a service; None if it receives a native form."""
    return Format(service.format) if service.format in PLAIN else None


def encode_delivery(delivered: Delivered, format: Format, soap_body: str = "") -> EncodedMessage:
    """Encodes a delivery in an external format, reproducibly; ``soap_body`` is the AS2 profile's option for SOAP."""
    return encode_message(outgoing_of(delivered, soap_body), format)


def outgoing_of(delivered: Delivered, soap_body: str = "") -> OutgoingMessage:
    packed = delivered.wrapper if isinstance(delivered, LocalDelivery) else b""
    return make_outgoing(
        delivered,
        unpack_wrapper(packed) if packed else None,
        seed_of(delivered.session, delivered.recipient_gcid),
        soap_body,
    )


def seed_of(session: str, recipient: str) -> bytes:
    """Return the seed for boundaries: the same for all attempts at a delivery, different for each receiver."""
    return f"{session}.{recipient}".encode()


def encode_message(message: OutgoingMessage, format: Format) -> EncodedMessage:
    """The message in an external format."""
    stripped: tuple[str, ...] = ()
    if message.soap_body or format is Format.AS2:
        message, stripped = without_soap_part(message, message.soap_body or STRIP)
    given = ENCODERS[format](message)
    wrapper = message.wrapper
    if wrapper is None:
        return replace(given, dropped=(*stripped, *given.dropped)) if stripped else given
    lost = [*stripped]
    if wrapper.media_type != given.media_type and not given.head:
        lost += wrapping_lost(wrapper)
    if format not in ROOTED:
        lost += action_lost(wrapper, format.value)
    return replace(given, dropped=(*given.dropped, *lost)) if lost else given
