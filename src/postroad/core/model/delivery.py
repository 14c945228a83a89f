"""A delivery: one copy of a message at one service, and the table of its states and moves.

The states and moves below are the complete lifecycle of a delivery; the documentation draws its diagram from
``MOVES``, and the index stores the state's number. A lease is not a state: it is only in memory, and a delivery that
loses its lease is redelivered.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from msgspec import Struct

from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import MessagePosted, ReturnedContext
from postroad.core.model.message import Delivered, MessageType
from postroad.core.model.part_facts import PartFacts
from postroad.core.model.route import Hop


class DeliveryState(IntEnum):
    QUEUED = 0  # in the service's mailbox, perhaps leased to a poller
    DELIVERED = 1  # acknowledged; final
    REJECTED = 2  # by a filter or rule; final
    FAILED = 3  # a dead letter; final
    EXPIRED = 4  # final
    CANCELLED = 5  # withdrawn by the sender; final


class JourneyLeg(IntEnum):
    """The two legs of a journey."""

    OUT = 0  # to the recipient, which may already have received it
    BACK = 1  # the response to the sender


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

# The actions on a failed delivery; one is possible, once. It stays failed: resending creates a delivery in a new round.
DEALT_WITH: dict[str, DeliveryState] = {"resent": DeliveryState.QUEUED, "dropped": DeliveryState.FAILED}

FINAL: dict[str, DeliveryState] = {
    "rejected": DeliveryState.REJECTED,
    "failed": DeliveryState.FAILED,
    "expired": DeliveryState.EXPIRED,
    "cancelled": DeliveryState.CANCELLED,
}


class DeliveryContent(Struct, gc=False, frozen=True, array_like=True):
    """The parts that a delivery carries, and the position of their bytes (segment, offset, length, digest).

    After the first service, also the route if it has changed, and the context data that invoked services added.
    """

    parts: tuple[PartFacts, ...]
    body: tuple[int, int, int, bytes] | None
    hops: tuple[Hop, ...] = ()
    logical: tuple[Hop, ...] = ()
    returned: tuple[ReturnedContext, ...] = ()
    wrapper_bytes: int = 0  # bytes behind the parts in the body: the wrapper of the message as it arrived


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
    retry_at: float = 0.0  # monotonic seconds before which it is not pushed again, but may be polled; 0: at any time
    token: str = ""  # empty until it is computed
    data: bytes | None = None  # the body's bytes while they are cached
    round: int = 0  # the journey, if it did not begin with the post
    origin: int = 0  # of a dead letter that was resent: the first round's delivery

    @property
    def place(self) -> int:
        """Return its place among the deliveries of one hand-out: deliveries are in the order of their posts.

        A resent dead letter has a place of its own, behind messages that were posted before it was resent.
        """
        return self.number if not self.hop or self.origin else delivery_number(self.message_seq, self.copy)

    @property
    def hops(self) -> tuple[Hop, ...]:
        """Return the current route of this copy, the recipient last."""
        return self.content.hops or self.message.copies[self.copy].hops

    @property
    def logical(self) -> tuple[Hop, ...]:
        """Return the services that take part in this copy's route only by their rules."""
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
        """Return the journey of this delivery; 0 if the journey has no other delivery."""
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
    """A delivery with data that only the network uses, for external formats and later rounds."""

    form: str = ""  # in which its message arrived
    wrapper: bytes = b""  # the wrapper of its parts, packed; empty if it is hidden from the receiver
    origin: int = 0  # of a later round: the delivery number of the first round


class FoundDelivery(NamedTuple):
    """A delivery that was found, and its state."""

    queued: Queued
    state: DeliveryState


@dataclass(frozen=True, slots=True, kw_only=True)
class PushPause:
    """Why pushes to a service are paused, and when the next push is tried."""

    until_us: int  # when one message is pushed as a probe
    failed: int
    of: int  # the number of latest pushes, of which ``failed`` failed

    @property
    def why(self) -> str:
        return f"{self.failed} of the last {self.of} pushes failed"
