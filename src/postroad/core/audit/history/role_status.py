"""The status of a service in the history of a message, in the words of its role.

An in-transit service is invoked and returns the message; a recipient receives it, and answers it where it is a request.
"""

from __future__ import annotations

from postroad.core.model.history import Stop
from postroad.core.model.rule import RuleRole

WAITING, INVOKED, RETURNED = "waiting", "invoked", "returned"
HANDED_OUT, RECEIVED, ANSWERED = "handed out", "received", "answered"


def role_of(stop: Stop) -> RuleRole:
    """Return the role of the service at a stop."""
    return RuleRole.IN_TRANSIT if stop.in_transit else RuleRole.RECIPIENT


def status_of(stop: Stop) -> str:
    """Return the status of the service at a stop, by its role; a final state other than delivered is the status itself."""
    moves = [event.what for event in stop.events]
    if stop.state == "queued":
        is_out = bool(moves) and moves[-1] == HANDED_OUT
        return (INVOKED if stop.in_transit else HANDED_OUT) if is_out else WAITING
    if stop.state != "delivered":
        return stop.state
    if stop.in_transit:
        return RETURNED
    return ANSWERED if ANSWERED in moves else RECEIVED
