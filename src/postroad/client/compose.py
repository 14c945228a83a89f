"""Build messages from plain Python values: names as strings, properties as a dict, times as datetimes.

Pure functions, so an expiration is a moment and never "in two hours".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypedDict, Unpack

from postroad.client.documents import make_parts
from postroad.core.codecs.property_values import write_items
from postroad.core.model.message import (
    Argument,
    Delivered,
    Message,
    MessageType,
    Part,
    Property,
    PropertyType,
    Recipient,
    Status,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

To = str | Recipient | Iterable[str | Recipient]
SingleValue = str | bool | int | float | Decimal | date | datetime
PropertyValue = (
    SingleValue | Property | list[SingleValue] | tuple[SingleValue, ...]
)  # a list is an array, a tuple a sequence


class MessageFields(TypedDict, total=False):
    """The fields of a post, all optional."""

    to: To
    document: Any
    documents: Iterable[Any]
    attachments: Iterable[Any]
    type: MessageType | str
    topic: str
    handle: str
    possible_duplicate: bool
    reference: str
    expires_at: datetime
    route: To
    routing: str  # static or dynamic, for every service on the way
    arguments: Mapping[str, str]  # for every recipient that is given as a plain name
    properties: Mapping[str, PropertyValue]
    status: Status
    sender: str
    traceparent: str  # the W3C trace context in which the message is made; OpenTelemetry's propagators write it
    tracestate: str


def message(**fields: Unpack[MessageFields]) -> Message:
    """Return a message to post, with the model's defaults for omitted fields."""
    if unknown := fields.keys() - MessageFields.__annotations__.keys():
        raise TypeError(
            f"a message has no {', '.join(sorted(unknown))}; it has {', '.join(MessageFields.__annotations__)}"
        )
    expires_at = fields.get("expires_at")
    properties = fields.get("properties", {})
    document = [fields["document"]] if "document" in fields else []
    return Message(
        sender=fields.get("sender", ""),
        to=_recipients(fields.get("to", ()), fields.get("arguments", {})),
        type=MessageType(fields.get("type", MessageType.NOTIFICATION)),
        topic=fields.get("topic", ""),
        handle=fields.get("handle", ""),
        possible_duplicate=fields.get("possible_duplicate", False),
        reference=fields.get("reference", ""),
        expires_at_us=_microseconds(expires_at) if expires_at else 0,
        route=_recipients(fields.get("route", ()), {}),
        routing=fields.get("routing", ""),
        properties=tuple(make_property(name, value) for name, value in properties.items()),
        status=fields.get("status"),
        parts=make_parts([*document, *fields.get("documents", ())], fields.get("attachments", ())),
        traceparent=fields.get("traceparent", ""),
        tracestate=fields.get("tracestate", ""),
    )


def build_response(
    delivered: Delivered,
    answered: tuple[Part, ...] = (),
    *,
    status: Status | None = None,
    properties: Mapping[str, PropertyValue] | None = None,
    traceparent: str = "",
    tracestate: str = "",
) -> Message:
    """Return the response to a delivered request, or the changed message of a service in transit."""
    return Message(
        type=MessageType.RESPONSE,
        reference=delivered.token,
        status=status,
        properties=tuple(make_property(name, value) for name, value in (properties or {}).items()),
        parts=answered,
        traceparent=traceparent,
        tracestate=tracestate,
    )


def build_cancel(session: str) -> Message:
    """Return a cancel message, which withdraws the undelivered copies of a message."""
    return Message(type=MessageType.CANCEL, reference=session)


def make_property(name: str, value: PropertyValue) -> Property:
    if isinstance(value, list | tuple):
        items = [make_property(name, one) for one in value]
        kind = PropertyType.ARRAY if isinstance(value, list) else PropertyType.SEQUENCE
        return Property(name, write_items([(one.type, one.value) for one in items]), kind)
    if isinstance(value, Property):
        return value
    if isinstance(value, bool):
        return Property(name, "true" if value else "false", PropertyType.BOOLEAN)
    if isinstance(value, int | float | Decimal):
        return Property(name, str(value), PropertyType.NUMBER)
    if isinstance(value, datetime):
        return Property(name, _aware(value).isoformat(), PropertyType.DATE)
    if isinstance(value, date):
        return Property(name, value.isoformat(), PropertyType.DATE)
    return Property(name, value)


def _recipients(to: To, arguments: Mapping[str, str]) -> tuple[Recipient, ...]:
    named = [to] if isinstance(to, str | Recipient) else list(to)
    given = tuple(Argument(name, value) for name, value in arguments.items())
    return tuple(item if isinstance(item, Recipient) else Recipient(item, given) for item in named)


def _microseconds(moment: datetime) -> int:
    return (_aware(moment) - EPOCH) // MICROSECOND


def _aware(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone; use an aware datetime, such as datetime.now(UTC)")
    return moment
