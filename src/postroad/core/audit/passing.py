"""The way that a delivered message has come so far, as its receiver may know it.

Kept rule: the same as for histories afterwards. A receiver is told of the services that took part before it on its copy, without
those that somebody else keeps to itself; one that is isolated is told only of those that it brought in.
"""

from __future__ import annotations

from collections.abc import Iterable

from postroad.core.model.delivery import Queued
from postroad.core.model.journal import Hop, InvocationReturned
from postroad.core.model.message import Passed
from postroad.core.model.snapshot import Directory


def passed(queued: Queued, returned: Iterable[InvocationReturned], directory: Directory) -> tuple[Passed, ...]:
    """The stops before this one; ``returned`` are the answers of this copy's services, in order."""
    stops, place = [], 0
    for entry in returned:
        if place >= queued.hop:
            break
        hop = queued.hops[place]
        if _is_told(hop, queued.hops[queued.hop], directory):
            service = directory.services.get(hop.service)
            stops.append(Passed(service.address if service is not None else hop.service, entry.at_us, entry.status))
        place = entry.hop
    return tuple(stops)


def isolating(hop: Hop) -> str:
    """Who keeps this service to itself; empty when nobody does."""
    return hop.context.shown_sender if hop.context is not None else ""


def is_kept_from_sender(queued: Queued, directory: Directory) -> bool:
    """Whether this delivery is at a service that somebody else than the message's sender keeps to itself."""
    hop = queued.hops[queued.hop]
    house = _house(queued.message.sender, directory)
    return _is_foreign(isolating(hop), house, directory) and _is_foreign(hop.service, house, directory)


def _is_told(hop: Hop, receiver: Hop, directory: Directory) -> bool:
    house = _house(receiver.service, directory)
    if _is_foreign(isolating(receiver), house, directory):
        return hop.invoker == receiver.service
    return not _is_foreign(isolating(hop), house, directory) or hop.invoker == receiver.service


def _is_foreign(gcid: str, house: str, directory: Directory) -> bool:
    return bool(gcid) and _house(gcid, directory) != house


def _house(gcid: str, directory: Directory) -> str:
    service = directory.services.get(gcid)
    return service.organization.casefold() if service is not None else ""
