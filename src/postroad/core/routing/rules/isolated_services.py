"""The services on a route that are isolated from the sender, so that no error names them."""

from __future__ import annotations

from collections.abc import Iterable

from postroad.core.model.directory import Service
from postroad.core.model.route import Hop
from postroad.core.model.snapshot import Directory
from postroad.core.routing.invocation import Invocation


def isolated_in_trees(sender: Service, roots: Iterable[Invocation], directory: Directory) -> frozenset[str]:
    """Return the GCIDs in these trees that a service of another organization isolates."""
    nodes = [node for root in roots for node in root.in_order()]
    return _isolated_by_others(
        sender, [(node.service.gcid, node.shown_sender) for node in nodes if node.shown_sender], directory
    )


def isolated_on_route(sender: Service, hops: Iterable[Hop], directory: Directory) -> frozenset[str]:
    """Return the GCIDs on a laid-out route that a service of another organization isolates."""
    isolated = [(hop.service, hop.isolated_by) for hop in hops if hop.isolated_by]
    return _isolated_by_others(sender, isolated, directory)


def _isolated_by_others(sender: Service, isolated: list[tuple[str, str]], directory: Directory) -> frozenset[str]:
    owner = sender.organization.casefold()
    return frozenset(
        gcid
        for gcid, isolator in isolated
        if directory.owner_of(gcid) != owner and directory.owner_of(isolator) != owner
    )
