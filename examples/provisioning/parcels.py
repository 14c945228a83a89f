"""Parcels, a provider that picks parcels up. It lets the network remember whose messages are whose, by a cookie."""

from __future__ import annotations

import threading
from typing import Any

from customer_site import CustomerSite

from postroad.client import Client, MessageType, ProvisioningRedirect, Received, Selector

CUSTOMERS = {"mybiz": ("open sesame, parcels", "P-4711")}


class Parcels:
    def __init__(self) -> None:
        self.site = CustomerSite("Parcels", "Parcels/Dispatch", CUSTOMERS)
        self.seen: list[Received] = []
        self.bills: dict[str, list[str]] = {}  # by account

    def open(self, network: str, key: str) -> None:
        self.client, self.worker = Client(network, key), Client(network, key)
        self.site.open(network, self.client.inspect_provisioning, self.accept)
        self._thread = threading.Thread(target=self._work, name="Parcels at work")
        self._thread.start()

    def accept(self, visit: ProvisioningRedirect, account: str) -> None:
        self.client.confirm_provisioning(visit.gcid, visit.token, cookie=f"<account>{account}</account>")

    def _work(self) -> None:
        self.worker.handle(self.picked_up, wait_s=1.0, select=Selector(type=MessageType.REQUEST))

    def picked_up(self, request: Received) -> dict[str, Any]:
        """The cookie says which customer pays, independent of the original sender."""
        account = request.cookie.content if request.cookie else "nobody"
        self.bills.setdefault(account, []).append(request.document["parcel"])
        self.seen.append(request)
        return {"pickedUp": request.document["parcel"]}

    def close(self) -> None:
        self.worker.stop()
        self._thread.join(10)
        self.site.close()
        self.client.close()
        self.worker.close()
