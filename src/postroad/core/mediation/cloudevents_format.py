"""CloudEvents: type is the topic, id the handle, and other attributes are properties named ``ce.…``.

An event has one document. A message with several documents is an event whose data lists them, as the network's JSON
form does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import quote

import msgspec
from msgspec import Struct

from postroad.core.codecs.cloudevents import (
    STRUCTURED,
    Attribute,
    CloudEvent,
    is_attribute_name,
    read_binary,
    read_structured,
    write_structured,
)
from postroad.core.codecs.json_parts import count_parts, read_parts, write_part
from postroad.core.codecs.json_shapes import JsonPart
from postroad.core.codecs.json_syntax import decode
from postroad.core.codecs.lexical import read_time, write_time
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.parts import OCTETS
from postroad.core.mediation.conversion_losses import expiry_lost, headers_lost, id_lost
from postroad.core.mediation.model import DecodedMessage, EncodedMessage, OutgoingMessage, Wire
from postroad.core.mediation.part_names import read_line
from postroad.core.mediation.wrapper import Wrapper, cut_wire, mark_of, stretches
from postroad.core.model.formats import Format
from postroad.core.model.message import Message, Part, Property, PropertyType
from postroad.core.telemetry.trace_context import TRACEPARENT, TRACESTATE
from postroad.errors import Refused

PARTS = "application/vnd.postroad.parts+json"
PREFIX = "ce."
UNTYPED = "postroad.message"  # type of an event for a message without a topic
PLACE = "CloudEvents"
TRACE_CONTEXT = frozenset({TRACEPARENT, TRACESTATE})
TEXTS = ("source", "subject", "time", "dataschema")
_IN_A_PATH = "/!$&'()*+,;=:@"  # what a path may hold as it is, besides letters and digits
_INTEGERS = range(-(1 << 31), 1 << 31)


class Parts(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """The data of an event with several documents."""

    documents: list[JsonPart] = []
    attachments: list[JsonPart] = []


_PARTS = msgspec.json.Decoder(Parts)


def is_binary(wire: Wire) -> bool:
    """Whether all attributes of the event are in the headers; a structured event may repeat them there."""
    return bool(wire.header("ce-specversion")) and media_type_of(wire.content_type) != STRUCTURED


def decode_wire(wire: Wire, limits: WireLimits = DEFAULT_LIMITS) -> DecodedMessage:
    if is_binary(wire):
        event = read_binary(wire.headers, wire.body, limits)
        return DecodedMessage(format=Format.CLOUDEVENTS, parts=_parts(event, limits), header=_header(event))
    event = read_structured(wire.body, limits)
    parts = _parts(event, limits)
    media_type = wire.content_type if media_type_of(wire.content_type) == STRUCTURED else STRUCTURED
    wrapper = Wrapper(Format.CLOUDEVENTS, media_type, cut_wire(wire.body, stretches(parts)), mark_of(parts))
    return DecodedMessage(format=Format.CLOUDEVENTS, parts=parts, wrapper=wrapper, header=_header(event))


def _parts(event: CloudEvent, limits: WireLimits) -> tuple[Part, ...]:
    if event.data is None:
        return ()
    kind = event.data_content_type or OCTETS  # what is JSON is marked so by its reader
    if media_type_of(kind) != PARTS:
        return (Part(id="1", content_type=read_line(kind, "type", limits), data=event.data),)
    listed = decode(event.data, _PARTS, limits, count_parts)
    return read_parts(listed.documents, listed.attachments, limits)


def _header(event: CloudEvent) -> Message:
    said = zip(TEXTS, (event.source, event.subject, event.time, event.data_schema), strict=True)
    properties = [Property(PREFIX + name, text) for name, text in said if text]
    properties += [_property(name, value) for name, value in event.extensions if name not in TRACE_CONTEXT]
    topic = "" if event.type == UNTYPED else event.type
    context = {name: str(value) for name, value in event.extensions if name in TRACE_CONTEXT}
    return Message(
        topic=topic,
        handle=event.id,
        properties=tuple(properties),
        traceparent=context.get(TRACEPARENT, ""),
        tracestate=context.get(TRACESTATE, ""),
    )


def _property(name: str, value: Attribute) -> Property:
    if isinstance(value, bool):
        return Property(PREFIX + name, "true" if value else "false", PropertyType.BOOLEAN)
    return Property(PREFIX + name, str(value), PropertyType.NUMBER if isinstance(value, int) else PropertyType.STRING)


def encode_message(message: OutgoingMessage) -> EncodedMessage:
    wrapper = message.in_wrapper(Format.CLOUDEVENTS)
    if wrapper is not None:
        return EncodedMessage(media_type=wrapper.media_type, body=wrapper.fill(message.parts))
    dropped = [
        f"the property {entry.name[:80]} cannot be represented in {PLACE}" for entry in _misfits(message.properties)
    ]
    if _is_plain(message.parts):
        [part] = message.parts
        dropped += [*id_lost(part, PLACE), *headers_lost(part, PLACE), *expiry_lost(part, PLACE)]
    return EncodedMessage(media_type=STRUCTURED, body=[write_structured(event_of(message))], dropped=tuple(dropped))


def event_of(message: OutgoingMessage) -> CloudEvent:
    """Return the event that represents a message."""
    misfits = {entry.name for entry in _misfits(message.properties)}
    said = {name: entry for name, entry in _list_attributes(message.properties) if entry.name not in misfits}
    texts = {name: said.pop(name).value if name in said else "" for name in TEXTS}
    kind, data = _data(message.parts)
    return CloudEvent(
        id=_first_text(message.handle, message.session) or "1",
        source=_first_text(texts["source"]) or f"/{quote(message.sender, safe=_IN_A_PATH)}",
        type=_first_text(message.topic) or UNTYPED,
        subject=texts["subject"],
        time=texts["time"] or (write_time(message.posted_at_us) if message.posted_at_us else ""),
        data_content_type=kind,
        data_schema=texts["dataschema"],
        extensions=(*[(name, _value(entry)) for name, entry in said.items()], *_trace_context(message)),
        data=data,
    )


def _trace_context(message: OutgoingMessage) -> list[tuple[str, str]]:
    """Return the attributes of the distributed tracing extension."""
    context = ((TRACEPARENT, message.traceparent), (TRACESTATE, message.tracestate))
    return [(name, value) for name, value in context if value]


def _first_text(*texts: str) -> str:
    return next((text for text in texts if text and text.isprintable()), "")


def _list_attributes(properties: Iterable[Property]) -> list[tuple[str, Property]]:
    """The properties that are attributes, with the names that they have there."""
    return [(entry.name.removeprefix(PREFIX), entry) for entry in properties if entry.name.startswith(PREFIX)]


def _misfits(properties: Iterable[Property]) -> list[Property]:
    """Return properties that look like attributes, but whose names or values an event cannot contain."""
    return [entry for name, entry in _list_attributes(properties) if not _fits(name, entry.value)]


def _fits(name: str, value: str) -> bool:
    if not value.isprintable():
        return False
    if name == "time":
        return _is_time(value)
    return value != "" if name in TEXTS else is_attribute_name(name)


def _is_time(text: str) -> bool:
    try:
        return bool(read_time(text, ""))
    except Refused:
        return False


def _value(entry: Property) -> Attribute:
    if entry.type is PropertyType.BOOLEAN:
        return entry.value == "true"
    if (
        entry.type is PropertyType.NUMBER
        and entry.value.removeprefix("-").isdecimal()
        and int(entry.value) in _INTEGERS
    ):
        return int(entry.value)
    return entry.value


def _is_plain(parts: Sequence[Part]) -> bool:
    """Return True if the event's data is the document itself: there is only one, and its type can be named."""
    if len(parts) != 1 or parts[0].attachment:
        return False
    kind = parts[0].content_type
    return kind.isascii() and kind.isprintable() and media_type_of(kind) != PARTS


def _data(parts: Sequence[Part]) -> tuple[str, bytes | None]:
    if not parts:
        return "", None
    if _is_plain(parts):
        return parts[0].content_type, parts[0].data
    documents = [write_part(part) for part in parts if not part.attachment]
    attachments = [write_part(part) for part in parts if part.attachment]
    return PARTS, msgspec.json.encode(Parts(documents, attachments))
