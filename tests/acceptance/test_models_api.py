"""Models over HTTP: pieces, pages, roles of two organizations, what each sees of the other, and what is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from postroad.core.model.asset import Hosting
from postroad.core.model.directory import Visibility
from postroad.flow.administration import models
from postroad.flow.registries.configuration import build_save
from tests.acceptance.asking import Asked, asked_network

MODEL = "/v1/services/Aster/Regions/model"
DEVELOPER, VIEWER, GUEST = "developer of A", "viewer of A", "owner of B"
TOPICS = ["region"]
TREE = [
    {"tag": "application", "topics": TOPICS},
    {"tag": "canvas-1", "under": "application", "topics": TOPICS},
    {"tag": "canvas-2", "under": "application", "topics": TOPICS},
    {"tag": "widget", "under": "canvas-2", "topics": TOPICS},
]


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network:
        await network.running.register(
            "Aster/Regions", visibility=Visibility.PUBLIC, hosted=Hosting.MODEL, open_to=("Birch",)
        )
        made = await network.ask(DEVELOPER, "PATCH", MODEL, {"nodes": TREE})
        assert (made.status_code, made.json()) == (200, {"saved": 4, "removed": 0})
        yield network


async def attach(asked: Asked, who: str, service: str, side: str = "consumer", **where: Any) -> httpx2.Response:
    wish = {"service": service, "side": side, "node": "widget"} | where
    return await asked.ask(who, "POST", f"{MODEL}/attachments", wish)


async def items(asked: Asked, who: str, what: str, **query: str | int) -> list[Any]:
    found = await asked.ask(who, "GET", str(httpx2.URL(f"{MODEL}/{what}", params=query)))
    assert found.status_code == 200, found.text
    return list(found.json()["items"])


def code(response: httpx2.Response) -> str:
    return str(response.json()["code"])


@pytest.mark.req("H1")
async def test_a_tree_is_read_by_the_page_and_changed_by_the_piece(asked: Asked) -> None:
    first = (await asked.ask(VIEWER, "GET", f"{MODEL}/nodes?limit=3")).json()
    assert [one["tag"] for one in first["items"]] == ["application", "canvas-1", "canvas-2"]
    rest = (await asked.ask(VIEWER, "GET", f"{MODEL}/nodes?limit=3&cursor={first['next']}")).json()
    assert rest == {"items": [{"tag": "widget", "under": "canvas-2", "topics": TOPICS}]}
    piece = {
        "nodes": [{"tag": "widget", "under": "canvas-1", "topics": TOPICS}],
        "topics": {"region": {"strategy": "ancestors", "within": 1}},
        "remove": {"nodes": ["canvas-2"]},
    }
    refused = await asked.ask(DEVELOPER, "PATCH", MODEL, piece)
    assert code(refused) == "configuration.conflict"  # what goes is looked at first, and widget stands there
    assert (await items(asked, VIEWER, "nodes"))[-1]["under"] == "canvas-2"
    del piece["remove"]
    assert (await asked.ask(DEVELOPER, "PATCH", MODEL, piece)).json() == {"saved": 2, "removed": 0}
    assert (await asked.ask(DEVELOPER, "PATCH", MODEL, piece)).json() == {"saved": 0, "removed": 0}
    assert (await asked.ask(VIEWER, "GET", MODEL)).json() == {
        "service": "Aster/Regions", "nodes": 4, "attachments": 0, "root": "application",
        "topics": {"region": {"strategy": "ancestors", "within": 1, "tags": []}},
    }  # fmt: skip
    node = await asked.ask(VIEWER, "GET", f"{MODEL}/nodes/widget")
    assert node.json()["path"] == ["application", "canvas-1", "widget"]
    assert (await asked.ask(DEVELOPER, "DELETE", MODEL)).status_code == 204
    assert await items(asked, VIEWER, "nodes") == []
    assert (await asked.ask(VIEWER, "GET", MODEL)).json()["topics"] == {}


@pytest.mark.req("H4")
async def test_services_are_attached_and_detached_by_id(asked: Asked) -> None:
    made = await attach(asked, DEVELOPER, "Aster/Private")
    assert (made.status_code, made.json()["id"]) == (201, "consumer:widget:Aster/Private")
    assert (await attach(asked, DEVELOPER, "Aster/Private")).status_code == 201  # it is so already
    assert (await attach(asked, DEVELOPER, "Aster/Public", "producer", node="", topics=TOPICS)).status_code == 201
    found = await items(asked, VIEWER, "attachments")
    assert [one["id"] for one in found] == ["consumer:widget:Aster/Private", "producer:#region:Aster/Public"]
    assert found == await items(asked, VIEWER, "attachments", limit=1) + [found[1]]
    assert (await asked.ask(DEVELOPER, "DELETE", made.headers["location"])).status_code == 204
    assert code(await asked.ask(DEVELOPER, "DELETE", made.headers["location"])) == "not-found"
    for wrong in ({"node": "nowhere"}, {"topics": ["weather"]}, {"node": "", "topics": []}, {"service": "Aster/None"}):
        assert (await attach(asked, DEVELOPER, **({"service": "Aster/Private"} | wrong))).status_code in (404, 422)


async def test_pages_of_attachments_go_on_where_the_last_one_ended(asked: Asked) -> None:
    for node in ("widget", "canvas-1", "application"):
        await attach(asked, DEVELOPER, "Aster/Private", node=node)
    for number in range(3):
        await attach(asked, DEVELOPER, "Aster/Private", node="", topics=TOPICS, id=f"beside {number}")
    seen: list[str] = []
    cursor = ""
    while True:
        page = (await asked.ask(VIEWER, "GET", f"{MODEL}/attachments?limit=2&cursor={cursor}")).json()
        seen += [one["node"] or one["id"] for one in page["items"]]
        if not (cursor := page.get("next", "")):
            break
    assert seen == ["application", "canvas-1", "widget", "beside 0", "beside 1", "beside 2"]


@pytest.mark.req("H3")
async def test_who_receives_says_the_way_and_who_stands_in_it(asked: Asked) -> None:
    await attach(asked, DEVELOPER, "Aster/Private")
    await attach(asked, DEVELOPER, "Aster/Public", node="canvas-1")
    await attach(asked, DEVELOPER, "Aster/Private", node="widget", id="once more")
    twice = (await asked.ask(VIEWER, "GET", f"{MODEL}/receivers?topic=region&node=widget")).json()
    assert (twice["total"], len(twice["items"])) == (1, 2)  # it is attached twice, and gets one copy
    assert (await asked.ask(DEVELOPER, "DELETE", f"{MODEL}/attachments/once%20more")).status_code == 204
    before = (await asked.ask(VIEWER, "GET", f"{MODEL}/receivers?topic=region&node=application")).json()
    assert [(one["service"], one["path"]) for one in before["items"]] == [
        ("Aster/Public", ["application", "canvas-1"]),
        ("Aster/Private", ["application", "canvas-2", "widget"]),
    ]
    assert (before["total"], before["shadowed"], before["strategy"]["strategy"]) == (2, [], "descendants")
    await attach(asked, DEVELOPER, "Aster/Public", "producer", node="canvas-2")
    after = (await asked.ask(VIEWER, "GET", f"{MODEL}/receivers?topic=region&node=application")).json()
    assert [one["service"] for one in after["items"]] == ["Aster/Public"]
    assert after["shadowed"] == [
        {"node": "canvas-2", "path": ["application", "canvas-2"], "producers": ["Aster/Public"]}
    ]
    by_sender = (await asked.ask(VIEWER, "GET", f"{MODEL}/receivers?topic=region&sender=Aster/Public")).json()
    assert (by_sender["node"], [one["node"] for one in by_sender["items"]]) == ("canvas-2", ["widget"])
    for wrong in ("", "&node=nowhere", "&sender=Aster/Private"):
        response = await asked.ask(VIEWER, "GET", f"{MODEL}/receivers?topic=region{wrong}")
        assert response.status_code in (404, 422), wrong


@pytest.mark.req("H4", "Z5")
async def test_guests_see_the_tree_and_their_own_and_change_nothing_else(asked: Asked) -> None:
    ours = await attach(asked, DEVELOPER, "Aster/Private")
    theirs = await attach(asked, GUEST, "Birch/Private")
    assert theirs.status_code == 201
    assert [one["tag"] for one in await items(asked, GUEST, "nodes")] == [str(one["tag"]) for one in TREE]
    assert [one["service"] for one in await items(asked, GUEST, "attachments")] == ["Birch/Private"]
    # Those who own the model see that somebody is there, by GCID where they may not know who.
    assert [one["service"] for one in await items(asked, VIEWER, "attachments")] == [
        "Aster/Private",
        asked.gcid("Birch/Private"),
    ]
    received = (await asked.ask(GUEST, "GET", f"{MODEL}/receivers?topic=region&node=widget")).json()
    assert (received["total"], [one["service"] for one in received["items"]]) == (2, ["Birch/Private"])
    assert "Aster/Private" not in (await asked.ask(GUEST, "GET", MODEL)).text
    for method, path, body in (
        ("PATCH", MODEL, {"nodes": [{"tag": "mine", "under": "application"}]}),
        ("PATCH", MODEL, {"remove": {"nodes": ["widget"]}}),
        ("PATCH", MODEL, {"topics": {"region": {"strategy": "nearest"}}}),
        ("DELETE", MODEL, None),
    ):
        assert (await asked.ask(GUEST, method, path, body)).status_code == 403, (method, body)
    assert code(await asked.ask(GUEST, "DELETE", ours.headers["location"])) == "not-found"
    stolen = await attach(asked, GUEST, "Birch/Private", id="consumer:widget:Aster/Private")
    assert code(stolen) == "name.taken"
    assert code(await attach(asked, DEVELOPER, "Birch/Public")) == "permission.denied"  # not theirs to attach
    assert code(await attach(asked, GUEST, "Aster/Public")) == "permission.denied"
    assert (await asked.ask(DEVELOPER, "DELETE", theirs.headers["location"])).status_code == 204


@pytest.mark.req("H4", "Z5")
async def test_a_model_that_is_not_open_is_as_if_it_were_not_there_but_for_what_is_attached(asked: Asked) -> None:
    theirs = await attach(asked, GUEST, "Birch/Private")
    model = asked.running.network.directory.service("Aster/Regions")
    assert model is not None
    await asked.running.network.configuration.change("test", [build_save(replace(model, open_to=()))])
    assert code(await attach(asked, GUEST, "Birch/Public")) == "permission.denied"
    received = (await asked.ask(VIEWER, "GET", f"{MODEL}/receivers?topic=region&node=widget")).json()
    assert (received["total"], received["items"]) == (0, [])  # attached, and told nothing any more
    assert (await asked.ask(GUEST, "DELETE", theirs.headers["location"])).status_code == 204
    for path in (MODEL, f"{MODEL}/nodes", f"{MODEL}/attachments", f"{MODEL}/receivers?topic=region&node=widget"):
        assert code(await asked.ask(GUEST, "GET", path)) == "not-found"
    assert code(await attach(asked, GUEST, "Birch/Public")) == "not-found"


@pytest.mark.req("H4")
async def test_a_service_attaches_itself_with_its_own_key_and_nobody_else(asked: Asked) -> None:
    made = await attach(asked, "service of B", "Birch/Private")
    assert made.status_code == 201
    assert code(await attach(asked, "service of B", "Birch/Public")) == "permission.denied"
    assert code(await attach(asked, "service of A", "Aster/Public")) == "permission.denied"
    assert code(await attach(asked, VIEWER, "Aster/Public")) == "permission.denied"
    assert await items(asked, "service of A", "attachments") == []
    assert (await asked.ask("service of B", "DELETE", made.headers["location"])).status_code == 204


async def test_a_model_is_a_service_that_says_so_and_is_not_attached_to_itself(asked: Asked) -> None:
    assert code(await asked.ask(DEVELOPER, "GET", "/v1/services/Aster/Private/model")) == "configuration.conflict"
    assert code(await attach(asked, DEVELOPER, "Aster/Regions")) == "value.invalid"


async def test_there_is_a_most_of_everything(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "MAX_GUEST", 1)
    assert (await attach(asked, GUEST, "Birch/Private")).status_code == 201
    assert "the maximum for other organizations" in (await attach(asked, GUEST, "Birch/Private", node="canvas-1")).text
    monkeypatch.setattr(models, "MAX_NODES", 4)
    more = await asked.ask(DEVELOPER, "PATCH", MODEL, {"nodes": [{"tag": "more", "under": "application"}]})
    assert (more.status_code, "at most 4 nodes" in more.text) == (422, True)
    monkeypatch.setattr(models, "MAX_OBJECTS", 2)
    removal = {"remove": {"nodes": ["canvas-2"], "withDescendants": True}}
    assert "several change sets" in (await asked.ask(DEVELOPER, "PATCH", MODEL, removal)).text


async def test_an_id_with_odd_characters_is_found_again(asked: Asked) -> None:
    made = await attach(asked, DEVELOPER, "Aster/Private", id="a/b ?#%é")
    assert made.headers["location"].endswith(quote("a/b ?#%é"))
    assert (await asked.ask(DEVELOPER, "DELETE", made.headers["location"])).status_code == 204
