"""Registration open, by approval, or closed; and the limits that a new organization begins with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest

from postroad.api.application import build_application
from postroad.bootstrap.settings import Settings, read_settings
from postroad.core.model.directory import Organization, OrganizationLimits
from postroad.errors import Misconfigured
from postroad.testing.network import MemoryNetwork, memory_network

WISH = {
    "organization": "Newcomer",
    "email": "owner@newcomer.example",
    "name": "N",
    "password": "a long sentence about the sea",
}


@asynccontextmanager
async def network(settings: Settings) -> AsyncIterator[tuple[MemoryNetwork, httpx2.AsyncClient]]:
    async with memory_network() as running:
        app = build_application(running.network, running.authenticator, running.passwords, settings, requests_per_s=0)
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
            yield running, client


@pytest.mark.req("Z6")
async def test_a_new_organization_begins_with_finite_limits() -> None:
    async with network(Settings()) as (running, client):
        await running.register("Older/Service")
        assert (await client.post("/v1/register", json=WISH)).status_code == 201
        new, older = running.network.directory.organization("Newcomer"), running.network.directory.organization("Older")
        assert new == Organization(
            name="Newcomer",
            posts_per_s=500,
            limits=OrganizationLimits(stored_bytes=1 << 30, queued_messages=100_000),
        )
        assert older == Organization(name="Older")


@pytest.mark.req("Z6")
async def test_closed_registration_refuses_everybody() -> None:
    async with network(Settings(registration="closed")) as (running, client):
        answer = await client.post("/v1/register", json=WISH)
        assert (answer.status_code, answer.json()["code"]) == (403, "registration.closed")
        assert running.network.directory.organization("Newcomer") is None


@pytest.mark.req("Z6", "Z7")
async def test_an_organization_that_awaits_approval_reads_and_changes_nothing() -> None:
    async with network(Settings(registration="approval")) as (running, client):
        operator = await running.key_for(await running.enroll("operator@network.example", operator=True))
        assert (await client.post("/v1/register", json=WISH)).status_code == 201
        login = {"email": WISH["email"], "password": WISH["password"]}
        key = (await client.post("/v1/login", json=login)).json()["key"]
        own = {"Authorization": f"Bearer {key}"}
        assert (await client.get("/v1/account", headers=own)).status_code == 200
        service = {"organization": "Newcomer", "name": "Orders"}
        for path in ("/v1/services", "/v1/try", "/v1/configuration/plan"):
            answer = await client.post(path, json=service, headers=own)
            assert (answer.status_code, answer.json()["code"]) == (403, "registration.pending"), path
        approving = {"Authorization": f"Bearer {operator}"}
        assert (await client.delete("/v1/organizations/Newcomer/suspension", headers=approving)).status_code < 300
        assert (await client.post("/v1/services", json=service, headers=own)).status_code == 201


def test_the_setting_knows_three_words() -> None:
    with pytest.raises(Misconfigured, match="registration: must be"):
        read_settings(environment={"POSTROAD_REGISTRATION": "perhaps"})
    assert read_settings(environment={"POSTROAD_REGISTRATIONS_PER_DAY": "0"}).registrations_per_day == 0
