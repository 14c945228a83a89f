"""An enterprise, two providers and a stranger in a whole network in memory, hosted services and HTTP application included.

The clock is the real one, and can be put ahead.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2

from postroad.adapters.passwords import Argon2Passwords
from postroad.api.application import build_application
from postroad.bootstrap import RunningNetwork, open_network
from postroad.bootstrap.settings import Settings
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Accepts, Role, Service, Visibility
from postroad.core.model.message import Argument, Delivered, Message, MessageType, Part, Recipient, Status
from postroad.core.model.polling import PollRequest, Selector, Settlement
from postroad.flow.registries.configuration import build_save
from postroad.testing.clocks import ShiftedClock
from postroad.testing.network import CHEAP, MemoryNetwork

HOME = "https://network.example"
OWN_SERVICE = "Network/Provisioning"
BOOKS_PAGE, PARCELS_PAGE = "https://books.example/join?from=postroad", "https://parcels.example/join"
COOKIE = "<account>P-4711</account>"
PASSWORD = "seven quiet herons wading"


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """What came to the provider's page."""

    gcid: str
    token: str
    return_url: str


class ProvisioningNetwork:
    """Callers by what they are, keys for HTTP, and the words that providers say."""

    def __init__(self, running: RunningNetwork, client: httpx2.AsyncClient, clock: ShiftedClock) -> None:
        self.running, self.network, self.client, self.clock = running, running.network, client, clock
        self.made = MemoryNetwork(
            network=running.network, authenticator=running.authenticator, passwords=running.passwords
        )
        self.callers: dict[str, Caller] = {}
        self.keys: dict[str, str] = {}

    async def register_parties(self) -> None:
        provider = {"visibility": Visibility.PUBLIC, "accepts": Accepts.PROVISIONED}
        profiles: dict[str, dict[str, Any]] = {
            "MyBiz/Office": {},
            "Books/Ledger": provider | {"provisioning_url": BOOKS_PAGE},
            "Parcels/Dispatch": provider | {"provisioning_url": PARCELS_PAGE},
            "Parcels/Other": {"visibility": Visibility.PUBLIC},
            "Stranger/Out": {"visibility": Visibility.PUBLIC},
        }
        for address, profile in profiles.items():
            self.callers[address] = await self.made.register(address, **profile)
        for name, house, role in (
            ("owner@mybiz", "MyBiz", Role.OWNER), ("developer@mybiz", "MyBiz", Role.DEVELOPER),
            ("viewer@mybiz", "MyBiz", Role.VIEWER), ("owner@books", "Books", Role.OWNER),
            ("owner@parcels", "Parcels", Role.OWNER), ("owner@stranger", "Stranger", Role.OWNER),
        ):  # fmt: skip
            self.callers[name] = await self.made.enroll(f"{name}.example", organization=house, role=role)
        self.callers["operator"] = await self.made.enroll("operator@network.example", operator=True)
        for who, caller in self.callers.items():
            self.keys[who] = await self.made.key_for(caller)

    async def ask(self, who: str, method: str, path: str, body: Any = None, **headers: str) -> httpx2.Response:
        given = {"Authorization": f"Bearer {self.keys[who]}"} if who in self.keys else {}
        content = json.dumps(body).encode() if body is not None else None
        given |= {"Content-Type": "application/json"} if content is not None else {}
        return await self.client.request(method, path, content=content, headers=given | headers)

    def service(self, named: str) -> Service:
        found = self.network.directory.service(named)
        assert found is not None, named
        return found

    def caller(self, named: str) -> Caller:
        """A service's caller, with its profile as it is now."""
        return Caller(service=self.service(named), level=self.callers["MyBiz/Office"].level)

    async def change(self, named: str, **fields: Any) -> None:
        await self.network.configuration.change("test", [build_save(replace(self.service(named), **fields))])

    async def begin(self, provider: str = "Parcels/Dispatch", service: str = "Shipping") -> Begun:
        """MyBiz begins; what the provider's page is told."""
        wish = {"provider": provider, "service": service}
        answer = await self.ask("owner@mybiz", "POST", "/v1/organizations/MyBiz/provisionings", wish)
        assert answer.status_code == 201, answer.text
        return visited(answer.json()["redirect"])

    async def connect(self, provider: str = "Parcels/Dispatch", service: str = "Shipping", cookie: str = COOKIE) -> str:
        """From beginning to confirmation; the GCID of the service that stands for the account now."""
        begun = await self.begin(provider, service)
        assert await self.confirm(provider, begun.gcid, begun.token, cookie) == ""
        return begun.gcid

    async def confirm(self, who: str, gcid: str, token: str, cookie: str = "") -> str:
        return await self.say(who, "provisioning.confirm", cookie, GCID=gcid, token=token)

    async def say(self, who: str, topic: str, cookie: str = "", **arguments: str) -> str:
        """Say something to the network's own service; the code of its answer's status, empty for success."""
        status = await self.answered(who, topic, cookie, **arguments)
        return status.code if status is not None else ""

    async def answered(self, who: str, topic: str, cookie: str = "", **arguments: str) -> Status | None:
        parts = (Part(id="1", content_type="application/xml", data=cookie.encode()),) if cookie else ()
        to = Recipient(OWN_SERVICE, tuple(Argument(name, text) for name, text in arguments.items()))
        message = Message(to=(to,), type=MessageType.REQUEST, topic=topic, parts=parts)
        posted = await self.network.post(self.caller(who), message)
        [answer] = await self.fetch(who, wait_s=20.0, transaction=posted.transaction)
        return answer.status

    async def post(self, who: str, *to: str, text: str = "a chair", **fields: Any) -> str:
        parts = (Part(id="1", content_type="text/plain", data=text.encode()),)
        message = Message(to=tuple(map(Recipient, to)), type=MessageType.REQUEST, parts=parts, **fields)
        return (await self.network.post(self.caller(who), message)).session

    async def fetch(self, who: str, *, wait_s: float = 0.0, **selected: Any) -> list[Delivered]:
        """What waits for a service, taken over for good."""
        caller = self.caller(who)
        found = await self.network.poll(caller, PollRequest(wait_s=wait_s, trace=True, select=Selector(**selected)))
        if found and found[0].type is not MessageType.REQUEST:
            await self.network.settle(caller, Settlement(tokens=tuple(one.token for one in found)))
        return found

    def trust(self) -> tuple[Any, Any]:
        """Everything that a confirmation could change."""
        directory = self.network.directory
        return dict(directory.provisionings), dict(directory.cookies)


def visited(redirect: str) -> Begun:
    """What a provider's page reads in its address."""
    told = {name: texts[0] for name, texts in parse_qs(urlsplit(redirect).query).items()}
    return Begun(gcid=told["serviceID"], token=told["token"], return_url=told["returnURL"])


@asynccontextmanager
async def provisioning_network(data: Path, **settings: Any) -> AsyncIterator[ProvisioningNetwork]:
    clock = ShiftedClock()
    chosen = Settings(data=data, index="memory", public_url=HOME, **settings)
    passwords = Argon2Passwords(**CHEAP)
    async with open_network(chosen, clock=clock, passwords=passwords) as running:
        app = build_application(running.network, running.authenticator, running.passwords, chosen, requests_per_s=0)
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url=HOME) as client:
            place = ProvisioningNetwork(running, client, clock)
            await place.register_parties()
            yield place
    passwords.close()
