"""CloudEvents: the type of an event is the topic, its id the handle, and what else it says are properties named ``ce.…``.

An event has one document. A message of several is an event whose data lists them, as the network's JSON form does.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from postroad.core.codecs.cloudevents import CloudEvent, read_binary, read_structured, write_structured
from postroad.core.codecs.faults import malformed
from postroad.core.codecs.json_parts import read_parts, write_part
from postroad.core.codecs.json_shapes import JsonPart
from postroad.core.codecs.lexical import write_time
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.parts import JSON
from postroad.core.mediation.entities import has_own_id, left_out, read_line
from postroad.core.mediation.nouns import Given, Outgoing, Taken, Wire
from postroad.core.mediation.setting import Setting, cut, stretches
from postroad.core.model.formats import Format
from postroad.core.model.message import Message, Part, Property, PropertyType

MEDIA_TYPE = "application/cloudevents+json"
PARTS = "application/vnd.postroad.parts+json"
PREFIX = "ce."
UNTYPED = "postroad.message"  # the type of an event whose message has no topic


class Parts(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """The data of an event that stands for several documents."""

    documents: list[JsonPart] = []
    attachments: list[JsonPart] = []


_PARTS = msgspec.json.Decoder(Parts)


def is_binary(wire: Wire) -> bool:
    """Whether the attributes of the event stand in the headers."""
    return bool(wire.header("ce-specversion"))


def take(wire: Wire, limits: WireLimits = DEFAULT_LIMITS) -> Taken:
    binary = is_binary(wire)
    event = read_binary(wire.headers, wire.body, limits) if binary else read_structured(wire.body, limits)
    parts = _parts(event, limits)
    setting = None
    if not binary:
        sizes = tuple([len(part.data) for part in parts])
        setting = Setting(Format.CLOUDEVENTS, wire.content_type or MEDIA_TYPE, cut(wire.body, stretches(parts)), sizes)
    return Taken(format=Format.CLOUDEVENTS, parts=parts, setting=setting, header=_header(event))


def _parts(event: CloudEvent, limits: WireLimits) -> tuple[Part, ...]:
    if event.data is None:
        return ()
    kind = event.data_content_type or JSON
    if media_type_of(kind) != PARTS:
        return (Part(id="1", content_type=read_line(kind, "type", limits), data=bytes(event.data)),)
    try:
        listed = _PARTS.decode(event.data)
    except msgspec.DecodeError as fault:
        raise malformed(f"the data is not the list of parts that its type promises: {fault}", "/data") from None
    return read_parts(listed.documents, listed.attachments, limits)


def _header(event: CloudEvent) -> Message:
    said = (
        ("source", event.source),
        ("subject", event.subject),
        ("time", event.time),
        ("dataschema", event.data_schema),
    )
    properties = [Property(PREFIX + name, text) for name, text in said if text]
    properties += [_extension(name, value) for name, value in event.extensions]
    topic = "" if event.type == UNTYPED else event.type
    return Message(topic=topic, handle=event.id, properties=tuple(properties))


def _extension(name: str, value: str | int | bool) -> Property:
    if isinstance(value, bool):
        return Property(PREFIX + name, "true" if value else "false", PropertyType.BOOLEAN)
    return Property(PREFIX + name, str(value), PropertyType.NUMBER if isinstance(value, int) else PropertyType.STRING)


def give(message: Outgoing) -> Given:
    setting = message.in_setting(Format.CLOUDEVENTS)
    if setting is not None:
        return Given(media_type=setting.media_type, body=setting.filled(message.parts))
    event = event_of(message)
    single = message.parts[0] if len(message.parts) == 1 and not message.parts[0].attachment else None
    dropped = left_out([single], "CloudEvents") if single is not None else []
    if single is not None and has_own_id(single, 1):
        dropped.append(f"part {single.id}: its id has no place in CloudEvents")
    return Given(media_type=MEDIA_TYPE, body=[write_structured(event)], dropped=tuple(dropped))


def event_of(message: Outgoing) -> CloudEvent:
    """The event that stands for a message."""
    said = {entry.name.removeprefix(PREFIX): entry for entry in message.properties if entry.name.startswith(PREFIX)}
    texts = {name: said.pop(name).value if name in said else "" for name in ("source", "subject", "time", "dataschema")}
    kind, data = _data(message.parts)
    return CloudEvent(
        id=message.handle or message.session or "1",
        source=texts["source"] or f"/{message.sender}",
        type=message.topic or UNTYPED,
        subject=texts["subject"],
        time=texts["time"] or (write_time(message.posted_at_us) if message.posted_at_us else ""),
        data_content_type=kind,
        data_schema=texts["dataschema"],
        extensions=tuple([(name, _value(entry)) for name, entry in said.items()]),
        data=data,
    )


def _value(entry: Property) -> str | int | bool:
    if entry.type is PropertyType.BOOLEAN:
        return entry.value in ("true", "1")
    if entry.type is PropertyType.NUMBER and entry.value.lstrip("-").isdecimal():
        return int(entry.value)
    return entry.value


def _data(parts: tuple[Part, ...]) -> tuple[str, bytes | None]:
    if not parts:
        return "", None
    if len(parts) == 1 and not parts[0].attachment:
        return parts[0].content_type, parts[0].data
    documents = [write_part(part) for part in parts if not part.attachment]
    attachments = [write_part(part) for part in parts if part.attachment]
    return PARTS, msgspec.json.encode(Parts(documents, attachments))
