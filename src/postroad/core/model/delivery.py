"""A delivery: one copy of a message at one service, and the table of what may happen to it.

The states and moves below are the complete lifecycle of a delivery; the documentation draws its diagram from
``MOVES`` and the index stores the state's number. A lease is not a state: it is in memory, and losing it only means
being handed out again.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from msgspec import Struct

from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import MessagePosted, ReturnedContext
from postroad.core.model.message import Delivered, MessageType
from postroad.core.model.part_facts import PartFacts
from postroad.core.model.route import Hop


class DeliveryState(IntEnum):
    QUEUED = 0  # waiting in the service's mailbox, perhaps leased to a poller
    DELIVERED = 1  # acknowledged; final
    REJECTED = 2  # a filter or rule said no; final
    FAILED = 3  # given up; kept as a dead letter; final
    EXPIRED = 4  # final
    CANCELLED = 5  # withdrawn by the sender; final


class JourneyLeg(IntEnum):
    """The two legs of a journey."""

    OUT = 0  # to the recipient, who may have been given it already
    BACK = 1  # its response is on the way to the sender


MOVES: dict[DeliveryState, dict[str, DeliveryState]] = {
    DeliveryState.QUEUED: {
        "leased": DeliveryState.QUEUED,
        "returned": DeliveryState.QUEUED,
        "push failed": DeliveryState.QUEUED,
        "acknowledged": DeliveryState.DELIVERED,
        "answered": DeliveryState.DELIVERED,
        "rejected": DeliveryState.REJECTED,
        "given up": DeliveryState.FAILED,
        "expired": DeliveryState.EXPIRED,
        "cancelled": DeliveryState.CANCELLED,
    },
    DeliveryState.DELIVERED: {},
    DeliveryState.REJECTED: {},
    DeliveryState.FAILED: {},
    DeliveryState.EXPIRED: {},
    DeliveryState.CANCELLED: {},
}

# What someone may do, once, about a delivery that failed. It stays failed; what is resent is another delivery, in a new round.
DEALT_WITH: dict[str, DeliveryState] = {"resent": DeliveryState.QUEUED, "dropped": DeliveryState.FAILED}

FINAL: dict[str, DeliveryState] = {
    "rejected": DeliveryState.REJECTED,
    "failed": DeliveryState.FAILED,
    "expired": DeliveryState.EXPIRED,
    "cancelled": DeliveryState.CANCELLED,
}


class DeliveryContent(Struct, gc=False, frozen=True, array_like=True):
    """The parts that a delivery carries, and the position of their bytes (segment, offset, length, digest).

    After the first service, also the route if that has changed, and the context data that invoked services added.
    """

    parts: tuple[PartFacts, ...]
    body: tuple[int, int, int, bytes] | None
    hops: tuple[Hop, ...] = ()
    logical: tuple[Hop, ...] = ()
    returned: tuple[ReturnedContext, ...] = ()
    wrapper_bytes: int = 0  # bytes behind the parts in the body: how the message was wrapped when it came


class Queued(Struct, gc=False, kw_only=True):
    """A delivery waiting in a mailbox. Mutable, because lease and attempt change while it waits."""

    number: int
    message_seq: int
    message: MessagePosted
    copy: int
    hop: int
    recipient: str  # GCID
    content: DeliveryContent
    expires_at_us: int
    attempt: int = 0
    available_at: float = 0.0  # monotonic seconds; later than now while leased or put back with a delay
    leased: bool = False
    retry_at: float = 0.0  # monotonic seconds before which it is not pushed again; a poll may have it; 0: at any time
    token: str = ""  # once computed
    data: bytes | None = None  # the body's bytes while they are still warm
    round: int = 0  # the journey, where it is not the one that began with the post
    origin: int = 0  # of a dead letter that was resent: the first round's delivery

    @property
    def place(self) -> int:
        """Its place among the deliveries of one hand-out: that of its post, whatever order services on the way answered in.

        A later round of a dead letter has its own place, behind what was posted before it was resent.
        """
        return self.number if not self.hop or self.origin else delivery_number(self.message_seq, self.copy)

    @property
    def hops(self) -> tuple[Hop, ...]:
        """The route of this copy as it is now, the recipient last."""
        return self.content.hops or self.message.copies[self.copy].hops

    @property
    def logical(self) -> tuple[Hop, ...]:
        """The services that take part in this copy's route by their rules alone."""
        return self.content.logical if self.content.hops else self.message.copies[self.copy].logical

    @property
    def in_transit(self) -> bool:
        """Whether the message continues from here."""
        return self.hop < len(self.hops) - 1

    @property
    def shown_sender(self) -> str:
        """Return the GCID of the service shown as the sender if the real one is hidden; else an empty string."""
        return self.hops[self.hop].isolated_by

    @property
    def journey(self) -> int:
        """The journey that this delivery is part of; 0 when the delivery is all there is to it."""
        if self.round:
            return self.round
        if self.message.answers is not None:
            return self.message.answers.journey
        return delivery_number(self.message_seq, self.copy) if is_followed(self.message, self.copy) else 0


def is_followed(message: MessagePosted, copy: int) -> bool:
    """True if a copy's journey continues after its first delivery: a response or in-transit services follow."""
    if message.answers is not None:
        return False  # part of its request's journey
    return message.type is MessageType.REQUEST or len(message.copies[copy].hops) > 1


class LocalDelivery(Delivered, gc=False, frozen=True, kw_only=True):
    """A delivery with what the network alone knows of it, for external formats and for later rounds."""

    form: str = ""  # in which its message came
    wrapper: bytes = b""  # how its parts were wrapped, packed; empty where that is not for the receiver to know
    origin: int = 0  # of a later round: the number by which its receiver knows the first one


class FoundDelivery(NamedTuple):
    """A delivery that was looked up, and the state it is in."""

    queued: Queued
    state: DeliveryState
