"""Encodes spans as an OTLP export request (protobuf), by hand: the general encoder takes forty times as long.

The message is ``opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest``; only fields that are set are
written, as protobuf prescribes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from struct import Struct

from postroad.core.telemetry.span import Attributes, AttributeValue, Span, SpanEvent, SpanKind, SpanLink

MEDIA_TYPE = "application/x-protobuf"
STATUS_ERROR = b"\x18\x02"  # Status.code = STATUS_CODE_ERROR
MAX_CACHED_CHARS = 64
ID_CHARS = 32
KINDS = {kind: bytes((0x30, kind)) for kind in SpanKind}
UNIQUE = frozenset({"messaging.message.id", "messaging.message.conversation_id"})  # values that are not repeated

_TIMES = Struct("<BQBQ").pack
_TIME = Struct("<BQ").pack


def encode_varint(value: int) -> bytes:
    """Return an unsigned integer in base 128, lowest bits first."""
    if value < 0x80:
        return bytes((value,))
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _field(tag: int, content: bytes) -> bytes:
    """Return a field with a length: the tag is ``number << 3 | 2``."""
    length = len(content)
    return (bytes((tag, length)) if length < 0x80 else bytes((tag,)) + encode_varint(length)) + content


def _value(value: AttributeValue) -> bytes:
    if isinstance(value, int):
        return b"\x18" + encode_varint(value & 0xFFFF_FFFF_FFFF_FFFF)
    return _field(0x0A, value.encode("utf-8", "replace"))


def _key_value(key: str, value: AttributeValue) -> bytes:
    return _field(0x0A, key.encode()) + _field(0x12, _value(value))


def _tagged(tag: int, key: str, value: AttributeValue) -> bytes:
    return _field(tag, _key_value(key, value))


_cached = lru_cache(maxsize=4_096)(_tagged)
_texts = lru_cache(maxsize=4_096)(lambda tag, text: _field(tag, text.encode("utf-8", "replace")))


@lru_cache(maxsize=64)
def _before_id(tag: int, key: str) -> bytes:
    """Return the bytes of an attribute before its value, a session or transaction ID."""
    return _tagged(tag, key, "0" * ID_CHARS)[:-ID_CHARS]


def _attribute(tag: int, key: str, value: AttributeValue) -> bytes:
    if key in UNIQUE and type(value) is str:
        if len(value) == ID_CHARS and value.isascii():
            return _before_id(tag, key) + value.encode()
        return _tagged(tag, key, value)
    if type(value) is str and len(value) > MAX_CACHED_CHARS:
        return _tagged(tag, key, value)
    return _cached(tag, key, value)


def _attributes(tag: int, attributes: Attributes) -> bytes:
    return b"".join([_attribute(tag, key, value) for key, value in attributes])


_shared = lru_cache(maxsize=4_096)(_attributes)


@lru_cache(maxsize=4_096)
def _after_event_time(name: str, attributes: Attributes) -> bytes:
    return _field(0x12, name.encode()) + _attributes(0x1A, attributes)


def _event(event: SpanEvent) -> bytes:
    return _field(0x5A, _TIME(0x09, event.at_us * 1_000) + _after_event_time(event.name, event.attributes))


def _link(link: SpanLink) -> bytes:
    return _field(0x6A, _field(0x0A, link.trace_id) + _field(0x12, link.span_id))


def encode_span(span: Span) -> bytes:
    """Return one span as a field of its scope."""
    parts = [b"\x0a\x10", span.trace_id, b"\x12\x08", span.span_id]
    if span.state:
        parts.append(_field(0x1A, span.state.encode()))
    if span.parent_id:
        parts += (b"\x22\x08", span.parent_id)
    parts += (
        _texts(0x2A, span.name),
        KINDS[span.kind],
        _TIMES(0x39, span.start_us * 1_000, 0x41, span.end_us * 1_000),
        _shared(0x4A, span.operation),
        _attributes(0x4A, span.attributes),
    )
    if span.events:
        parts += [_event(event) for event in span.events]
    if span.links:
        parts += [_link(link) for link in span.links]
    if span.error:
        parts.append(_field(0x7A, _field(0x12, span.error.encode()) + STATUS_ERROR))
    return _field(0x12, b"".join(parts))


def encode_request(spans: Iterable[Span], resource: Attributes, version: str) -> bytes:
    """Return the export request for spans of one resource (service name, network …)."""
    scope = _field(0x0A, _field(0x0A, b"postroad") + _field(0x12, version.encode()))
    scoped = _field(0x12, scope + b"".join([encode_span(span) for span in spans]))
    return _field(0x0A, _field(0x0A, _attributes(0x0A, resource)) + scoped)
