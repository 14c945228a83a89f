"""Books, a provider that keeps its customers' books. It remembers itself which service is whose, so it registers no cookie."""

from __future__ import annotations

from typing import Any

from customer_site import CustomerSite

from postroad.client import Client, ProvisioningRedirect, Received, Selector

CUSTOMERS = {"mybiz": ("open sesame, ledger", "B-77")}


class Books:
    def __init__(self) -> None:
        self.site = CustomerSite("Books", "Books/Ledger", CUSTOMERS)
        self.accounts: dict[str, str] = {}  # by GCID

    def open(self, network: str, key: str) -> None:
        self.client = Client(network, key)
        self.site.open(network, self.client.inspect_provisioning, self.accept)

    def accept(self, visit: ProvisioningRedirect, account: str) -> None:
        self.client.confirm_provisioning(visit.gcid, visit.token)
        self.accounts[visit.gcid] = account

    def have_picked_up(self, service: str, order: dict[str, Any]) -> Received:
        """Ask whatever service the customer has named for this; who is behind it, Books never learns."""
        posted = self.client.post(to=service, type="request", topic="pick-up", document=order)
        [answer] = self.client.poll(1, wait_s=20, select=Selector(transaction=posted.transaction))
        self.client.acknowledge(answer)
        return answer

    def close(self) -> None:
        self.site.close()
        self.client.close()
