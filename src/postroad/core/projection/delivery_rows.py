"""Rebuilds deliveries from rows of the index after a restart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from postroad.core.model.delivery import DeliveryContent, DeliveryState, FoundDelivery, Queued
from postroad.core.model.ids import delivery_origin
from postroad.core.model.journal import InvocationReturned, MessagePosted, decode
from postroad.core.projection.queries import WAITING

COLUMN = {name: place for place, name in enumerate(WAITING)}


def found_from_row(
    row: tuple[Any, ...],
    *,
    now: float,
    now_us: int,
    message_of: Callable[[tuple[Any, ...]], MessagePosted] | None = None,
) -> FoundDelivery:
    """Return the delivery described by a row of the queries ``mailbox``, ``delivery`` or ``received_by``."""
    message = (message_of or message_from_row)(row)
    available_at_us = row[COLUMN["available_at_us"]]
    available_at = now + max(0, available_at_us - now_us) / 1_000_000 if available_at_us else 0.0
    waits_for_push = bool(row[COLUMN["waits_for_push"]])
    returned = _returned(row)
    queued = Queued(
        number=row[COLUMN["number"]],
        message_seq=row[COLUMN["message_seq"]],
        message=message,
        copy=row[COLUMN["copy"]],
        hop=row[COLUMN["hop"]],
        recipient=row[COLUMN["recipient"]],
        content=_content(row, message, returned),
        expires_at_us=row[COLUMN["expires_at_us"]],
        attempt=row[COLUMN["attempts"]],
        available_at=0.0 if waits_for_push else available_at,
        retry_at=available_at if waits_for_push else 0.0,
        round=row[COLUMN["journey"]] or _journey_onward(row, returned),
        origin=row[COLUMN["origin"]],
    )
    return FoundDelivery(queued, DeliveryState(row[COLUMN["state"]]))


def message_from_row(row: tuple[Any, ...]) -> MessagePosted:
    """The message that the delivery belongs to, with all of its recipients."""
    message = decode(row[COLUMN["header"]])
    if not isinstance(message, MessagePosted):
        raise TypeError(f"delivery {row[0]} does not belong to a posted message")
    return message


def _returned(row: tuple[Any, ...]) -> InvocationReturned | None:
    """Return the entry of the in-transit service whose changed message the delivery carries, or None."""
    if row[COLUMN["content_seq"]] == row[COLUMN["message_seq"]]:
        return None
    returned = decode(row[COLUMN["content_facts"]])
    if not isinstance(returned, InvocationReturned):
        raise TypeError(f"delivery {row[0]} does not carry what an in-transit service returned")
    return returned


def _content(row: tuple[Any, ...], message: MessagePosted, returned: InvocationReturned | None) -> DeliveryContent:
    """The message's own content, or what an in-transit service made of it."""
    if returned is None:
        return posted_content(message, _body(row, "body_segment"))
    return returned_content(returned, _body(row, "content_segment"))


def _journey_onward(row: tuple[Any, ...], returned: InvocationReturned | None) -> int:
    """The journey that a service handed on together with the message; a dead letter's content may be of an earlier round."""
    is_its_own = returned is not None and row[COLUMN["content_seq"]] == delivery_origin(row[COLUMN["number"]])[0]
    return returned.journey if returned is not None and is_its_own else 0


def posted_content(message: MessagePosted, body: tuple[int, int, int, bytes] | None) -> DeliveryContent:
    """Return the content of a delivery that no service has changed."""
    return DeliveryContent(
        message.parts, body, wrapper_bytes=message.arrival.wrapper_bytes if message.arrival is not None else 0
    )


def returned_content(entry: InvocationReturned, body: tuple[int, int, int, bytes] | None) -> DeliveryContent:
    """Return the content of a delivery after an in-transit service has returned."""
    return DeliveryContent(entry.parts, body, entry.hops, entry.logical, entry.returned, entry.wrapper_bytes)


def _body(row: tuple[Any, ...], first: str) -> tuple[int, int, int, bytes] | None:
    segment, offset, length, digest = row[COLUMN[first] : COLUMN[first] + 4]
    return (segment, offset, length, bytes(digest)) if digest else None
