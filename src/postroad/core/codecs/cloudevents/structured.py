"""Reads and writes events in the JSON format: an object for each event, an array of them for a batch.

Members are separated without reading what is inside. ``json_syntax`` looks for repeated names in all of a message;
here most bytes are a document, in which names repeat and are its owner's business. So only the members of the event
itself are examined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

import msgspec
from msgspec import Raw

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cloudevents.documents import DATA, DATA_BASE64, read_document, write_document
from postroad.core.codecs.cloudevents.event import Attribute, CloudEvent, attributes_of, event_of
from postroad.core.codecs.json_nesting import nests_deeper
from postroad.core.codecs.json_syntax import UTF_8_MARK, fault_in
from postroad.core.codecs.lexical import check_size
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.parts import JSON
from postroad.core.codecs.refusals import malformed, too_complex

_Shape = TypeVar("_Shape")

MAX_OTHERS = 10  # members of an event that are no extensions
_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_ARRAY = msgspec.json.Decoder(list[Raw])
_MEMBER_NAME = msgspec.json.Decoder(str)
_BEFORE_VALUE = re.compile(rb'\s*+[{,]\s*+("[^"\\]*+")\s*+:\s*+')  # with a name in which nothing is escaped
_BEFORE_NAME = re.compile(rb'\s*+[{,]\s*+"')
# At most 100 escapes, because each one holds memory until the match ends.
_STRETCH = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+){0,100}', re.DOTALL)
_AFTER_NAME = re.compile(rb'"\s*+:\s*+')
_QUOTE = ord('"')


def object_members(body: bytes, pointer: str, limits: WireLimits) -> dict[str, Raw]:
    """The members of an object, in order; a name that occurs twice is refused."""
    members = _parsed(body, _OBJECT, pointer, limits)
    if len(members) > (most := limits.properties + MAX_OTHERS):
        raise too_complex(f"the event has {len(members)} members; at most {most} are allowed", pointer)
    _check_names(body, members, pointer)
    return members


def array_items(body: bytes, limits: WireLimits) -> list[bytes]:
    return [bytes(item) for item in _parsed(body, _ARRAY, "", limits)]


def _parsed(body: bytes, decoder: msgspec.json.Decoder[_Shape], pointer: str, limits: WireLimits) -> _Shape:
    check_size(body, limits)
    try:
        if not body.isascii():
            body.decode()
        decoded = decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise malformed(f"this is not the JSON of a CloudEvent in UTF-8: {fault_in(body, fault)}", pointer) from None
    except RecursionError:
        raise _too_deep(limits, pointer) from None
    if nests_deeper(body, limits.json_depth):
        raise _too_deep(limits, pointer)
    return decoded


def _too_deep(limits: WireLimits, pointer: str) -> Exception:
    return too_complex(f"the JSON is nested more than {limits.json_depth} levels deep", pointer)


def _check_names(body: bytes, members: dict[str, Raw], pointer: str) -> None:
    """Walk from value to value. The last of two values with one name is known, so the walk fails at the first of them."""
    at, left = 0, set(members)
    while left:
        found = _BEFORE_VALUE.match(body, at)
        written, value_at = (found[1], found.end()) if found else _escaped_name(body, at)
        name = _MEMBER_NAME.decode(written)
        if name not in left or not body.startswith(value := bytes(members[name]), value_at):
            raise malformed("a name occurs twice in the event", f"{pointer}/{name[:40]}")
        left.remove(name)
        at = value_at + len(value)
    if body[at:].strip() not in (b"}", b"{}"):
        raise malformed("a name occurs twice in the event", pointer)


def _escaped_name(body: bytes, at: int) -> tuple[bytes, int]:
    """Return the next name of a well-formed object in its quotes, and where its value begins; an empty name if there is none."""
    before = _BEFORE_NAME.match(body, at)
    if before is None:
        return b'""', at
    end = before.end()
    while body[end] != _QUOTE and (stretch := _STRETCH.match(body, end)):
        end = stretch.end()
    after = _AFTER_NAME.match(body, end)
    return body[before.end() - 1 : end + 1], after.end() if after else end


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
