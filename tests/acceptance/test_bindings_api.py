"""Bindings over HTTP: versions, roles of two organizations, what each sees of the other, and how many there may be."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from postroad.core.exchange.exchange import DeciderLanguage
from postroad.core.model.asset import Hosting
from postroad.core.model.directory import Visibility
from postroad.errors import Refused
from postroad.flow.registries.configuration import build_save
from postroad.ports import ItemValue, QueryVerdict
from tests.acceptance.asking import Asked, asked_network

BINDINGS = "/v1/services/Aster/Exchange/bindings"
DEVELOPER, VIEWER, STRANGER = "developer of A", "viewer of A", "owner of B"


class Says:
    """An engine that takes everything but ``broken``, and says yes."""

    async def check(self, query: str) -> None:
        if query == "broken":
            raise Refused("query.invalid", "line 1: it is broken", pointer="line 1, column 1")

    async def evaluate(
        self, queries: Sequence[str], content: bytes, media_type: str, items: Mapping[str, ItemValue]
    ) -> list[QueryVerdict]:
        return [QueryVerdict(goes=True) for _ in queries]


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network(judges={DeciderLanguage.QUERY: Says()}) as network:
        await network.running.register(
            "Aster/Exchange", visibility=Visibility.PUBLIC, hosted=Hosting.EXCHANGE, open_to=("Birch",)
        )
        yield network


async def bind(asked: Asked, who: str, name: str, **wish: Any) -> httpx2.Response:
    queue = "Birch/Private" if who.endswith("B") else "Aster/Private"
    return await asked.ask(who, "POST", BINDINGS, {"queue": queue, "name": name, **wish})


async def names(asked: Asked, who: str, **query: str) -> list[str]:
    found = await asked.ask(who, "GET", str(httpx2.URL(BINDINGS, params=query)))
    return [item["name"] for item in found.json()["items"]]


@pytest.mark.req("X1", "N13")
async def test_a_binding_is_made_read_replaced_and_removed_by_version(asked: Asked) -> None:
    made = await bind(asked, DEVELOPER, "north", query="$msg/a = 1", routingKey="orders", description="why")
    assert (made.status_code, made.headers["etag"]) == (201, '"1"')
    assert made.json() == {
        "name": "north", "queue": "Aster/Private", "query": "$msg/a = 1", "script": "", "routing": "",
        "routingKey": "orders", "description": "why", "enabled": True, "version": 1,
    }  # fmt: skip
    here = made.headers["location"]
    assert (await asked.ask(VIEWER, "GET", here)).json() == made.json()
    assert (await asked.ask(VIEWER, "GET", here, If_None_Match='"1"')).status_code == 304
    assert (await bind(asked, DEVELOPER, "NORTH")).json()["code"] == "name.taken"
    assert (await bind(asked, DEVELOPER, "try")).json()["code"] == "name.invalid"
    wish = {"queue": "Aster/Public"}
    assert (await asked.ask(DEVELOPER, "PUT", here, wish)).status_code == 428
    changed = await asked.ask(DEVELOPER, "PUT", f"{BINDINGS}/NORTH", wish, match='"1"')
    assert (changed.json()["name"], changed.json()["queue"], changed.json()["query"]) == ("north", "Aster/Public", "")
    assert (await asked.ask(DEVELOPER, "PUT", here, wish, match='"1"')).status_code == 412
    assert (await asked.ask(DEVELOPER, "DELETE", here, match='"1"')).status_code == 412
    assert (await asked.ask(DEVELOPER, "DELETE", here, match='"2"')).status_code == 204
    assert (await asked.ask(VIEWER, "GET", here)).status_code == 404
    assert (await bind(asked, DEVELOPER, "north")).json()["version"] == 4


@pytest.mark.req("X1")
async def test_without_a_name_the_same_is_bound_once(asked: Asked) -> None:
    wish = {"queue": "Aster/Private", "query": "$msg/a = 1"}
    first, again = [await asked.ask(DEVELOPER, "POST", BINDINGS, wish) for _ in range(2)]
    assert first.json() == again.json()
    off = await asked.ask(DEVELOPER, "POST", BINDINGS, wish | {"enabled": False})
    assert (off.json()["name"], off.json()["enabled"], off.json()["version"]) == (first.json()["name"], False, 2)
    other = await asked.ask(DEVELOPER, "POST", BINDINGS, wish | {"query": "$msg/a = 2"})
    assert other.json()["name"] != first.json()["name"]
    assert len(await names(asked, VIEWER)) == 2


@pytest.mark.req("X1", "Z5")
async def test_who_owns_the_queue_binds_it_and_who_owns_the_exchange_may_remove_it(asked: Asked) -> None:
    for who in (VIEWER, "service of A"):
        denied = await asked.ask(who, "POST", BINDINGS, {"queue": "Aster/Public"})
        assert (denied.status_code, denied.json()["code"]) == (403, "permission.denied"), who
    assert (await bind(asked, "service of A", "itself")).status_code == 201
    assert (await bind(asked, STRANGER, "theirs", query="secret")).status_code == 201
    assert await names(asked, VIEWER) == ["itself", "theirs"]
    assert await names(asked, STRANGER) == ["theirs"]
    assert await names(asked, "service of B") == ["theirs"]
    assert await names(asked, "service of A") == ["itself"]
    assert await names(asked, VIEWER, queue="Aster/Private") == ["itself"]
    seen = (await asked.ask(VIEWER, "GET", f"{BINDINGS}/theirs")).json()
    assert seen["queue"] == asked.gcid("Birch/Private"), "a private service stays unknown by its address"
    wish = {"queue": "Aster/Private"}
    assert (await asked.ask(DEVELOPER, "PUT", f"{BINDINGS}/theirs", wish, match="*")).status_code == 403
    assert (await asked.ask(VIEWER, "DELETE", f"{BINDINGS}/theirs", match="*")).status_code == 403
    assert (await asked.ask(STRANGER, "DELETE", f"{BINDINGS}/itself", match="*")).status_code == 404
    assert (await asked.ask(DEVELOPER, "DELETE", f"{BINDINGS}/theirs", match="*")).status_code == 204
    assert await names(asked, STRANGER) == []
    foreign = await asked.ask(DEVELOPER, "POST", BINDINGS, {"queue": "Birch/Public"})
    assert foreign.status_code == 403


@pytest.mark.req("Z5")
async def test_an_exchange_that_closes_keeps_what_is_bound_and_takes_no_more(asked: Asked) -> None:
    await bind(asked, STRANGER, "theirs")
    configuration = asked.running.network.configuration
    exchange = asked.running.network.directory.service("Aster/Exchange")
    assert exchange is not None
    await configuration.change("test", [build_save(replace(exchange, open_to=()))])
    assert await names(asked, STRANGER) == ["theirs"]
    tried = await asked.ask(STRANGER, "POST", f"{BINDINGS}/try", {"message": {}})
    assert [item["outcome"] for item in tried.json()["items"]] == ["fails"]
    assert (await bind(asked, STRANGER, "more")).status_code == 403
    assert (await asked.ask(STRANGER, "DELETE", f"{BINDINGS}/theirs", match="*")).status_code == 204
    closed, absent = (
        await bind(asked, STRANGER, "more"),
        await asked.ask(STRANGER, "GET", "/v1/services/No/One/bindings"),
    )
    assert (closed.status_code, closed.json()["detail"]) == (404, absent.json()["detail"])
    await configuration.change("test", [build_save(replace(exchange, open_to=("*",), visibility=Visibility.PRIVATE))])
    assert (await bind(asked, STRANGER, "more")).status_code == 404


@pytest.mark.req("X1")
async def test_how_a_binding_is_decided_is_told(asked: Asked) -> None:
    await bind(asked, DEVELOPER, "a", query="$msg/a = 1")
    await bind(asked, DEVELOPER, "b", query="if ($msg/a = 1) then <b/> else ()")
    await bind(asked, DEVELOPER, "c", query="<c/>", enabled=False)
    told = {name: (await asked.ask(VIEWER, "GET", f"{BINDINGS}/{name}/explanation")).json() for name in "abc"}
    assert [told[name]["standing"] for name in "abc"] == ["shared", "prefiltered", "none"]
    assert (told["a"]["condition"], told["a"]["reason"], told["a"]["matched"]) == ("/a = 1", "", 0)
    listed = (await asked.ask(VIEWER, "GET", BINDINGS)).json()["items"]
    assert [item["state"]["explanation"] for item in listed] == [told[name]["explanation"] for name in "abc"]
    broken = await bind(asked, DEVELOPER, "d", query="broken")
    assert (broken.status_code, broken.json()["code"], broken.json()["pointer"]) == (
        422, "query.invalid", "line 1, column 1",
    )  # fmt: skip
    assert (await bind(asked, DEVELOPER, "d", script="x")).json()["code"] == "request.not-implemented"
    assert (await bind(asked, DEVELOPER, "d", query="1", routing="x")).json()["code"] == "value.invalid"
    assert (await bind(asked, DEVELOPER, "d", query="x" * 70_000)).json()["code"] == "value.invalid"


@pytest.mark.req("X2", "C3")
async def test_only_what_one_may_see_is_tried(asked: Asked) -> None:
    await bind(asked, DEVELOPER, "mine", query="<mine/>")
    await bind(asked, STRANGER, "theirs", routingKey="orders")
    trial = {"message": {"topic": "orders", "documents": [{"contentType": "application/xml", "text": "<a/>"}]}}
    tried = {who: (await asked.ask(who, "POST", f"{BINDINGS}/try", trial)).json() for who in (VIEWER, STRANGER)}
    assert [item["name"] for item in tried[VIEWER]["items"]] == ["mine", "theirs"]
    assert (tried[STRANGER]["tried"], [item["name"] for item in tried[STRANGER]["items"]]) == (1, ["theirs"])
    new = trial | {"binding": {"query": "<new/>"}}
    assert (await asked.ask(VIEWER, "POST", f"{BINDINGS}/try", new)).status_code == 403
    assert (await asked.ask(DEVELOPER, "POST", f"{BINDINGS}/try", new)).json()["items"][0]["name"] == "tried"
    assert (await asked.ask(DEVELOPER, "POST", f"{BINDINGS}/try", {})).status_code == 422


@pytest.mark.parametrize("limit", ["MAX_PER_EXCHANGE", "MAX_PER_QUEUE", "MAX_ALWAYS_EVALUATED"])
async def test_there_are_not_too_many(asked: Asked, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(f"postroad.core.exchange.exchange.{limit}", 2)
    for name in ("a", "b"):
        assert (await bind(asked, DEVELOPER, name, query=f"<{name}/>")).status_code == 201
    refused = await bind(asked, DEVELOPER, "c", query="<c/>")
    assert (refused.status_code, refused.json()["code"]) == (422, "binding.too-many")
    changed = await asked.ask(
        DEVELOPER, "PUT", f"{BINDINGS}/a", {"queue": "Aster/Private", "query": "<z/>"}, match='"1"'
    )
    assert changed.status_code == 200, "one more was not asked for"
    cheap = await bind(asked, DEVELOPER, "c", query="<c/>", routingKey="orders")
    assert cheap.status_code == (201 if limit == "MAX_ALWAYS_EVALUATED" else 422)


@pytest.mark.req("N1")
async def test_a_service_takes_its_bindings_with_it(asked: Asked) -> None:
    await bind(asked, DEVELOPER, "a")
    await bind(asked, STRANGER, "b")
    assert (await asked.ask(STRANGER, "DELETE", "/v1/services/Birch/Private", match="*")).status_code == 204
    assert await names(asked, VIEWER) == ["a"]
    assert (await asked.ask(DEVELOPER, "DELETE", "/v1/services/Aster/Exchange", match="*")).status_code == 204
    assert len(asked.running.network.directory.bindings) == 0
