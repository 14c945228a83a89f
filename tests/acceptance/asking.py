"""Asking the application in process: a populated network in memory, and a client for everybody in it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from postroad.api.application import Pages, build_application
from postroad.bootstrap.settings import Settings
from postroad.flow.administration.base import NO_JUDGES, Judges
from postroad.testing.network import MemoryNetwork, memory_network
from tests.acceptance.served import populate


@dataclass(slots=True, kw_only=True)
class Asked:
    """The network, and a way to ask it as anybody."""

    running: MemoryNetwork
    client: httpx2.AsyncClient
    keys: dict[str, str] = field(default_factory=dict)
    seen: list[httpx2.Response] = field(default_factory=list)  # every answer there was

    async def ask(
        self, who: str, method: str, path: str, body: Any = None, *, match: str | None = None, **headers: str
    ) -> httpx2.Response:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if who in self.keys:
            given["Authorization"] = f"Bearer {self.keys[who]}"
        if match is not None:
            given["If-Match"] = match
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            given.setdefault("Content-Type", "application/json")
        response = await self.client.request(method, path, content=content, headers=given)
        self.seen.append(response)
        return response

    def gcid(self, address: str) -> str:
        service = self.running.network.directory.service(address)
        assert service is not None
        return service.gcid


@asynccontextmanager
async def asked_network(
    *,
    requests_per_s: int = 0,
    judges: Judges = NO_JUDGES,
    pages: Pages | None = None,
    settings: Settings | None = None,
) -> AsyncIterator[Asked]:
    async with memory_network() as running:
        keys = await populate(running)
        app = build_application(
            running.network,
            running.authenticator,
            running.passwords,
            settings or Settings(),
            requests_per_s=requests_per_s,
            judges=judges,
            pages=pages,
        )
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://network.example") as client:
            yield Asked(running=running, client=client, keys=keys)
