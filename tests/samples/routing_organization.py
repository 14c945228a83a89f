"""An organization with an exchange, a model, a send port and a few services, for tests of the pages about routing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from postroad.client import Client

HOUSE = "Workshop"
PASSWORD = "a long sentence that nobody guesses"
ELSEWHERE = "Neighbour"
PEOPLE = {"developer": "dev@workshop.example", "viewer": "view@workshop.example", "stranger": "dev@neighbour.example"}
ORDER = "ST*850*{number:04d}~BEG*00*SA*PO{number}**20261116~SE*3*{number:04d}~"
PORT = {
    "sendsTo": f"{HOUSE}/Shop", "standard": "x12", "sender": "WORKSHOP", "receiver": "SHOP", "count": 3, "ageSeconds": 3600
}  # fmt: skip
SERVICES: dict[str, Any] = {
    "Buyer": {"description": "Sends orders", "visibility": "public"},
    "Desk": {"description": "Looks at what is expensive", "visibility": "public"},
    "Shop": {"description": "Takes orders"},
    "Orders": {"description": "Lets orders go where they are wanted", "hosted": "exchange"},
    "Regions": {"description": "News by region", "hosted": "model"},
    "Nightly": {"description": "Gathers orders", "hosted": "batcher", "batching": PORT},
    "Weekly": {"description": "Gathers orders for longer", "hosted": "batcher", "batching": PORT},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingOrganization:
    url: str
    gcids: dict[str, str]
    buyer_key: str

    def gather(self, number: int, port: str = "Nightly") -> str:
        """Post an order to a send port; its session."""
        with Client(self.url, self.buyer_key) as buyer:
            return buyer.post(to=f"{HOUSE}/{port}", document=ORDER.format(number=number).encode()).session


def make_routing_organization(url: str, operator_key: str) -> RoutingOrganization:
    with Client(url, operator_key) as operator:
        wanted = {"postroad": 1, "organizations": {HOUSE: {"services": SERVICES}, ELSEWHERE: {}}}
        operator.apply(wanted, version=operator.plan(wanted).version)
        owned = [one for one in operator.every("/v1/services") if one["organization"] == HOUSE]
        gcids = {one["name"]: one["gcid"] for one in owned}
        wish = {"kind": "key", "label": "tests"}
        key = operator.change("POST", f"/v1/services/{gcids['Buyer']}/credentials", wish)["key"]
        for role, email in PEOPLE.items():
            house, role = (ELSEWHERE, "owner") if role == "stranger" else (HOUSE, role)
            invited = operator.change("POST", f"/v1/organizations/{house}/members", {"email": email, "role": role})
            with Client(url, invited["key"]) as member:
                member.change("PUT", "/v1/account/password", {"password": PASSWORD})
    return RoutingOrganization(url=url, gcids=gcids, buyer_key=key)
