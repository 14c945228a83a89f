"""A network in memory with its console, an organization that has one of everything, and people of every kind who ask for pages.

Whatever a form could change or remove exists once for everybody who may try, so that nobody's trial depends on another's. The
clock is the real one, and can be put ahead; whoever asks comes from an address of their own.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import msgspec

from postroad.adapters.passwords import Argon2Passwords
from postroad.api.application import build_application
from postroad.bootstrap import RunningNetwork, open_network
from postroad.bootstrap.first_start import OPERATOR
from postroad.bootstrap.settings import Settings
from postroad.console import console
from postroad.console.whatif_runs import WhatIfRequest
from postroad.core.delivery.reasons import make_reason
from postroad.core.model.billing import Invoice, InvoiceLine
from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel, Role
from postroad.core.model.message import Delivered, Message, Part, Recipient
from postroad.core.model.polling import PollRequest
from postroad.flow.administration import accounts, batches, support
from postroad.flow.administration import dead_letters as letters
from postroad.flow.administration.base import Administration
from postroad.flow.administration.configuration import apply, plan_configuration
from postroad.flow.registries.configuration import build_save
from postroad.testing.clocks import ShiftedClock
from postroad.testing.network import CHEAP, MemoryNetwork
from tests.samples.counted import Counted
from tests.samples.routing_organization import HOUSE, ORDER, PORT, SERVICES
from tests.waiting import eventually_async

HOME = "http://network.example"
PASSWORD = "seven quiet herons wading"
EVERYBODY = ("anonymous", "viewer", "developer", "owner", "stranger", "operator")
PRIVATE, PAYLOAD = "kept-to-ourselves", "told-to-the-desk-alone"  # what strangers, and operators, must not read
CSRF = re.compile(r'name="csrf" value="([0-9a-f]+)"')
RUN = "00aa11bb22c{number}"


@dataclass(slots=True, kw_only=True)
class Visitor:
    """A browser without eyes: cookies, the forms' proof, and an address that nobody else has."""

    client: httpx2.AsyncClient
    email: str = ""
    csrf: str = ""

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        return await self.client.get(path, headers=_headers(headers))

    async def send(self, path: str, form: dict[str, str] | None = None, **headers: str) -> httpx2.Response:
        """A form, with the proof that its page would have held."""
        return await self.client.post(path, data={"csrf": self.csrf} | (form or {}), headers=_headers(headers))

    async def log_in(self, email: str, password: str = PASSWORD) -> httpx2.Response:
        answer = await self.client.post("/login", data={"email": email, "password": password})
        found = CSRF.search((await self.get("/account")).text)
        self.email, self.csrf = email, found[1] if found else ""
        return answer


@dataclass(slots=True, kw_only=True)
class Inhabited:
    running: RunningNetwork
    administration: Administration
    app: Any
    clock: ShiftedClock
    private: str  # stands in names, topics and descriptions
    places: dict[str, str] = field(default_factory=dict)  # what stands for the parameters of addresses
    people: dict[str, Visitor] = field(default_factory=dict)

    def visitor(self, base_url: str = HOME) -> Visitor:
        peer = (f"192.0.2.{len(self.people) + 1}", 1)
        transport = httpx2.ASGITransport(app=self.app, raise_app_exceptions=False, client=peer)
        visitor = Visitor(client=httpx2.AsyncClient(transport=transport, base_url=base_url, trust_env=False))
        self.people[f"visitor {len(self.people)}"] = visitor
        return visitor

    def place(self, template: str, who: str) -> str:
        """An address or a form, with what is there for everybody or for this one to try."""
        own = {name.removesuffix(f" {who}"): value for name, value in self.places.items() if name.endswith(f" {who}")}
        return template.format(**self.places | own | {"who": who})

    def gcid(self, name: str) -> str:
        service = self.running.network.directory.service(name)
        assert service is not None, name
        return service.gcid

    def service(self, name: str) -> Caller:
        return Caller(service=self.running.network.directory.service(name), level=AuthenticationLevel.KEY)

    def person(self, email: str) -> Caller:
        return Caller(person=self.running.network.directory.person(email), level=AuthenticationLevel.KEY)

    async def post(self, sender: str, to: str, data: bytes = b"<order/>", **fields: Any) -> str:
        message = Message(to=(Recipient(to),), parts=(Part(id="1", content_type="text/xml", data=data),), **fields)
        return (await self.running.network.post(self.service(sender), message)).session

    async def fetch(self, name: str) -> list[Delivered]:
        return await self.running.network.poll(self.service(name), PollRequest(max=50, wait_s=30.0))


