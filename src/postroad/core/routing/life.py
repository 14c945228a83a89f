"""The whole life of a copy's journey as one table: where it is, what may happen there, and where that leads.

The documentation draws its picture from ``LIFE``, and the stages ask it: whether an acknowledgement ends a journey, whether a
message can still be withdrawn. What is not in the table cannot happen.
"""

from __future__ import annotations

from enum import StrEnum

from postroad.core.model.delivery import Queued, State
from postroad.core.model.message import MessageType


class Waypoint(StrEnum):
    """Where a journey is while it is not over."""

    IN_TRANSIT = "at an in-transit service"
    AT_RECIPIENT = "at the recipient"  # a notification
    ASKED = "at the recipient, to be answered"  # a request
    RETURNING = "on the way back"
    AT_REQUESTER = "back at the requester"


class Event(StrEnum):
    ACKNOWLEDGED = "acknowledged"
    ANSWERED = "answered"
    RESPONDED = "responded"
    ABSORBED = "error absorbed"  # an invoker does not let the error through
    FAILED = "failed"
    REJECTED = "rejected"
    MISROUTED = "no valid way on"  # what rules added on the way is not valid
    GIVEN_UP = "given up"  # handed out too often
    EXPIRED = "expired"
    CANCELLED = "cancelled"


Next = tuple[Waypoint | State, ...]

_ONWARD: Next = (Waypoint.IN_TRANSIT, Waypoint.AT_RECIPIENT, Waypoint.ASKED)
_HOMEWARD: Next = (Waypoint.RETURNING, Waypoint.AT_REQUESTER)
_ENDS: dict[Event, Next] = {Event.GIVEN_UP: (State.FAILED,), Event.EXPIRED: (State.EXPIRED,)}
_TROUBLE: dict[Event, Next] = {
    Event.FAILED: (State.FAILED,),
    Event.REJECTED: (State.REJECTED,),
    Event.MISROUTED: (State.FAILED,),
}

LIFE: dict[Waypoint, dict[Event, Next]] = {
    Waypoint.IN_TRANSIT: {
        Event.ACKNOWLEDGED: (Waypoint.IN_TRANSIT,),  # the message goes on only with its answer
        Event.ANSWERED: _ONWARD,
        Event.ABSORBED: _ONWARD,
        **_TROUBLE,
        **_ENDS,
        Event.CANCELLED: (State.CANCELLED,),
    },
    Waypoint.AT_RECIPIENT: {
        Event.ACKNOWLEDGED: (State.DELIVERED,),
        **_ENDS,
        Event.CANCELLED: (State.CANCELLED,),
    },
    Waypoint.ASKED: {
        Event.ACKNOWLEDGED: (Waypoint.ASKED,),
        Event.RESPONDED: _HOMEWARD,
        Event.MISROUTED: (State.FAILED,),
        **_ENDS,
        Event.CANCELLED: (State.CANCELLED,),
    },
    Waypoint.RETURNING: {
        Event.ACKNOWLEDGED: (Waypoint.RETURNING,),
        Event.ANSWERED: _HOMEWARD,
        Event.ABSORBED: _HOMEWARD,
        **_TROUBLE,
        **_ENDS,
    },
    Waypoint.AT_REQUESTER: {
        Event.ACKNOWLEDGED: (State.DELIVERED,),
        **_ENDS,
    },
}


def waypoint_of(queued: Queued) -> Waypoint:
    """Where the journey is that this delivery is part of."""
    if queued.message.answers is not None:
        return Waypoint.RETURNING if queued.in_transit else Waypoint.AT_REQUESTER
    if queued.in_transit:
        return Waypoint.IN_TRANSIT
    return Waypoint.ASKED if queued.message.type is MessageType.REQUEST else Waypoint.AT_RECIPIENT


def may(queued: Queued, event: Event) -> bool:
    """Whether this can happen to the delivery's journey where it is."""
    return event in LIFE[waypoint_of(queued)]


def is_ended_by(queued: Queued, event: Event) -> bool:
    """Whether the journey is over when this happens to it where it is."""
    return any(isinstance(after, State) for after in LIFE[waypoint_of(queued)].get(event, ()))
