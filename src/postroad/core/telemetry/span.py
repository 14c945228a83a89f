"""A span, as OpenTelemetry defines it, and the ids of our spans.

Rule: an id is derived from journal entries and delivery numbers alone, so a restart, another node and a repeated export
make the same spans.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from postroad.core.model.ids import delivery_origin

AttributeValue = str | int
Attributes = tuple[tuple[str, AttributeValue], ...]


class SpanKind(IntEnum):
    INTERNAL = 1
    SERVER = 2
    CLIENT = 3
    PRODUCER = 4
    CONSUMER = 5


class SpanEvent(NamedTuple):
    at_us: int
    name: str
    attributes: Attributes = ()


class SpanLink(NamedTuple):
    trace_id: bytes
    span_id: bytes


class Span(NamedTuple):
    """One operation of the network on a message; ``error`` is its code if it failed."""

    trace_id: bytes
    span_id: bytes
    parent_id: bytes  # empty: it begins the trace
    name: str
    kind: SpanKind
    start_us: int
    end_us: int
    attributes: Attributes
    events: tuple[SpanEvent, ...] = ()
    links: tuple[SpanLink, ...] = ()
    error: str = ""
    state: str = ""  # the poster's tracestate, of a span that continues its trace
    operation: Attributes = ()  # the first attributes: those that it shares with many spans


@lru_cache(maxsize=256)  # each is needed by its own span and by its children
def make_span_id(entry: int, what: str, ordinal: int = 0) -> bytes:
    """Return the span ID of what entry number ``entry`` records."""
    return blake2b(b"%d.%b.%d" % (entry, what.encode(), ordinal), digest_size=8).digest()


def post_span_id(seq: int) -> bytes:
    return make_span_id(seq, "post")


def delivery_span_id(number: int) -> bytes:
    """Return the ID of the span of a delivery, whose number contains its entry and its ordinal."""
    entry, ordinal = delivery_origin(number)
    return make_span_id(entry, "deliver", ordinal)
