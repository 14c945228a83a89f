"""Search keys a viewer may see: all except keys declared only by parties hidden from the viewer.

Rule: a declared search key reveals that its party takes part. So a recipient does not see the keys that other
recipients declare, and a sender does not see those of services that another service isolates.
"""

from __future__ import annotations

from collections.abc import Iterable

from postroad.core.model.journal import MessagePosted
from postroad.core.model.route import Hop
from postroad.core.model.snapshot import Directory
from postroad.core.visibility.viewer import Viewer

Keys = tuple[tuple[str, str], ...]


def find_visible_keys(message: MessagePosted, viewer: Viewer) -> Keys:
    """Return the names and values of the search keys that the viewer may see."""
    if not message.search_keys:
        return ()
    lasts = [copy.hops[-1] for copy in message.copies if copy.hops]
    parties = {message.sender, *[hop.service for hop in lasts]}
    unknown = _unknown(message, lasts, viewer)
    hidden = _names(unknown, viewer.directory) - _names(parties - unknown, viewer.directory)
    return tuple([pair for pair in message.search_keys if pair[0] not in hidden])


def _unknown(message: MessagePosted, lasts: Iterable[Hop], viewer: Viewer) -> set[str]:
    """Return the GCIDs of senders and receivers that are hidden from the viewer."""
    if viewer.owns(message.sender):
        return {hop.service for hop in lasts if viewer.is_hidden(hop.service, hop.isolated_by)}
    is_hidden = bool(message.shown_sender) and not viewer.owns(message.shown_sender)
    foreign = {hop.service for hop in lasts if not viewer.owns(hop.service)}
    return foreign | ({message.sender} if is_hidden else set())


def _names(gcids: Iterable[str], directory: Directory) -> set[str]:
    services = [directory.services.get(gcid) for gcid in gcids]
    return {key.name for service in services if service is not None for key in service.indexes}
