"""The way that a delivered message has come so far, as its receiver may know it.

Kept rule: the same as for histories afterwards. A receiver is told of the services that took part before it on its copy, without
those that somebody else keeps to itself; one that is isolated is told only of those that it brought in, and so is the receiver
of a response whose sender it takes for another. Whoever waits for the end of a journey is told of its failures likewise.
"""

from __future__ import annotations

from collections.abc import Iterable

from postroad.core.model.delivery import Queued
from postroad.core.model.journal import Copy, Hop, InvocationReturned, MessagePosted
from postroad.core.model.message import Passed
from postroad.core.model.snapshot import Directory


def passed(queued: Queued, returned: Iterable[InvocationReturned], directory: Directory) -> tuple[Passed, ...]:
    """The stops before this one; ``returned`` are the answers of this copy's services, in order."""
    stops, place = [], 0
    for entry in returned:
        if place >= queued.hop:
            break
        hop = queued.hops[place]
        if _is_told(hop, queued, directory):
            service = directory.services.get(hop.service)
            stops.append(Passed(service.address if service is not None else hop.service, entry.at_us, entry.status))
        place = entry.hop
    return tuple(stops)


def isolating(hop: Hop) -> str:
    """Who keeps this service to itself; empty when nobody does."""
    return hop.context.shown_sender if hop.context is not None else ""


def recipient_as_known(copy: Copy, sender: str, directory: Directory) -> str:
    """GCID of a copy's recipient as its sender may know it; the bare name, where it was refused."""
    if not copy.hops:
        return copy.named
    last = copy.hops[-1]
    if last.context is None or not _is_kept_from(sender, last, directory):
        return last.service
    return last.context.through[0] if last.context.through else last.context.shown_sender


def recipients_as_known(message: MessagePosted, directory: Directory) -> list[str]:
    """Addresses of all recipients as the sender may know them; a responder knows the requester it was shown."""
    if message.answers is not None and message.answers.shown_requester:
        known = [message.answers.shown_requester]
    else:
        known = [recipient_as_known(copy, message.sender, directory) for copy in message.copies]
    found = [directory.services.get(gcid) for gcid in known]
    return [service.address if service is not None else gcid for gcid, service in zip(known, found, strict=True)]


def unnamed(queued: Queued, directory: Directory) -> str:
    """How whoever waits for the journey's end is told of the service that this delivery is at, when not by its name.

    Empty where nobody keeps that service from them.
    """
    message, hop = queued.message, queued.hops[queued.hop]
    if message.answers is None:
        is_kept = _is_kept_from(message.sender, hop, directory)
        return f"A service on the way to {message.copies[queued.copy].named}" if is_kept else ""
    requester, responder = _requester(queued), message.shown_sender or message.sender
    house = _house(requester, directory)
    is_beyond = _is_foreign(message.shown_sender, house, directory) and not _is_own(hop, house, directory)
    if not is_beyond and not _is_kept_from(requester, hop, directory):
        return ""
    shown = directory.services.get(responder)
    return f"A service on the way back from {shown.address if shown is not None else responder}"


def _requester(queued: Queued) -> str:
    """Whom a response goes back to, also where that one has redirected it to another."""
    last = queued.hops[-1]
    return last.context.through[0] if last.context is not None and last.context.through else last.service


def _is_kept_from(sender: str, hop: Hop, directory: Directory) -> bool:
    """Whether this is a service that somebody else than the message's sender keeps to itself."""
    house = _house(sender, directory)
    return _is_foreign(isolating(hop), house, directory) and _is_foreign(hop.service, house, directory)


def _is_told(hop: Hop, queued: Queued, directory: Directory) -> bool:
    receiver = queued.hops[queued.hop]
    house = _house(receiver.service, directory)
    if _is_foreign(isolating(receiver), house, directory):
        return hop.invoker == receiver.service
    if _is_foreign(queued.message.shown_sender, house, directory):
        return _is_own(hop, house, directory)
    return not _is_foreign(isolating(hop), house, directory) or hop.invoker == receiver.service


def _is_own(hop: Hop, house: str, directory: Directory) -> bool:
    """Whether the service is of this house, or was brought in by one that is."""
    return not (_is_foreign(hop.service, house, directory) and _is_foreign(hop.invoker, house, directory))


def _is_foreign(gcid: str, house: str, directory: Directory) -> bool:
    return bool(gcid) and _house(gcid, directory) != house


def _house(gcid: str, directory: Directory) -> str:
    service = directory.services.get(gcid)
    return service.organization.casefold() if service is not None else ""
