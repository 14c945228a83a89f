"""Which services on a route are isolated, and what senders and receivers may know of them.

Rule: deliveries show what histories show later. A receiver sees the services that took part before it on its copy,
except those that another service isolates. An isolated receiver sees only the services that it included itself; the
same applies to the receiver of a response that is shown another service as its sender. A party that waits for the end
of a journey also sees its failures.
"""

from __future__ import annotations

from collections.abc import Iterable

from postroad.core.model.delivery import Queued
from postroad.core.model.journal import InvocationReturned, MessagePosted
from postroad.core.model.message import PassedService
from postroad.core.model.route import Copy, Hop
from postroad.core.model.snapshot import Directory
from postroad.core.visibility.viewer import Viewer


def list_passed_services(
    queued: Queued, returned: Iterable[InvocationReturned], directory: Directory
) -> tuple[PassedService, ...]:
    """List the services that a delivery has passed before this one, as its receiver may see them."""
    receiver = queued.hops[queued.hop]
    viewer = _organization_of(receiver.service, directory)
    stops, place = [], 0
    for entry in returned:
        if place >= queued.hop:
            break
        hop = queued.hops[place]
        if _is_visible(hop, queued, viewer):
            stops.append(PassedService(directory.address_of(hop.service), entry.at_us, entry.status))
        place = entry.hop
    return tuple(stops)


def visible_recipient(copy: Copy, sender: str, directory: Directory) -> str:
    """Return the GCID of a copy's recipient as its sender may see it; for a refused copy, the name given."""
    if not copy.hops:
        return copy.named
    last = copy.hops[-1]
    if last.context is None or not _organization_of(sender, directory).is_hidden(last.service, last.isolated_by):
        return last.service
    return last.context.through[0] if last.context.through else last.context.shown_sender


def visible_recipients(message: MessagePosted, directory: Directory) -> list[str]:
    """Return the addresses of all recipients as the sender may see them."""
    if message.answers is not None and message.answers.shown_requester:
        known = [message.answers.shown_requester]
    else:
        known = [visible_recipient(copy, message.sender, directory) for copy in message.copies]
    return [directory.address_of(gcid) for gcid in known]


def anonymous_service_label(queued: Queued, directory: Directory) -> str:
    """Neutral description of a hidden service, or an empty string if the service may be named."""
    message, hop = queued.message, queued.hops[queued.hop]
    if message.answers is None:
        is_hidden = _organization_of(message.sender, directory).is_hidden(hop.service, hop.isolated_by)
        return f"A service on the way to {message.copies[queued.copy].named}" if is_hidden else ""
    requester, responder = _organization_of(_requester(queued), directory), message.shown_sender or message.sender
    is_beyond = _is_foreign(message.shown_sender, requester) and not _is_beside(hop, requester)
    if not is_beyond and not requester.is_hidden(hop.service, hop.isolated_by):
        return ""
    return f"A service on the way back from {directory.address_of(responder)}"


def _requester(queued: Queued) -> str:
    """Return the service that a response goes back to, also if that service has redirected it."""
    last = queued.hops[-1]
    return last.context.through[0] if last.context is not None and last.context.through else last.service


def _organization_of(gcid: str, directory: Directory) -> Viewer:
    """Return the organization of a service as viewer."""
    return Viewer(directory, directory.owner_of(gcid))


def _is_visible(hop: Hop, queued: Queued, viewer: Viewer) -> bool:
    receiver = queued.hops[queued.hop]
    if _is_foreign(receiver.isolated_by, viewer):
        return hop.invoker == receiver.service
    if _is_foreign(queued.message.shown_sender, viewer):
        return _is_beside(hop, viewer)
    return not _is_foreign(hop.isolated_by, viewer) or hop.invoker == receiver.service


def _is_beside(hop: Hop, viewer: Viewer) -> bool:
    """True if the service belongs to the viewer's organization or was added by a service of it."""
    return not (_is_foreign(hop.service, viewer) and _is_foreign(hop.invoker, viewer))


def _is_foreign(gcid: str, viewer: Viewer) -> bool:
    return bool(gcid) and not viewer.owns(gcid)
