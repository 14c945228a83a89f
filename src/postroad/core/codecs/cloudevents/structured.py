"""Events in the JSON format: one object an event, a batch an array of them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Raw

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cloudevents.documents import DATA, DATA_BASE64, read_document, write_document
from postroad.core.codecs.cloudevents.event import Attribute, CloudEvent, attributes_of, event_of
from postroad.core.codecs.cloudevents.raw_json import array_items, object_members
from postroad.core.codecs.json_syntax import UTF_8_MARK
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.parts import JSON
from postroad.core.codecs.refusals import malformed, too_complex

STRUCTURED = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"

_VALUE: msgspec.json.Decoder[Attribute] = msgspec.json.Decoder(str | int | bool)
_NOT_ATTRIBUTES = (DATA, DATA_BASE64)


def read_structured(body: Buffer, limits: WireLimits = DEFAULT_LIMITS) -> CloudEvent:
    return _event(bytes(body).removeprefix(UTF_8_MARK), "", limits)


def read_batch(body: Buffer, limits: WireLimits = DEFAULT_LIMITS) -> list[CloudEvent]:
    events = array_items(bytes(body).removeprefix(UTF_8_MARK), limits)
    if len(events) > limits.bulk_messages:
        raise too_complex(f"the batch has {len(events)} events; at most {limits.bulk_messages} are allowed")
    return [_event(event, f"/{number}", limits) for number, event in enumerate(events)]


def _event(body: bytes, pointer: str, limits: WireLimits) -> CloudEvent:
    members = object_members(body, pointer, limits)
    attributes: dict[str, Attribute] = {}
    for name, raw in members.items():
        if name not in _NOT_ATTRIBUTES and (value := bytes(raw)) != b"null":  # null is the same as nothing
            attributes[name] = _attribute(value, name, pointer)
    content_type = str(attributes.get("datacontenttype", ""))
    data = read_document(members, content_type, pointer)
    if data is not None and not content_type and DATA in members:
        attributes["datacontenttype"] = JSON  # implied here, and nowhere else
    return event_of(attributes, data, pointer, limits)


def _attribute(value: bytes, name: str, pointer: str) -> Attribute:
    try:
        return _VALUE.decode(value)
    except msgspec.DecodeError:
        said = f"{name[:40]!r} is an attribute, and can only be a text, a whole number, true or false"
        raise malformed(said, f"{pointer}/{name[:40]}") from None


def write_structured(event: CloudEvent) -> bytes:
    return msgspec.json.encode(_members(event))


def write_batch(events: Iterable[CloudEvent]) -> bytes:
    return msgspec.json.encode([_members(event) for event in events])


def _members(event: CloudEvent) -> dict[str, Attribute | Raw]:
    return {**dict(attributes_of(event)), **write_document(event.data, event.data_content_type)}
