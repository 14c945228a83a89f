"""Push: the network posts to the servers of services that want it so, instead of waiting for their polls.

Kept rule: a pushed delivery waits in the same mailbox as a polled one and is leased while it is pushed, so a push service may
poll too, and several nodes may push for one service. Words: a *courier* looks after one service, an *attempt* is one request,
and *slots* are the places that all couriers of a node share.
"""

from __future__ import annotations

import asyncio

from postroad.core.model.asset import Hosting
from postroad.core.model.directory import DeliveryMode, Service
from postroad.core.model.snapshot import Directory
from postroad.flow.network import Network
from postroad.flow.push_attempt import Attempts
from postroad.flow.push_courier import Courier
from postroad.flow.push_slots import Slots
from postroad.ports import Pusher, Secrets

TIMEOUT_S = 15.0


class PushStage:
    """Follows the directory: a courier for each service that is pushed to, another one whenever its profile changes."""

    def __init__(
        self,
        network: Network,
        pusher: Pusher,
        secrets: Secrets,
        *,
        timeout_s: float = TIMEOUT_S,
        slots: Slots | None = None,
    ) -> None:
        self._network = network
        self._attempts = Attempts(network, pusher, secrets, timeout_s)
        self._slots = slots or Slots()
        self._couriers: dict[str, Courier] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._closed = False

    def start(self) -> None:
        self._network.configuration.on_change(self._follow)

    async def close(self) -> None:
        """Take nothing more, and return when everything under way is settled or given back."""
        self._closed = True
        ending = [courier.end() for courier in self._couriers.values()]
        self._couriers.clear()
        await asyncio.gather(*ending, *self._leaving)

    def _follow(self, directory: Directory) -> None:
        if self._closed:
            return
        pushed_to = _pushed_to(directory)
        for gcid, courier in tuple(self._couriers.items()):
            wanted = pushed_to.get(gcid)
            if (
                wanted is not courier.service and wanted != courier.service
            ):  # most are the very same, and there may be many
                self._dismiss(gcid)
        for gcid, service in pushed_to.items():
            if gcid not in self._couriers and service.push is not None:
                self._couriers[gcid] = Courier(self._network, self._attempts, self._slots, service, service.push)

    def _dismiss(self, gcid: str) -> None:
        task = asyncio.get_running_loop().create_task(self._couriers.pop(gcid).end())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)


def _pushed_to(directory: Directory) -> dict[str, Service]:
    """Services in good standing that want to be pushed to; the messages of a suspended one wait."""
    return {
        service.gcid: service
        for service in directory.services.values()
        if service.delivery is DeliveryMode.PUSH
        and service.hosted is Hosting.NONE
        and not service.suspended
        and not _house_is_suspended(service.organization, directory)
    }


def _house_is_suspended(organization: str, directory: Directory) -> bool:
    found = directory.organization(organization)
    return found is not None and bool(found.suspended)
