"""Converts a row of the shared desk's tables into a delivery that can be handed out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postroad.core.model.delivery import Queued
from postroad.core.model.journal import InvocationReturned, MessagePosted, decode
from postroad.core.projection.delivery_rows import posted_content, returned_content


def read_queued_row(row: Sequence[Any], available_at: float, retry_at: float = 0.0) -> Queued:
    """The delivery that a row of the statements ``reserve`` or ``waiting`` describes."""
    number, message_seq, copy, hop, mailbox, expires_at_us, attempts, group, body_at, body_bytes = row[:10]
    header, replaced, digest, data, content_seq, journey, origin = row[10:17]
    message = decode(header)
    returned = decode(replaced) if replaced is not None else None
    if not isinstance(message, MessagePosted) or not isinstance(returned, InvocationReturned | None):
        raise TypeError(f"delivery {number} does not belong to a posted message")
    body = None if body_at is None else (group, body_at, body_bytes, digest)
    return Queued(
        number=number,
        message_seq=message_seq,
        message=message,
        copy=copy,
        hop=hop,
        recipient=mailbox,
        content=returned_content(returned, body) if returned is not None else posted_content(message, body),
        expires_at_us=expires_at_us,
        attempt=attempts,
        available_at=available_at,
        retry_at=retry_at,
        data=data,
        round=journey or (returned.journey if returned is not None and content_seq is None else 0),
        origin=origin or 0,
    )
