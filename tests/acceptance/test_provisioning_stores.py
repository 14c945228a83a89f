"""Trust on both stores and over a restart: what was agreed holds, what was sent under a pseudonym is still answered by it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postroad.bootstrap import RunningNetwork, Settings, open_network, read_settings
from postroad.core.model.caller import Caller
from postroad.core.model.directory import (
    Accepts,
    AuthenticationLevel,
    Organization,
    Person,
    Role,
    Service,
    Visibility,
)
from postroad.core.model.message import Argument, Cookie, Delivered, Message, MessageType, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.errors import Refused
from postroad.flow.administration.base import Administration
from postroad.flow.administration.provisioning import ProvisioningRequest, begin_provisioning, revoke
from postroad.flow.registries.configuration import build_save
from tests.samples.provisioning_network import OWN_SERVICE, visited

OWNER = Caller(person=Person(email="owner@mybiz.example", organization="MyBiz", role=Role.OWNER))
BOOKS = Service(gcid="b" * 16, organization="Books", name="Ledger", visibility=Visibility.PUBLIC)
PARCELS = Service(
    gcid="c" * 16, organization="Parcels", name="Dispatch", visibility=Visibility.PUBLIC, accepts=Accepts.PROVISIONED,
    provisioning_url="https://parcels.example/join",
)  # fmt: skip
ACCOUNT = Cookie("account 7")


@pytest.fixture(params=["embedded", "shared"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    overrides: dict[str, Any] = {"data": str(tmp_path), "segment_bytes": 1 << 20, "least_free_bytes": 1 << 20}
    if request.param == "shared":
        dsn = request.getfixturevalue("postgres_database")
        overrides |= {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "postgres": dsn}
    return read_settings(file=Path(os.devnull), environment={}, overrides=overrides)


class Desk:
    """What the parties do, on a network that is running now."""

    def __init__(self, running: RunningNetwork) -> None:
        self.network = running.network
        self.administration = Administration(running.network, running.passwords)

    def caller(self, gcid: str) -> Caller:
        return Caller(service=self.network.directory.services[gcid], level=AuthenticationLevel.KEY)

    async def furnish(self) -> None:
        houses = [Organization(name=name) for name in ("MyBiz", "Books", "Parcels")]
        await self.network.configuration.change(
            "test", [build_save(item) for item in (*houses, BOOKS, PARCELS, OWNER.person)]
        )

    async def learn(self) -> None:
        """What other nodes have changed, at once rather than soon."""
        await self.network.wait_until_indexed()
        await self.network.configuration.load()

    async def begun(self) -> tuple[str, str]:
        wish = ProvisioningRequest(organization="MyBiz", provider=PARCELS.address, service="Shipping")
        told = visited((await begin_provisioning(self.administration, OWNER, wish, "https://network.example")).redirect)
        return told.gcid, told.token

    async def confirm(self, gcid: str, token: str) -> str:
        given = (Argument("GCID", gcid), Argument("token", token))
        cookie = Part(id="1", content_type=ACCOUNT.content_type, data=ACCOUNT.content.encode())
        message = Message(
            to=(Recipient(OWN_SERVICE, given),), type=MessageType.REQUEST, topic="provisioning.confirm", parts=(cookie,)
        )
        await self.network.post(self.caller(PARCELS.gcid), message)
        [answer] = await self.fetch(PARCELS.gcid, wait_s=20.0)
        await self.network.settle(self.caller(PARCELS.gcid), Settlement(tokens=(answer.token,)))
        return answer.status.code if answer.status is not None else ""

    async def ask(self, gcid: str) -> str:
        message = Message(to=(Recipient(gcid),), type=MessageType.REQUEST, handle="h-1")
        return (await self.network.post(self.caller(BOOKS.gcid), message)).session

    async def fetch(self, gcid: str, *, wait_s: float = 5.0, lease_s: float = 0.0) -> list[Delivered]:
        return await self.network.poll(self.caller(gcid), PollRequest(wait_s=wait_s, lease_s=lease_s))


@pytest.mark.req("N7", "N8", "N9", "O3")
async def test_trust_and_pseudonyms_hold_over_a_restart(settings: Settings) -> None:
    async with open_network(settings) as running:
        desk = Desk(running)
        await desk.furnish()
        gcid, token = await desk.begun()
    async with open_network(settings) as running:
        desk = Desk(running)
        assert await desk.confirm(gcid, token) == ""
        open_to_books = replace(desk.network.directory.services[gcid], accepts_from=("Books",))
        await running.network.configuration.change("test", [build_save(open_to_books)])
        session = await desk.ask(gcid)
        [seen] = await desk.fetch(PARCELS.gcid, lease_s=3_600)
        assert (seen.sender_gcid, seen.cookie, seen.handle) == (gcid, ACCOUNT, "")
        assert seen.session != session
    async with open_network(settings) as running:
        desk = Desk(running)
        response = Message(type=MessageType.RESPONSE, reference=seen.token)
        answered = await desk.network.post(desk.caller(PARCELS.gcid), response)
        assert answered.transaction == seen.transaction, "in the words that the provider knows"
        [back] = await desk.fetch(BOOKS.gcid)
        assert (back.sender_gcid, back.transaction) == (gcid, session)
        assert await desk.confirm(gcid, token) == "provisioning.invalid", "a token is used up for good"
        await revoke(desk.administration, OWNER, gcid)
    async with open_network(settings) as running:
        with pytest.raises(Refused, match=r"recipient\.not-provisioned"):
            await Desk(running).ask(gcid)


@pytest.mark.req("N10", "N12", "O3")
async def test_what_one_node_agrees_to_another_one_knows(postgres_database: str, tmp_path: Path) -> None:
    shared = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "postgres": postgres_database}
    one, other = (
        read_settings(file=Path(os.devnull), environment={}, overrides=shared | {"data": str(tmp_path / name)})
        for name in ("one", "other")
    )
    async with open_network(one) as first, open_network(other) as second:
        here, there = Desk(first), Desk(second)
        await here.furnish()
        await there.learn()
        gcid, token = await here.begun()
        assert await there.confirm(gcid, token) == ""
        await here.learn()
        assert here.network.directory.is_provisioned(gcid, PARCELS.gcid)
        again = await there.confirm(gcid, token)
        assert again == "provisioning.invalid"
        await revoke(here.administration, OWNER, gcid)
        await there.learn()
        assert not there.network.directory.is_provisioned(gcid, PARCELS.gcid)
        assert there.network.directory.cookies == {}
