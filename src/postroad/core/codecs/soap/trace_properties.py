"""The W3C trace context in the SOAP header: two properties, since SOAP has no standard for it.

Rule: they are not stored with the message's own properties, so only receivers that may see them get them.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from postroad.core.model.message import Delivered, Message, Property
from postroad.core.telemetry.trace_context import TRACEPARENT, TRACESTATE

NAMES = frozenset({TRACEPARENT, TRACESTATE})

_Traced = TypeVar("_Traced", Message, Delivered)


def take_trace_properties(message: _Traced) -> _Traced:
    """Return the message with its trace context taken out of its properties."""
    found = {entry.name: entry.value for entry in message.properties if entry.name in NAMES}
    if not found:
        return message
    return replace(
        message,
        properties=tuple([entry for entry in message.properties if entry.name not in NAMES]),
        traceparent=found.get(TRACEPARENT, ""),
        tracestate=found.get(TRACESTATE, ""),
    )


def list_properties(message: Message | Delivered) -> tuple[Property, ...]:
    """Return the properties to write in the SOAP header: the message's own, and its trace context."""
    if not message.traceparent:
        return message.properties
    context = ((TRACEPARENT, message.traceparent), (TRACESTATE, message.tracestate))
    return (*message.properties, *[Property(name, value) for name, value in context if value])
