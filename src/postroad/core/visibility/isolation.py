"""Which services on a route are isolated, and what senders and receivers may know of them.

Rule: deliveries show what histories show later. A receiver sees the services that took part before it on its copy,
except those that another service isolates. An isolated receiver sees only the services that it included itself; the
same applies to the receiver of a response that is shown another service as its sender. A party that waits for the end
of a journey also sees its failures.
"""

from __future__ import annotations

from collections.abc import Iterable

from postroad.core.model.delivery import Queued
from postroad.core.model.journal import Copy, Hop, InvocationReturned, MessagePosted
from postroad.core.model.message import PassedService
from postroad.core.model.snapshot import Directory


def list_passed_services(
    queued: Queued, returned: Iterable[InvocationReturned], directory: Directory
) -> tuple[PassedService, ...]:
    """List the services that a delivery has passed before this one, as its receiver may see them."""
    stops, place = [], 0
    for entry in returned:
        if place >= queued.hop:
            break
        hop = queued.hops[place]
        if _is_visible(hop, queued, directory):
            service = directory.services.get(hop.service)
            stops.append(
                PassedService(service.address if service is not None else hop.service, entry.at_us, entry.status)
            )
        place = entry.hop
    return tuple(stops)


def find_isolating_service(hop: Hop) -> str:
    """Return the GCID of the service that isolates this one, or an empty string."""
    return hop.context.shown_sender if hop.context is not None else ""


def visible_recipient(copy: Copy, sender: str, directory: Directory) -> str:
    """Return the GCID of a copy's recipient as its sender may see it; for a refused copy, the name given."""
    if not copy.hops:
        return copy.named
    last = copy.hops[-1]
    if last.context is None or not _is_hidden_from(sender, last, directory):
        return last.service
    return last.context.through[0] if last.context.through else last.context.shown_sender


def visible_recipients(message: MessagePosted, directory: Directory) -> list[str]:
    """Return the addresses of all recipients as the sender may see them."""
    if message.answers is not None and message.answers.shown_requester:
        known = [message.answers.shown_requester]
    else:
        known = [visible_recipient(copy, message.sender, directory) for copy in message.copies]
    found = [directory.services.get(gcid) for gcid in known]
    return [service.address if service is not None else gcid for gcid, service in zip(known, found, strict=True)]


def anonymous_service_label(queued: Queued, directory: Directory) -> str:
    """Neutral description of a hidden service, or an empty string if the service may be named."""
    message, hop = queued.message, queued.hops[queued.hop]
    if message.answers is None:
        is_kept = _is_hidden_from(message.sender, hop, directory)
        return f"A service on the way to {message.copies[queued.copy].named}" if is_kept else ""
    requester, responder = _requester(queued), message.shown_sender or message.sender
    house = directory.owner_of(requester)
    is_beyond = _is_foreign(message.shown_sender, house, directory) and not _is_own(hop, house, directory)
    if not is_beyond and not _is_hidden_from(requester, hop, directory):
        return ""
    shown = directory.services.get(responder)
    return f"A service on the way back from {shown.address if shown is not None else responder}"


def _requester(queued: Queued) -> str:
    """Return the service that a response goes back to, also if that service has redirected it."""
    last = queued.hops[-1]
    return last.context.through[0] if last.context is not None and last.context.through else last.service


def _is_hidden_from(sender: str, hop: Hop, directory: Directory) -> bool:
    """True if a third party isolates this service from the message's sender."""
    house = directory.owner_of(sender)
    return _is_foreign(find_isolating_service(hop), house, directory) and _is_foreign(hop.service, house, directory)


def _is_visible(hop: Hop, queued: Queued, directory: Directory) -> bool:
    receiver = queued.hops[queued.hop]
    house = directory.owner_of(receiver.service)
    if _is_foreign(find_isolating_service(receiver), house, directory):
        return hop.invoker == receiver.service
    if _is_foreign(queued.message.shown_sender, house, directory):
        return _is_own(hop, house, directory)
    return not _is_foreign(find_isolating_service(hop), house, directory) or hop.invoker == receiver.service


def _is_own(hop: Hop, house: str, directory: Directory) -> bool:
    """True if the service belongs to this organization or was added by a service of it."""
    return not (_is_foreign(hop.service, house, directory) and _is_foreign(hop.invoker, house, directory))


def _is_foreign(gcid: str, house: str, directory: Directory) -> bool:
    return bool(gcid) and directory.owner_of(gcid) != house
