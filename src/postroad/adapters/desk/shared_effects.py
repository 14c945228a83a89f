"""The effect of an entry on the shared desk's tables: keys used; deliveries queued, settled or rescheduled.

Rule: pure, and the only place with this knowledge; committing a group and rebuilding the tables from the journal both
use it, so they cannot differ.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from msgspec.structs import replace

from postroad.core.delivery.mailbox import IN_A_BATCH_US
from postroad.core.model.journal import (
    BatchesChanged,
    DeliveriesAcknowledged,
    DeliveriesEnded,
    DeliveriesLeased,
    DeliveriesReturned,
    DeliveryAttempted,
    Entry,
    InvocationReturned,
    MessagePosted,
)
from postroad.core.projection.project import settled_by_post

RETURNING = DeliveriesReturned | DeliveryAttempted
ABOUT_DELIVERIES = DeliveriesAcknowledged | DeliveriesEnded | DeliveriesLeased | RETURNING
SETTLING = DeliveriesAcknowledged | DeliveriesEnded


class DeliveryTouch(NamedTuple):
    """A delivery that keeps waiting: attempts to add, and when it is available again."""

    attempts: int
    available_at_us: int
    is_push_retry: bool = False  # it waits for its next push, and may be polled before


def list_queued_copies(entry: MessagePosted) -> list[tuple[int, str]]:
    """Return the ordinal and mailbox of each delivery that a post queues."""
    return [(ordinal, copy.hops[0].service) for ordinal, copy in enumerate(entry.copies) if not copy.code]


def list_answered(entry: Entry) -> tuple[int, ...]:
    """Return the deliveries that an entry settles, if they still wait, by answering them or ending their journey."""
    if isinstance(entry, InvocationReturned):
        return (entry.delivery,)
    return settled_by_post(entry) if isinstance(entry, MessagePosted) else ()


def find_touch(entry: Entry) -> DeliveryTouch | None:
    """Return the change of attempts and availability that an entry makes to its deliveries; None if it makes none."""
    if isinstance(entry, DeliveriesLeased):
        return DeliveryTouch(1, entry.at_us + int(entry.lease_s * 1_000_000))
    if isinstance(entry, RETURNING):
        is_push_retry = isinstance(entry, DeliveryAttempted) and entry.is_put_off
        return DeliveryTouch(0, entry.at_us + int(entry.delay_s * 1_000_000), is_push_retry)
    if isinstance(entry, BatchesChanged):
        return DeliveryTouch(0, IN_A_BATCH_US)
    return None


def drop_settled(entry: ABOUT_DELIVERIES, gone: Collection[int]) -> ABOUT_DELIVERIES:
    """Return the entry without deliveries that are already settled."""
    return replace(entry, deliveries=tuple(number for number in entry.deliveries if number not in gone))
