"""The same resources on the embedded store: segment files, SQLite, and a restart in between."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from postroad.adapters.passwords import Argon2Passwords
from postroad.api.application import build_application
from postroad.bootstrap import RunningNetwork, Settings, open_network
from postroad.core.model.message import Message, Part, Recipient
from postroad.flow.access.authenticate import Proof
from tests.waiting import eventually_async

SECRET = "5e" * 32


@asynccontextmanager
async def started(data: Path) -> AsyncIterator[tuple[RunningNetwork, httpx2.AsyncClient]]:
    settings = Settings(data=data, secret=SECRET, segment_bytes=1 << 20, least_free_bytes=0)
    passwords = Argon2Passwords(memory_kib=8)
    async with open_network(settings, passwords=passwords) as running:
        app = build_application(
            running.network, running.authenticator, passwords, settings, require_ready=running.require_ready
        )
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://network.example") as client:
            yield running, client
    passwords.close()


@pytest.mark.req("O3", "N1", "A2")
async def test_what_was_made_before_a_restart_is_there_after_it(tmp_path: Path) -> None:
    async with started(tmp_path) as (running, client):
        wish = {"organization": "Cedar", "email": "c@cedar.example", "password": "seven quiet herons wading"}
        assert (await client.post("/v1/register", json=wish)).status_code == 201
        key = (await client.post("/v1/login", json={"email": wish["email"], "password": wish["password"]})).json()[
            "key"
        ]
        client.headers["Authorization"] = f"Bearer {key}"
        for name in ("Out", "In"):
            assert (await client.post("/v1/services", json={"organization": "Cedar", "name": name})).status_code == 201
        made = await client.post("/v1/services/Cedar/Out/credentials", json={"kind": "key", "label": "k"})
        sender = await running.authenticator.authenticate(Proof(f"Bearer {made.json()['key']}".encode()), "test")
        part = Part(id="order", content_type="text/plain", data=b"seven herons")
        posted = [
            (await running.network.post(sender, Message(to=(Recipient("Cedar/In"),), parts=(part,)))).session
            for _ in range(3)
        ]
        first = await client.get("/v1/messages", params={"limit": 2})
        assert [item["session"] for item in first.json()["items"]] == posted[:0:-1]
    async with started(tmp_path) as (running, client):
        client.headers["Authorization"] = f"Bearer {key}"
        rest = await client.get(first.headers["link"].partition(">")[0][1:])
        assert [item["session"] for item in rest.json()["items"]] == posted[:1], "a cursor outlives a restart"
        received = await client.get(
            "/v1/messages", params={"box": "received", "service": "Cedar/In", "state": "queued"}
        )
        assert [item["session"] for item in received.json()["items"]] == posted[::-1]
        trace = await client.get(f"/v1/messages/{posted[0]}/trace")
        assert trace.json()["messages"][0]["copies"][0]["stops"][0]["state"] == "queued"
        assert (await client.get(f"/v1/messages/{posted[0]}/parts/order")).content == b"seven herons"
        status = (await client.get("/v1/status")).json()
        assert {item["service"]: item["waiting"] for item in status["queues"]} == {"Cedar/In": 3, "Cedar/Out": 0}
        versions = (await client.get("/v1/services/Cedar/In/versions")).json()["items"]
        assert [(item["version"], item["by"]) for item in versions] == [(1, "c@cedar.example")]
        assert (await client.get("/readyz")).status_code == 200


@pytest.mark.req("O4")
async def test_a_network_that_cannot_write_its_journal_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with started(tmp_path) as (running, client):
        journal: Any = running.network.journal
        monkeypatch.setattr(journal._space, "measure", lambda: (1, 2))

        async def is_full() -> bool:
            response = await client.get("/readyz")
            return (response.status_code, response.json().get("code")) == (507, "storage.full")

        await eventually_async(is_full)
        assert (await client.get("/livez")).status_code == 200