@asynccontextmanager
async def inhabited(data: Path, home: str = HOME, private: str = PRIVATE) -> AsyncIterator[Inhabited]:
    clock, passwords = ShiftedClock(), Argon2Passwords(**CHEAP)
    settings = Settings(data=data, index="memory", public_url=home, master_key="0d" * 32)
    async with open_network(settings, clock=clock, passwords=passwords) as running:
        administration = Administration(running.network, passwords, running.asset_faults, running.engines.judges)
        app = build_application(
            running.network, running.authenticator, passwords, settings, requests_per_s=0,
            pages=lambda _: console(running, administration),
        )  # fmt: skip
        found = Inhabited(running=running, administration=administration, app=app, clock=clock, private=private)
        try:
            await _furnish(found)
            yield found
        finally:
            await asyncio.gather(*(one.client.aclose() for one in found.people.values()))
    passwords.close()


async def _furnish(found: Inhabited) -> None:
    made = MemoryNetwork(
        network=found.running.network, authenticator=found.running.authenticator, passwords=found.running.passwords
    )
    operator = await made.enroll("operator@network.example", operator=True)
    await made.register("Stranger/Out")
    document = _document(found.private)
    plan = await plan_configuration(found.administration, operator, document, prune=False)
    await apply(found.administration, operator, document, prune=False, version=plan.version)
    await made.enroll("owner@stranger.example", organization="Stranger")
    await _fill(found)
    await _count(found)


def _document(private: str) -> dict[str, Any]:
    """The workshop, with one of everything for everybody who may try to change it."""
    rule = {"when": {"equals": {"header": "topic", "value": "never"}}, "then": [{"addServiceAfter": f"{HOUSE}/Desk"}]}
    spare = {f"Spare-{who}": {"description": "To be removed"} for who in EVERYBODY}
    ports = {f"Port-{who}": {"hosted": "batcher", "batching": PORT} for who in EVERYBODY}
    services = {name: dict(profile) for name, profile in SERVICES.items()} | spare | ports
    services["Shop"]["description"] = private
    services["Buyer"]["rules"] = [{"name": f"rule-{who}", "description": private} | rule for who in EVERYBODY]
    services["Orders"]["bindings"] = {f"bound-{who}": {"queue": f"{HOUSE}/Desk"} for who in EVERYBODY}
    services["Ledger"] = {"visibility": "public", "provisioningUrl": "https://ledger.example/join"}
    people = {f"member-{who}@workshop.example": {"role": "viewer"} for who in EVERYBODY}
    people |= {f"{role.value}@workshop.example": {"role": role.value} for role in Role}
    notified = {f"subscribed-{who}": {"channel": "message", "address": f"{HOUSE}/Desk"} for who in EVERYBODY}
    return {
        "postroad": 1,
        "organizations": {HOUSE: {"services": services, "people": people, "notifications": notified}},
    }


