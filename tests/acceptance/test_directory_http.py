"""What every answer keeps to: problems for every error, methods, forms, sizes, rates, and silence about mistakes inside."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from starlette.responses import PlainTextResponse

from postroad.core.model.refusals import REFUSALS
from postroad.errors import Unavailable
from tests.acceptance.asking import Asked, asked_network

GZIPPED = {"Content-Type": "application/json", "Content-Encoding": "gzip"}


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network:
        yield network


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status", "code"),
    [
        ("GET", "/nowhere", {}, None, 404, "not-found"),
        ("GET", "/v1/account/", {}, None, 404, "not-found"),
        ("PATCH", "/v1/account", {}, None, 405, "method.not-allowed"),
        ("GET", "/v1/account", {"Accept": "text/html"}, None, 406, "wire.not-acceptable"),
        ("GET", "/v1/account", {"Accept": "application/json;q=0"}, None, 406, "wire.not-acceptable"),
        ("PUT", "/v1/account", {"Content-Type": "text/plain"}, b"{}", 415, "wire.unsupported"),
        ("PUT", "/v1/account", GZIPPED, b"{}", 415, "wire.unsupported"),
        ("PUT", "/v1/account", {"Content-Type": "application/json"}, b"{", 400, "request.malformed"),
        ("PUT", "/v1/account", {"Content-Type": "application/json"}, b'{"name": "\\ud800"}', 400, "request.malformed"),
        ("PUT", "/v1/account", {"Content-Type": "application/json"}, b"[" * 100_000, 400, "request.malformed"),
        ("PUT", "/v1/account", {"Content-Type": "application/json"}, b"", 422, "value.invalid"),
        ("PUT", "/v1/account", {"Content-Type": "application/json"}, b'{"name": 5}', 422, "value.invalid"),
        ("PUT", "/v1/account", {"Content-Type": "application/json"}, b'{"name": ""}', 428, "version.required"),
        ("PUT", "/v1/account", {"Content-Type": "application/json"}, b" " * (1 << 20) + b"{}", 413, "wire.too-large"),
        ("GET", "/v1/account", {"Authorization": "Bearer nonsense"}, None, 401, "authentication.required"),
    ],
)
async def test_every_error_is_a_problem(
    asked: Asked, method: str, path: str, headers: dict[str, str], body: bytes | None, status: int, code: str
) -> None:
    given = {"Authorization": f"Bearer {asked.keys['viewer of A']}"} | headers
    response = await asked.client.request(method, path, content=body, headers=given)
    problem = response.json()
    assert (response.status_code, problem["status"], problem["code"]) == (status, status, code)
    assert response.headers["content-type"] == "application/problem+json"
    assert problem["title"] == REFUSALS[code].title
    assert problem["type"] == f"/docs/errors#{code}"
    assert ("allow" in response.headers) is (status == 405)
    assert ("www-authenticate" in response.headers) is (status == 401)


async def test_allow_names_every_method_of_the_path(asked: Asked) -> None:
    for path, allowed in (
        ("/v1/services/Aster/Public", "DELETE, GET, HEAD, PUT"),
        ("/v1/messages", "GET, HEAD, POST"),
        ("/v1/messages/bulk", "POST"),
        ("/v1/services/0/versions", "GET, HEAD"),
    ):
        response = await asked.ask("owner of A", "OPTIONS", path)
        assert (response.status_code, response.headers["allow"]) == (405, allowed)


async def test_whoever_asks_as_a_program_is_answered_as_one_where_there_are_pages_too() -> None:
    async with asked_network(pages=lambda _: PlainTextResponse("a page", 404)) as asked:
        for method, path, status, allowed in (
            ("GET", "/as2", 405, "POST"),
            ("GET", "/as2/Aster", 405, "POST"),
            ("GET", "/as2/Aster/more", 404, None),
            ("POST", "/docs/errors", 405, "GET, HEAD"),
            ("PUT", "/soap/messages.xsd", 405, "GET, HEAD"),
            ("DELETE", "/v1/messages/next", 405, "GET"),  # which leases what it hands out
            ("GET", "/v1", 404, None),
        ):
            response = await asked.ask("viewer of A", method, path)
            assert (response.status_code, response.headers.get("allow")) == (status, allowed)
            assert response.headers["content-type"] == "application/problem+json", path
        assert (await asked.ask("viewer of A", "GET", "/v1x")).text == "a page"


async def test_head_is_get_without_a_body(asked: Asked) -> None:
    got = await asked.ask("viewer of A", "GET", "/v1/account")
    head = await asked.ask("viewer of A", "HEAD", "/v1/account")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"]


async def test_a_mistake_inside_tells_the_client_an_id_and_nothing_else(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(name: str, *parameters: object) -> list[tuple[object, ...]]:
        raise ZeroDivisionError(" ".join(("the", "secret", "is", "42")))  # so that the source line does not say it

    monkeypatch.setattr(asked.running.network.index, "query", broken)
    response = await asked.ask("owner of A", "GET", "/v1/status")
    problem = response.json()
    assert (response.status_code, problem["code"]) == (500, "internal")
    assert problem["incident"] in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert "ZeroDivisionError" not in response.text
    assert "the secret is" not in response.text + caplog.text


async def test_an_outage_says_when_to_come_back(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: object) -> None:
        raise Unavailable("storage.full", "The disk is nearly full", retry_after_s=30)

    monkeypatch.setattr(asked.running.network.configuration, "change", full)
    response = await asked.ask("owner of A", "POST", "/v1/services", {"organization": "Aster", "name": "S"})
    assert (response.status_code, response.json()["code"]) == (507, "storage.full")
    assert response.headers["retry-after"] == "30"


@pytest.mark.req("Z6")
async def test_too_many_requests_of_an_organization_are_refused_with_standard_fields() -> None:
    async with asked_network(requests_per_s=2) as asked:
        answers = [await asked.ask("viewer of A", "GET", "/v1/account") for _ in range(9)]
        assert [answer.status_code for answer in answers[:8]] == [200] * 8
        assert answers[0].headers["ratelimit-policy"] == '"default";q=8;w=4'
        assert answers[0].headers["ratelimit"] == '"default";r=7;t=1'
        assert (answers[8].status_code, answers[8].json()["code"]) == (429, "rate.exceeded")
        assert asked.running.network.metrics.value("rate_limited_total", "api") == 1
        assert int(answers[8].headers["retry-after"]) >= 1
        assert (await asked.ask("owner of A", "GET", "/v1/account")).status_code == 429, "they share one organization"
        assert (await asked.ask("owner of B", "GET", "/v1/account")).status_code == 200
        assert (await asked.ask("anonymous", "GET", "/livez")).status_code == 200


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/startupz"])
async def test_health_needs_no_credentials(asked: Asked, path: str) -> None:
    response = await asked.ask("anonymous", "GET", path, Accept="text/plain")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


async def test_a_network_whose_store_is_away_is_not_ready(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away() -> None:
        raise OSError("no such device")

    monkeypatch.setattr(asked.running.network.journal, "head", away)
    response = await asked.ask("anonymous", "GET", "/readyz")
    assert (response.status_code, response.json()["code"]) == (503, "network.unavailable")
    assert (await asked.ask("anonymous", "GET", "/livez")).status_code == 200


async def test_nothing_but_problems_leaves_as_an_error(asked: Asked) -> None:
    for path in (
        "/v1/services/%00",
        "/v1/services/%ff%fe",
        "/v1/messages/x/parts/../y",
        "/v1/directory?limit=%00",
        "//",
    ):
        response = await asked.ask("owner of A", "GET", path)
        assert json.loads(response.content)["status"] == response.status_code
        assert response.status_code in (404, 422)
