"""The console behind a proxy: people are told apart by where they are, and know that they came over TLS."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from postroad.bootstrap import open_network
from postroad.bootstrap.settings import Settings
from postroad.console import application
from postroad.console.browser_sessions import PLAIN_NAME, SECURE_NAME
from postroad.core.admission.rate_limit import BURST_S, RateLimiter, RateState
from postroad.flow.administration.accounts import register
from postroad.flow.administration.base import Administration
from postroad.testing.ports import free_port
from tests.unit.console.test_streams import served

HSTS = "strict-transport-security"
PASSWORD = "seven quiet herons wading"
LOGIN = {"email": "ann@oak.example", "password": PASSWORD}


class FewAtAll(RateLimiter):
    """Everybody may ask as often as a full bucket allows, and never again: no clock decides a test."""

    def take(self, organization: str, now: float, *, per_s: int = 0, count: int = 1) -> RateState:
        return super().take(organization, 0.0, per_s=1, count=count)


@asynccontextmanager
async def proxied(folder: Path, trusted: tuple[str, ...]) -> AsyncIterator[httpx2.AsyncClient]:
    settings = Settings(
        data=folder,
        index="memory",
        host="127.0.0.1",
        port=free_port(),
        trusted_proxies=trusted,
        strict_transport_days=2,
    )
    async with open_network(settings) as running, served(running) as url:
        await register(Administration(running.network, running.passwords), "Oak", LOGIN["email"], "", PASSWORD)
        async with httpx2.AsyncClient(base_url=url, trust_env=False) as client:
            yield client


async def asked(client: httpx2.AsyncClient, who: str, times: int = BURST_S + 1) -> list[int]:
    headers = {"X-Forwarded-For": f"6.6.6.6, {who}", "X-Forwarded-Proto": "https"}
    return [(await client.get("/login", headers=headers)).status_code for _ in range(times)]


@pytest.mark.req("Z6", "C1")
async def test_each_person_behind_a_trusted_proxy_is_limited_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "RateLimiter", FewAtAll)
    async with proxied(tmp_path, ("127.0.0.1",)) as client:
        greedy = [*[200] * BURST_S, 429]
        assert await asked(client, "203.0.113.7") == greedy
        assert await asked(client, "203.0.113.8") == greedy
        assert await asked(client, "2001:db8::1") == greedy
        assert await asked(client, "2001:db8::2", 1) == [429], "a subscriber of IPv6 has countless addresses"
        limited = await client.get("/login", headers={"X-Forwarded-For": "203.0.113.7"})
        assert int(limited.headers["retry-after"]) > 0


async def test_who_is_no_trusted_proxy_cannot_pass_for_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "RateLimiter", FewAtAll)
    async with proxied(tmp_path, ()) as client:
        assert await asked(client, "203.0.113.7") == [*[200] * BURST_S, 429]
        assert await asked(client, "203.0.113.8", 1) == [429]


@pytest.mark.req("Z1", "C1")
@pytest.mark.parametrize(
    ("trusted", "scheme", "secure"),
    [("127.0.0.1", "https", True), ("127.0.0.1", "http", False), ("192.0.2.1", "https", False)],
)
async def test_tls_of_a_trusted_proxy_counts_as_our_own(
    tmp_path: Path, trusted: str, scheme: str, secure: bool
) -> None:
    async with proxied(tmp_path, (trusted,)) as client:
        headers = {"X-Forwarded-Proto": scheme, "X-Forwarded-For": "203.0.113.7"}
        answer = await client.post("/login", data=LOGIN, headers=headers)
        given = answer.headers["set-cookie"]
        assert given.startswith(f"{SECURE_NAME if secure else PLAIN_NAME}=")
        assert answer.headers.get(HSTS) == ("max-age=172800" if secure else None)
        assert (HSTS in (await client.get("/v1/account", headers=headers)).headers) is secure
