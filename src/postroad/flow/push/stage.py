"""Push: the network posts messages to the servers of services that request it.

Rule: a pushed delivery waits in the same mailbox as a polled one and is leased while it is pushed. So a push service
may also poll, and several nodes may push for one service. Words: a *courier* serves one service, an *attempt* is one
request, and *slots* are the concurrent pushes that all couriers of a node share, in two *capacity classes*: one for quick
receivers, one for the others.
"""

from __future__ import annotations

from postroad.core.model.asset import Hosting
from postroad.core.model.directory import DeliveryMode, Push, Service
from postroad.core.model.snapshot import Directory
from postroad.flow.network import Network
from postroad.flow.push.as2 import As2Pusher
from postroad.flow.push.attempt import PushAttempts
from postroad.flow.push.courier import Courier
from postroad.flow.push.slots import PushCapacity, PushSlots
from postroad.flow.registries.as2_partners import As2Partners
from postroad.flow.registries.service_workers import ServiceWorkers
from postroad.ports import Pusher, Secrets

TIMEOUT_S = 15.0


class PushStage:
    """Follows the directory and runs a courier for each service that is pushed to."""

    def __init__(
        self,
        network: Network,
        pusher: Pusher,
        secrets: Secrets,
        *,
        timeout_s: float = TIMEOUT_S,
        capacity: PushCapacity | None = None,
        partners: As2Partners | None = None,
    ) -> None:
        self._network = network
        partners = partners or As2Partners(secrets, lambda service: "")
        as2 = As2Pusher(partners, pusher, secrets, network.clock, network.randomness, timeout_s)
        self._attempts = PushAttempts(network, pusher, secrets, timeout_s, as2)
        self._capacity = capacity or PushCapacity(quick=PushSlots(), slow=PushSlots())
        self._has_started = False
        self._couriers = ServiceWorkers(_find_pushed_services, self._courier)
        network.metrics.on_read(self._read_gauges)

    def start(self) -> None:
        self._network.pushes.serve(self._couriers.get)
        self._couriers.start(self._network.configuration)
        self._has_started = True

    async def close(self) -> None:
        """Stop taking messages, and return when everything in progress is settled or given back."""
        await self._couriers.close()

    def _read_gauges(self) -> None:
        metrics = self._network.metrics
        for name, slots in self._capacity._asdict().items():
            metrics.gauge("push_slots", name).set(slots.overall)
            metrics.gauge("push_slots_used", name).set(slots.used)
        paused = [courier for courier in self._couriers.workers() if courier.pause() is not None]
        metrics.gauge("push_services_paused").set(len(paused))

    def _courier(self, profile: tuple[Service, Push]) -> Courier:
        return Courier(self._network, self._attempts, self._capacity, *profile, is_new=self._has_started)


def _find_pushed_services(directory: Directory) -> dict[str, tuple[Service, Push]]:
    """Return the active services that are pushed to; messages of suspended ones wait."""
    return {
        service.gcid: (service, service.push)
        for service in directory.services.values()
        if service.delivery is DeliveryMode.PUSH
        and service.push is not None
        and service.hosted is Hosting.NONE
        and not directory.is_suspended(service)
    }
