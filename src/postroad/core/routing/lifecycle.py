"""The lifecycle of a copy's journey as one table: states, events and transitions.

The picture in the documentation is drawn from this table, and the stages query it: whether an acknowledgment ends a
journey, or whether a message can still be cancelled. A transition that is not in the table cannot happen.
"""

from __future__ import annotations

from enum import StrEnum

from postroad.core.model.delivery import DeliveryState, Queued
from postroad.core.model.message import MessageType


class Waypoint(StrEnum):
    """The states of a journey that has not ended."""

    IN_TRANSIT = "at an in-transit service"
    AT_RECIPIENT = "at the recipient"  # a notification
    ASKED = "at the recipient, awaiting a response"  # a request
    RETURNING = "returning"
    AT_REQUESTER = "back at the requester"


class JourneyEvent(StrEnum):
    ACKNOWLEDGED = "acknowledged"
    ANSWERED = "answered"
    RESPONDED = "responded"
    ABSORBED = "error absorbed"  # an invoker absorbs the error
    FAILED = "failed"
    REJECTED = "rejected"
    MISROUTED = "no valid route forward"  # the services added by dynamic rules are not valid
    GIVEN_UP = "given up"  # handed out too often
    EXPIRED = "expired"
    CANCELLED = "cancelled"


Next = tuple[Waypoint | DeliveryState, ...]

_ONWARD: Next = (Waypoint.IN_TRANSIT, Waypoint.AT_RECIPIENT, Waypoint.ASKED)
_HOMEWARD: Next = (Waypoint.RETURNING, Waypoint.AT_REQUESTER)
_ENDS: dict[JourneyEvent, Next] = {
    JourneyEvent.GIVEN_UP: (DeliveryState.FAILED,),
    JourneyEvent.EXPIRED: (DeliveryState.EXPIRED,),
}
_TROUBLE: dict[JourneyEvent, Next] = {
    JourneyEvent.FAILED: (DeliveryState.FAILED,),
    JourneyEvent.REJECTED: (DeliveryState.REJECTED,),
    JourneyEvent.MISROUTED: (DeliveryState.FAILED,),
}

JOURNEY_LIFECYCLE: dict[Waypoint, dict[JourneyEvent, Next]] = {
    Waypoint.IN_TRANSIT: {
        JourneyEvent.ACKNOWLEDGED: (Waypoint.IN_TRANSIT,),  # the message continues only with its answer
        JourneyEvent.ANSWERED: _ONWARD,
        JourneyEvent.ABSORBED: _ONWARD,
        **_TROUBLE,
        **_ENDS,
        JourneyEvent.CANCELLED: (DeliveryState.CANCELLED,),
    },
    Waypoint.AT_RECIPIENT: {
        JourneyEvent.ACKNOWLEDGED: (DeliveryState.DELIVERED,),
        **_ENDS,
        JourneyEvent.CANCELLED: (DeliveryState.CANCELLED,),
    },
    Waypoint.ASKED: {
        JourneyEvent.ACKNOWLEDGED: (Waypoint.ASKED,),
        JourneyEvent.RESPONDED: _HOMEWARD,
        JourneyEvent.MISROUTED: (DeliveryState.FAILED,),
        **_ENDS,
        JourneyEvent.CANCELLED: (DeliveryState.CANCELLED,),
    },
    Waypoint.RETURNING: {
        JourneyEvent.ACKNOWLEDGED: (Waypoint.RETURNING,),
        JourneyEvent.ANSWERED: _HOMEWARD,
        JourneyEvent.ABSORBED: _HOMEWARD,
        **_TROUBLE,
        **_ENDS,
    },
    Waypoint.AT_REQUESTER: {
        JourneyEvent.ACKNOWLEDGED: (DeliveryState.DELIVERED,),
        **_ENDS,
    },
}


def waypoint_of(queued: Queued) -> Waypoint:
    """Return the state of the journey that this delivery belongs to."""
    if queued.message.answers is not None:
        return Waypoint.RETURNING if queued.in_transit else Waypoint.AT_REQUESTER
    if queued.in_transit:
        return Waypoint.IN_TRANSIT
    return Waypoint.ASKED if queued.message.type is MessageType.REQUEST else Waypoint.AT_RECIPIENT


def is_possible(queued: Queued, event: JourneyEvent) -> bool:
    """True if this event is possible for the delivery's journey now."""
    return event in JOURNEY_LIFECYCLE[waypoint_of(queued)]


def is_ended_by(queued: Queued, event: JourneyEvent) -> bool:
    """Whether this event ends the journey in its current state."""
    return any(isinstance(after, DeliveryState) for after in JOURNEY_LIFECYCLE[waypoint_of(queued)].get(event, ()))
