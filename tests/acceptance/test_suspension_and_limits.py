"""Suspension and limits on both stores and over a real server: nothing stored is lost, a restart included."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from postroad.bootstrap import RunningNetwork, Settings, open_network, read_settings
from postroad.client import Retrying
from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel, Organization, OrganizationLimits, Service, Visibility
from postroad.core.model.message import Message, MessageType, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.errors import Refused
from postroad.flow.registries.configuration import build_save
from postroad.testing.http_client import ClientConnection
from tests.samples.served_network import Served, json_lines, postroad, served, succeeded
from tests.waiting import eventually

MYBIZ, ACME = (
    Service(gcid=digit * 16, organization=house, name="Service", visibility=Visibility.PUBLIC)
    for digit, house in (("a", "MyBiz"), ("b", "Acme"))
)

SOAP = b"""<Envelope xmlns="http://www.w3.org/2003/05/soap-envelope"><Body><Post/></Body></Envelope>"""  # however wrong


@pytest.fixture(params=["embedded", "shared"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    overrides: dict[str, Any] = {"data": str(tmp_path), "segment_bytes": 1 << 20, "least_free_bytes": 1 << 20}
    if request.param == "shared":
        dsn = request.getfixturevalue("postgres_database")
        overrides |= {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "postgres": dsn}
    return read_settings(file=Path(os.devnull), environment={}, overrides=overrides)


class OrderTraffic:
    def __init__(self, running: RunningNetwork) -> None:
        self.network = running.network

    def caller(self, service: Service) -> Caller:
        return Caller(service=self.network.directory.services[service.gcid], level=AuthenticationLevel.KEY)

    async def save(self, *objects: object) -> None:
        await self.network.configuration.change("operator", [build_save(item) for item in objects])

    async def post(self, **fields: Any) -> str:
        message = Message(**{"to": (Recipient(ACME.address),), "type": MessageType.NOTIFICATION} | fields)
        return (await self.network.post(self.caller(MYBIZ), message)).session

    async def refused(self, **fields: Any) -> str:
        with pytest.raises(Refused) as refused:
            await self.post(**fields)
        return refused.value.code

    async def fetch(self, service: Service = ACME) -> list[str]:
        delivered = await self.network.poll(self.caller(service), PollRequest(max=100))
        tokens = tuple(one.token for one in delivered)
        await self.network.settle(self.caller(service), Settlement(tokens=tokens))
        return [one.session for one in delivered]


@asynccontextmanager
async def open_traffic(settings: Settings) -> AsyncIterator[OrderTraffic]:
    async with open_network(settings) as running:
        at = OrderTraffic(running)
        if MYBIZ.gcid not in at.network.directory.services:
            await at.save(Organization(name="MyBiz"), Organization(name="Acme"), MYBIZ, ACME)
        yield at


@pytest.mark.req("N11")
async def test_what_is_stored_survives_a_suspension_and_a_restart(settings: Settings) -> None:
    async with open_traffic(settings) as at:
        sessions = [await at.post() for _ in range(5)]
        await at.save(Organization(name="Acme", suspended="unpaid"))
        assert await at.refused() == "recipient.suspended"
    async with open_traffic(settings) as at:
        assert await at.refused() == "recipient.suspended"
        with pytest.raises(Refused, match=r"service\.suspended"):
            await at.fetch()
        await at.save(Organization(name="Acme"))
        sessions.append(await at.post())
        assert await at.fetch() == sessions


@pytest.mark.req("N11")
async def test_what_a_suspended_service_does_not_fetch_expires(settings: Settings) -> None:
    async with open_traffic(settings) as at:
        in_a_second_us = at.network.clock.now_us() + 1_000_000
        await at.post(type=MessageType.REQUEST, expires_at_us=in_a_second_us)
        await at.save(Organization(name="Acme", suspended="unpaid"))
        [told] = await at.network.poll(at.caller(MYBIZ), PollRequest(wait_s=20))
        assert told.status is not None
        assert told.status.code == "route.expired"
        await at.save(Organization(name="Acme"))
        assert await at.fetch() == []


@pytest.mark.req("Z6")
async def test_what_waits_is_counted_after_a_restart_too(settings: Settings) -> None:
    async with open_traffic(settings) as at:
        await at.save(Organization(name="MyBiz", limits=OrganizationLimits(queued_messages=3)))
        for _ in range(3):
            await at.post()
        assert await at.refused() == "limit.storage"
    async with open_traffic(settings) as at:
        assert await at.refused() == "limit.storage"
        assert (await at.network.quota.usage("MyBiz")).queued_messages == 3
        assert len(await at.fetch()) == 3
        await at.post()


# --- as operators and members do it -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("limits") / "data") as network:
        network.register("MyBiz/Buyer", "Acme/Supply", "Limited/Buyer", "Hasty/Buyer")
        yield network


def operating(network: Served, *arguments: str) -> str:
    return succeeded(*arguments, "--data", network.data)


@pytest.mark.req("N11")
@pytest.mark.parametrize("name", ["Acme", "Acme/Supply"])
def test_operators_suspend_and_resume_from_the_command_line(running: Served, name: str) -> None:
    with running.client("MyBiz/Buyer") as buyer, running.client("Acme/Supply") as supply:
        first = buyer.post(to="Acme/Supply", document="before")
        assert operating(running, "suspend", name, "--reason", "unpaid bills") == f"{name}: suspended\n"
        with pytest.raises(Refused) as refused:
            buyer.post(to="Acme/Supply", document="meanwhile")
        assert refused.value.code == "recipient.suspended"
        with pytest.raises(Refused) as polling:
            supply.poll()
        assert polling.value.code == "service.suspended"
        for arguments in (("suspend", name, "--reason", "me"), ("resume", name)):
            denied = postroad(*arguments, "--url", running.url, "--key-file", running.key("Acme/Supply"))
            assert (denied.returncode, "permission.denied" in denied.stderr) == (3, True)
        assert operating(running, "resume", name) == f"{name}: is active again\n"
        [waiting] = supply.poll()
        assert waiting.session == first.session
        supply.acknowledge(waiting)


@pytest.mark.req("Z6")
def test_operators_set_limits_and_members_see_what_they_take_up(running: Served) -> None:
    operating(running, "limits", "set", "Limited", "--queued-messages", "2", "--message-bytes", "1000")
    with running.client("Limited/Buyer", retrying=Retrying(tries=1)) as buyer, running.client("Acme/Supply") as supply:
        for _ in range(2):
            buyer.post(to="Acme/Supply", document="x" * 500)
        with pytest.raises(Exception, match=r"limit\.storage"):
            buyer.post(to="Acme/Supply", document="one more")
        with pytest.raises(Refused, match=r"wire\.too-large"):
            buyer.post(to="Acme/Supply", document="x" * 1_001)
        [usage] = json_lines(operating(running, "limits", "show", "Limited", "--json"))
        assert usage["queuedMessages"] == {"used": 2, "limit": 2}
        assert usage["storedBytes"]["used"] >= 1_000
        assert buyer.get("/v1/organizations/Limited/usage") == usage
        assert "2 of 2" in operating(running, "limits", "show")
        supply.acknowledge(*supply.poll(2))
        eventually(lambda: buyer.get("/v1/organizations/Limited/usage")["queuedMessages"]["used"] == 0)
        buyer.post(to="Acme/Supply", document="again")
        with pytest.raises(Refused, match="not-found"):
            supply.get("/v1/organizations/Limited/usage")


@pytest.mark.req("Z6")
async def test_a_rate_holds_for_one_for_many_and_for_soap(running: Served) -> None:
    operating(running, "limits", "set", "Hasty", "--posts-per-second", "5")  # 20 in a burst
    key = running.key("Hasty/Buyer").read_text().strip()
    port = int(running.url.rpartition(":")[2])
    one = json.dumps({"to": ["Acme/Supply"]}).encode()
    async with ClientConnection(port, key) as poster:
        first = await poster.post("/v1/messages", one)
        assert first.headers["ratelimit-policy"] == '"default";q=20;w=4'
        unknown = await poster.post("/v1/messages", json.dumps({"to": ["No/Body"]}).encode())
        assert (unknown.status, "ratelimit" in unknown.headers) == (422, True), "what is refused counts, and is told"
        many = await poster.post("/v1/messages/bulk", b"\n".join([one] * 14), "application/x-ndjson")
        assert (many.status, "ratelimit" in many.headers) == (200, True)
        for path, body, form in (
            ("/v1/messages/bulk", b"\n".join([one] * 15), "application/x-ndjson"),
            ("/v1/messages/bulk", b"\n".join([one] * 100), "application/x-ndjson"),
        ):
            refused = await poster.post(path, body, form)
            assert refused.status == 429, refused.body
            assert int(refused.headers["retry-after"]) >= 1
        answers = [await poster.post("/v1/messages", one) for _ in range(40)]  # in far less than four seconds
        assert (answers[-1].status, json.loads(answers[-1].body)["code"]) == (429, "rate.exceeded")
        for body, form in ((b"", "application/x-ndjson"), (b"nonsense", "text/plain")):
            calls = [await poster.post("/v1/messages/bulk", body, form) for _ in range(5)]
            assert 429 in [call.status for call in calls], "a call counts, whatever is in it"
        over_soap = await poster.post("/soap", SOAP, "application/soap+xml")
        assert (over_soap.status, b"rate.exceeded" in over_soap.body) == (429, True)
    async with ClientConnection(port, running.key("Acme/Supply").read_text().strip()) as other:
        assert (await other.post("/v1/messages", json.dumps({"to": ["Acme/Supply"]}).encode())).status == 202
