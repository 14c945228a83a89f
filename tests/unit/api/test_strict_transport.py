"""Browsers are told to come by TLS only: over TLS, as long as the setting says, and never about this machine's own name."""

from __future__ import annotations

import httpx2
import pytest
from starlette.responses import Response

from postroad.api.serve import StrictTransport

NAME = "strict-transport-security"


async def told(url: str, days: int = 180) -> str | None:
    transport = httpx2.ASGITransport(app=StrictTransport(Response("page"), days))
    async with httpx2.AsyncClient(transport=transport, trust_env=False) as client:
        answer = await client.get(url)
    assert answer.text == "page"
    return answer.headers.get(NAME)


@pytest.mark.req("Z1")
async def test_strict_transport_security_is_sent_over_tls() -> None:
    assert await told("https://network.example/login") == "max-age=15552000"
    assert await told("https://network.example:8470/", 1) == "max-age=86400"
    assert await told("https://notlocalhost/") is not None


@pytest.mark.parametrize(
    "url", ["http://network.example/", "https://localhost/", "https://LOCALHOST:8470/", "https://a.localhost:1/"]
)
async def test_strict_transport_security_is_not_sent_where_it_would_be_wrong(url: str) -> None:
    assert await told(url) is None


async def test_strict_transport_security_can_be_disabled() -> None:
    assert await told("https://network.example/", 0) is None
