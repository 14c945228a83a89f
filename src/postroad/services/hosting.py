"""The network as the application of its own services: every service whose profile says ``hosted`` is attended to.

In a network of several nodes every node attends to all of them; a delivery is leased to one node at a time, as to any
consumer. Words: an *attendant* takes the deliveries of one service, the *workshop* does the work on each, a *service* says
what becomes of it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from postroad.core.model.snapshot import Directory
from postroad.flow.network import Network
from postroad.flow.one_per_service import OnePerService
from postroad.services.attendant import Attendant
from postroad.services.catalogue import CATALOGUE
from postroad.services.engine import Engines
from postroad.services.references import JournalledReferences
from postroad.services.workshop import Workshop


class HostedServices:
    """Follows the directory: attends to services that become hosted, and leaves those that no longer are."""

    def __init__(self, network: Network, engines: Engines) -> None:
        self._network = network
        self._workshop = Workshop(network, engines, JournalledReferences(network))
        self._attendants = OnePerService(_served, self._attendant)

    def start(self) -> None:
        self._attendants.start(self._network.configuration)

    async def close(self) -> None:
        """Take nothing more, and return when everything at hand is answered or given back."""
        await self._attendants.close()

    def _attendant(self, gcid: str) -> Attendant:
        return Attendant(self._network, self._workshop, gcid)


def _served(directory: Directory) -> dict[str, str]:
    """Hosted services in good standing: a suspended one could not answer, so its messages wait.

    Batchers are none of these: what comes to them is gathered in the flow.
    """
    return {
        service.gcid: service.gcid
        for service in directory.services.values()
        if service.hosted in CATALOGUE and not directory.is_suspended(service)
    }


@asynccontextmanager
async def hosting(network: Network, engines: Engines) -> AsyncIterator[HostedServices]:
    """The network's own services, for as long as the block runs."""
    hosted = HostedServices(network, engines)
    hosted.start()
    try:
        yield hosted
    finally:
        await hosted.close()
