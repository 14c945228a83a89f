"""Push: the network posts to the servers of services that want it so, instead of waiting for their polls.

Kept rule: a pushed delivery waits in the same mailbox as a polled one and is leased while it is pushed, so a push service may
poll too, and several nodes may push for one service. Words: a *courier* looks after one service, an *attempt* is one request,
and *slots* are the places that all couriers of a node share, in two *lanes*: one for the quick, one for the others.
"""

from __future__ import annotations

from postroad.core.model.asset import Hosting
from postroad.core.model.directory import DeliveryMode, Push, Service
from postroad.core.model.snapshot import Directory
from postroad.flow.as2_partners import Partners
from postroad.flow.network import Network
from postroad.flow.one_per_service import OnePerService
from postroad.flow.push_as2 import As2Pushes
from postroad.flow.push_attempt import Attempts
from postroad.flow.push_courier import Courier
from postroad.flow.push_slots import Lanes, Slots
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
        lanes: Lanes | None = None,
        partners: Partners | None = None,
    ) -> None:
        self._network = network
        partners = partners or Partners(secrets, lambda service: "")
        as2 = As2Pushes(partners, pusher, secrets, network.clock, network.randomness, timeout_s)
        self._attempts = Attempts(network, pusher, secrets, timeout_s, as2)
        self._lanes = lanes or Lanes(quick=Slots(), slow=Slots())
        self._has_started = False
        self._couriers = OnePerService(_pushed_to, self._courier)

    def start(self) -> None:
        self._network.pushes.serve(self._couriers.get)
        self._couriers.start(self._network.configuration)
        self._has_started = True

    async def close(self) -> None:
        """Take nothing more, and return when everything under way is settled or given back."""
        await self._couriers.close()

    def _courier(self, profile: tuple[Service, Push]) -> Courier:
        return Courier(self._network, self._attempts, self._lanes, *profile, is_new=self._has_started)


def _pushed_to(directory: Directory) -> dict[str, tuple[Service, Push]]:
    """Services in good standing that want to be pushed to; the messages of a suspended one wait."""
    return {
        service.gcid: (service, service.push)
        for service in directory.services.values()
        if service.delivery is DeliveryMode.PUSH
        and service.push is not None
        and service.hosted is Hosting.NONE
        and not directory.is_suspended(service)
    }
