"""The network as the application of its own services: every service whose profile says ``hosted`` is attended to.

In a network of several nodes every node attends to all of them; a delivery is leased to one node at a time, as to any
consumer. Words: an *attendant* takes the deliveries of one service, the *workshop* does the work on each, a *service* says
what becomes of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from postroad.core.model.asset import Hosting
from postroad.core.model.snapshot import Directory
from postroad.flow.network import Network
from postroad.services.attendant import Attendant
from postroad.services.engine import Transformer
from postroad.services.references import JournalledReferences
from postroad.services.workshop import Workshop


class HostedServices:
    """Follows the directory: attends to services that become hosted, and leaves those that no longer are."""

    def __init__(self, network: Network, transformer: Transformer) -> None:
        self._network = network
        self._workshop = Workshop(network, transformer, JournalledReferences(network))
        self._attendants: dict[str, Attendant] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._closed = False

    def start(self) -> None:
        self._network.configuration.on_change(self._follow)

    async def close(self) -> None:
        """Take nothing more, and return when everything at hand is answered or given back."""
        self._closed = True
        ending = [attendant.end() for attendant in self._attendants.values()]
        self._attendants.clear()
        await asyncio.gather(*ending, *self._leaving)

    def _follow(self, directory: Directory) -> None:
        if self._closed:
            return
        served = _served(directory)
        for gcid in self._attendants.keys() - served:
            task = asyncio.get_running_loop().create_task(self._attendants.pop(gcid).end())
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)
        for gcid in served - self._attendants.keys():
            self._attendants[gcid] = Attendant(self._network, self._workshop, gcid)


def _served(directory: Directory) -> set[str]:
    """Hosted services in good standing: a suspended one could not answer, so its messages wait."""
    return {
        service.gcid
        for service in directory.services.values()
        if service.hosted is not Hosting.NONE
        and not service.suspended
        and not _house_is_suspended(service.organization, directory)
    }


def _house_is_suspended(organization: str, directory: Directory) -> bool:
    found = directory.organization(organization)
    return found is not None and bool(found.suspended)


@asynccontextmanager
async def hosting(network: Network, transformer: Transformer) -> AsyncIterator[HostedServices]:
    """The network's own services, for as long as the block runs."""
    hosted = HostedServices(network, transformer)
    hosted.start()
    try:
        yield hosted
    finally:
        await hosted.close()
