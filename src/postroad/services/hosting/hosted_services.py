"""Runs the hosted services: one mailbox worker for each service whose profile sets ``hosted``.

In a network of several nodes every node runs all of them; a delivery is leased to one node at a time, as to any
consumer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from postroad.core.model.snapshot import Directory
from postroad.flow.network import Network
from postroad.flow.registries.service_workers import ServiceWorkers
from postroad.services.catalogue import CATALOGUE
from postroad.services.crossreference.records import JournalRecordStore
from postroad.services.engines import Engines
from postroad.services.hosting.mailbox_worker import MailboxWorker
from postroad.services.hosting.runner import DeliveryRunner


class HostedServices:
    """Follows the directory and runs a mailbox worker for each hosted service."""

    def __init__(self, network: Network, engines: Engines) -> None:
        self._network = network
        self._runner = DeliveryRunner(network, engines, JournalRecordStore(network))
        self._attendants = ServiceWorkers(_served, self._attendant)

    def start(self) -> None:
        self._attendants.start(self._network.configuration)

    async def close(self) -> None:
        """Stop polling, and return when deliveries in progress are answered or returned."""
        await self._attendants.close()

    def _attendant(self, gcid: str) -> MailboxWorker:
        return MailboxWorker(self._network, self._runner, gcid)


def _served(directory: Directory) -> dict[str, str]:
    """Return the active hosted services; messages of suspended ones wait.

    Batchers are excluded: their messages are gathered in the flow.
    """
    return {
        service.gcid: service.gcid
        for service in directory.services.values()
        if service.hosted in CATALOGUE and not directory.is_suspended(service)
    }


@asynccontextmanager
async def run_hosted_services(network: Network, engines: Engines) -> AsyncIterator[HostedServices]:
    """Run the hosted services while the block runs."""
    hosted = HostedServices(network, engines)
    hosted.start()
    try:
        yield hosted
    finally:
        await hosted.close()