async def _fill(found: Inhabited) -> None:
    """Messages that arrived, failed and are gathered; a request for support of everybody's."""
    network, places = found.running.network, found.places
    for name in (*SERVICES, "Ledger"):
        places[name.lower()] = found.gcid(f"{HOUSE}/{name}")
    places["session"] = await found.post(
        f"{HOUSE}/Buyer", f"{HOUSE}/Desk", f"<order>{PAYLOAD}</order>".encode(), topic=PRIVATE
    )
    for who in EVERYBODY:
        places[f"spare {who}"] = found.gcid(f"{HOUSE}/Spare-{who}")
        places[f"port {who}"] = found.gcid(f"{HOUSE}/Port-{who}")
        await found.post(f"{HOUSE}/Buyer", f"{HOUSE}/Shop", topic=who)
        await found.post(f"{HOUSE}/Buyer", f"{HOUSE}/Port-{who}", ORDER.format(number=1).encode())
        asked = await support.open_request(
            found.administration, found.person("viewer@workshop.example"), found.private, who
        )
        places[f"request {who}"] = asked.id
    for delivered in await found.fetch(f"{HOUSE}/Shop"):
        await network.fail(delivered, make_reason("other", detail="tests make it fail"))
    operator = found.person("operator@network.example")
    dead = await letters.browse(network, operator, letters.DeadLetterSearch())
    group = {"service": dead.found[0].letter.service, "cause": dead.found[0].letter.cause.value}
    places |= {"group": urlencode(group), "nothing": urlencode(group | {"service": f"{HOUSE}/Nobody"})}
    places |= {f"letter {one.letter.topic}": str(one.letter.number) for one in dead.found}
    gathered = await _gathered(found, operator)
    places |= {f"batch {one.service.name[5:]}": one.batch.id for one in gathered if one.service is not None}


async def _gathered(found: Inhabited, operator: Caller) -> list[batches.ListedBatch]:
    async def all_of_them() -> list[batches.ListedBatch]:
        page = await batches.browse(found.running.network, operator, batches.BatchSearch(limit=50))
        return page.found if len(page.found) == len(EVERYBODY) else []

    return await eventually_async(all_of_them, why="the send ports gather nothing")


async def _count(found: Inhabited) -> None:
    """An invoice, the warehouse's tables, and what-if runs that are over."""
    line = InvoiceLine(
        number=1, kind="message", part="originator", service=found.places["buyer"], tariff="standard/2026-01",
        quantity=1, kilobytes=1, micros=12_500, amount=Decimal("0.01"),
    )  # fmt: skip
    invoice = Invoice(
        number="2026-7", organization=HOUSE, period="2026-09", currency="EUR", issued_on=date(2026, 10, 1),
        due_on=date(2026, 10, 31), seller="Network", through=17, tariffs={}, lines=(line,), total=Decimal("0.01"),
    )  # fmt: skip
    await found.running.network.configuration.change("tests", [build_save(invoice)])
    named = {"buyer": found.places["buyer"], "seller": found.places["shop"], "stamper": found.places["desk"]}
    counted = Counted(organization=HOUSE, services=named, sessions=(found.places["session"],))
    counted.write(found.running.settings.warehouse_folder)
    found.places |= {"period": counted.period, "invoice": invoice.number}
    for number, who in enumerate(EVERYBODY):
        folder = found.running.settings.data / "whatif" / RUN.format(number=number)
        folder.mkdir(parents=True)
        (folder / "wish.json").write_bytes(msgspec.json.encode(WhatIfRequest(by="operator@network.example", at_us=1)))
        found.places[f"run {who}"] = folder.name


async def enter_all(found: Inhabited) -> dict[str, Visitor]:
    """A browser for everybody, in which they are logged in."""
    emails = {"stranger": "owner@stranger.example", "operator": "operator@network.example"}
    entered = {}
    for who in EVERYBODY:
        entered[who] = found.visitor()
        if who != "anonymous":
            email = emails.get(who, f"{who}@workshop.example")
            person = found.person(email).person
            assert person is not None
            await accounts.set_password(found.administration, person, PASSWORD, "")
            await entered[who].log_in(email)
    found.places["key"] = found.running.network.directory.credentials_of(person=OPERATOR)[0].id
    return entered


def _headers(given: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in given.items()}
