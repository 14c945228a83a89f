"""What an entry does to deliveries: which it ends, and which it adds to a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from postroad.core.model.journal import (
    BatchesChanged,
    DeliveriesAcknowledged,
    DeliveriesEnded,
    Entry,
    InvocationReturned,
    MessagePosted,
)
from postroad.core.projection.project import settled_by_post

SETTLES: dict[type, Callable[[Any], tuple[int, ...]]] = {
    MessagePosted: settled_by_post,
    InvocationReturned: lambda entry: (entry.delivery,),
    DeliveriesAcknowledged: lambda entry: entry.deliveries,
    DeliveriesEnded: lambda entry: entry.deliveries,
}


def is_plain_post(entry: Entry) -> bool:
    """Whether the entry is a post that settles and ends nothing, like most entries."""
    return type(entry) is MessagePosted and entry.answers is None and entry.ends is None


def list_ended_deliveries(entry: Entry) -> tuple[int, ...]:
    """Return the deliveries that this entry ends."""
    settles = SETTLES.get(type(entry))
    return settles(entry) if settles is not None else ()


def list_batched_deliveries(entry: Entry) -> tuple[int, ...]:
    """Return the deliveries that this entry adds to a batch."""
    return entry.deliveries if type(entry) is BatchesChanged else ()
