"""Which services on a route others keep from the sender, so that no error names them to it."""

from __future__ import annotations

from collections.abc import Iterable

from postroad.core.model.directory import Service
from postroad.core.model.journal import Hop
from postroad.core.model.snapshot import Directory
from postroad.core.routing.invocation import Invocation


def kept_invocations(sender: Service, roots: Iterable[Invocation], directory: Directory) -> frozenset[str]:
    """GCIDs of those in these trees that a service of another organization isolates."""
    nodes = [node for root in roots for node in root.in_order()]
    return _kept(sender, [(node.service.gcid, node.shown_sender) for node in nodes if node.shown_sender], directory)


def kept_hops(sender: Service, hops: Iterable[Hop], directory: Directory) -> frozenset[str]:
    """The same of services on a route that is laid out."""
    isolated = [(hop.service, hop.context.shown_sender) for hop in hops if hop.context and hop.context.shown_sender]
    return _kept(sender, isolated, directory)


def _kept(sender: Service, isolated: list[tuple[str, str]], directory: Directory) -> frozenset[str]:
    house = sender.organization.casefold()
    return frozenset(
        gcid for gcid, keeper in isolated if _house(gcid, directory) != house and _house(keeper, directory) != house
    )


def _house(gcid: str, directory: Directory) -> str:
    service = directory.services.get(gcid)
    return service.organization.casefold() if service is not None else ""
