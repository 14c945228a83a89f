"""Provisionings and cookies over HTTP: what each party may do and see, and that nothing is shown beyond that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import yaml

from postroad.core.model.message import Cookie
from postroad.core.model.snapshot import Directory
from postroad.flow.registries.configuration import DirectoryChange
from tests.samples.provisioning_network import COOKIE, HOME, ProvisioningNetwork, provisioning_network, visited

DISPATCH, LEDGER, SHIPPING = "Parcels/Dispatch", "Books/Ledger", "MyBiz/Shipping"
MINE = "/v1/organizations/MyBiz/provisionings"
THEIRS = "/v1/organizations/Parcels/provisionings"
COOKIES = f"/v1/services/{DISPATCH}/cookies"


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[ProvisioningNetwork]:
    async with provisioning_network(tmp_path) as opened:
        yield opened


@pytest.mark.req("N8", "Z4")
async def test_who_begins_learns_once_where_to_go(place: ProvisioningNetwork) -> None:
    wish = {"provider": DISPATCH, "service": "Shipping", "returnPath": "/services"}
    begun = await place.ask("developer@mybiz", "POST", MINE, wish, Host="evil.example", **{"X-Forwarded-Host": "evil"})
    assert begun.status_code == 201
    told = begun.json()
    assert told["state"] == "pending"
    assert (told["service"], told["provider"]) == (SHIPPING, DISPATCH)
    assert told["redirect"].startswith("https://parcels.example/join?serviceID=")
    assert visited(told["redirect"]).return_url == f"{HOME}/provisioned/{told['gcid']}"
    assert begun.headers["location"] == f"/v1/provisionings/{told['gcid']}"
    read = await place.ask("viewer@mybiz", "GET", begun.headers["location"])
    assert read.json() == {name: value for name, value in told.items() if name != "redirect"}
    assert (await place.ask("viewer@mybiz", "GET", MINE)).json() == {"items": [read.json()]}
    made = (await place.ask("viewer@mybiz", "GET", f"/v1/services/{SHIPPING}")).json()
    assert (made["visibility"], made["accepts"]) == ("private", "listed")


@pytest.mark.req("N8")
async def test_an_address_with_a_query_keeps_it(place: ProvisioningNetwork) -> None:
    begun = await place.ask("owner@mybiz", "POST", MINE, {"provider": LEDGER, "service": "Accounts"})
    assert begun.json()["redirect"].startswith("https://books.example/join?from=postroad&serviceID=")


@pytest.mark.req("N3", "N8")
async def test_a_provider_sees_what_it_has_confirmed_and_nothing_before(place: ProvisioningNetwork) -> None:
    begun = await place.begin()
    here = f"/v1/provisionings/{begun.gcid}"
    assert (await place.ask("owner@parcels", "GET", THEIRS)).json() == {"items": []}
    for who in ("owner@parcels", "owner@books", "owner@stranger", DISPATCH):
        assert (await place.ask(who, "GET", here)).status_code == 404
        assert (await place.ask(who, "GET", MINE)).status_code == 404
        for name in (begun.gcid, SHIPPING, "MyBiz/Absent"):
            assert (await place.ask(who, "DELETE", f"/v1/provisionings/{name}")).status_code == 404
    assert await place.confirm(DISPATCH, begun.gcid, begun.token, COOKIE) == ""
    [seen] = (await place.ask("owner@parcels", "GET", THEIRS)).json()["items"]
    assert (seen["service"], seen["state"]) == (SHIPPING, "active")
    for who in ("owner@parcels", DISPATCH, "operator"):
        assert (await place.ask(who, "GET", here)).json() == seen
    assert (await place.ask("owner@books", "GET", here)).status_code == 404


@pytest.mark.req("N8")
@pytest.mark.parametrize(
    ("wish", "status", "code"),
    [
        ({"provider": "Parcels/Other", "service": "S"}, 422, "provisioning.not-offered"),
        ({"provider": "Nobody/Here", "service": "S"}, 404, "not-found"),
        ({"provider": DISPATCH, "service": "Office"}, 409, "name.taken"),
        ({"provider": DISPATCH, "service": "a/b"}, 422, "value.invalid"),
        ({"provider": DISPATCH}, 422, "value.invalid"),
        ({"provider": DISPATCH, "service": "S", "returnURL": "https://evil.example"}, 422, "value.invalid"),
        ({"provider": DISPATCH, "service": "S", "token": "0" * 16}, 422, "value.invalid"),
    ],
)
async def test_what_cannot_be_begun(place: ProvisioningNetwork, wish: dict[str, str], status: int, code: str) -> None:
    before = place.trust()
    answer = await place.ask("owner@mybiz", "POST", MINE, wish)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert place.trust() == before


@pytest.mark.req("N8")
async def test_an_account_is_connected_once_at_a_time(place: ProvisioningNetwork) -> None:
    gcid = await place.connect()
    again = await place.ask("owner@mybiz", "POST", MINE, {"provider": DISPATCH, "service": "Shipping"})
    assert (again.status_code, again.json()["code"]) == (409, "provisioning.active")
    other = await place.ask("owner@mybiz", "POST", MINE, {"provider": LEDGER, "service": "Shipping"})
    assert other.json()["code"] == "name.taken"
    await place.ask("owner@mybiz", "DELETE", f"/v1/provisionings/{SHIPPING}")
    assert (await place.begin()).gcid == gcid


@pytest.mark.req("N8")
async def test_who_begins_again_does_not_undo_what_is_confirmed_in_that_moment(
    place: ProvisioningNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, configuration = await place.begin(), place.network.configuration
    change = configuration.change

    async def after_confirmation(by: str, changes: Sequence[DirectoryChange], reason: str = "") -> Directory:
        monkeypatch.setattr(configuration, "change", change)
        assert await place.confirm(DISPATCH, begun.gcid, begun.token, COOKIE) == ""
        return await change(by, changes, reason)

    monkeypatch.setattr(configuration, "change", after_confirmation)
    again = await place.ask("developer@mybiz", "POST", MINE, {"provider": DISPATCH, "service": "Shipping"})
    assert (again.status_code, again.json()["code"]) == (412, "version.conflict")
    assert (await place.ask("owner@mybiz", "GET", f"/v1/provisionings/{begun.gcid}")).json()["state"] == "active"


@pytest.mark.req("N8", "N11")
async def test_a_suspended_provider_is_connected_with_nobody(place: ProvisioningNetwork) -> None:
    await place.change(DISPATCH, suspended="unpaid")
    answer = await place.ask("owner@mybiz", "POST", MINE, {"provider": DISPATCH, "service": "Shipping"})
    assert answer.json()["code"] == "recipient.suspended"


@pytest.mark.req("N9", "Z5")
async def test_cookies_are_kept_by_the_people_of_their_service(place: ProvisioningNetwork) -> None:
    sender = place.service("Stranger/Out").gcid
    put = await place.ask("owner@parcels", "PUT", f"{COOKIES}/Stranger/Out", {"content": "customer 9"})
    assert (put.status_code, put.json()["sender"]) == (200, sender)
    read = await place.ask("owner@parcels", "GET", f"{COOKIES}/{sender}")
    assert read.json() == {"sender": sender, "content": "customer 9", "contentType": "text/plain"}
    assert (await place.ask(DISPATCH, "GET", COOKIES)).json() == {"items": [read.json()]}
    for who in ("owner@mybiz", "owner@stranger", "operator", "Stranger/Out"):
        for path in (COOKIES, f"{COOKIES}/{sender}"):
            assert (await place.ask(who, "GET", path)).status_code == 404
    assert place.network.directory.cookie_for(place.service(DISPATCH).gcid, sender) is not None
    assert (await place.ask("owner@parcels", "DELETE", f"{COOKIES}/{sender}")).status_code == 204
    assert (await place.ask("owner@parcels", "GET", f"{COOKIES}/{sender}")).status_code == 404


@pytest.mark.req("N3", "N9")
async def test_a_cookie_for_a_hidden_sender_tells_nothing_about_it(place: ProvisioningNetwork) -> None:
    hidden, absent = place.service("MyBiz/Office").gcid, "0" * 16
    answers = [
        await place.ask("owner@parcels", "PUT", f"{COOKIES}/{gcid}", {"content": "x"}) for gcid in (hidden, absent)
    ]
    assert [answer.status_code for answer in answers] == [200, 200]
    named = [
        await place.ask("owner@parcels", "PUT", f"{COOKIES}/{name}", {"content": "x"})
        for name in ("MyBiz/Office", "MyBiz/Absent")
    ]
    assert [answer.status_code for answer in named] == [404, 404]
    assert named[0].text == named[1].text.replace("Absent", "Office")
    read = [
        await place.ask("owner@parcels", "GET", f"{COOKIES}/{name}")
        for name in (hidden, "MyBiz/Office", "MyBiz/Absent")
    ]
    assert [answer.status_code for answer in read] == [200, 404, 404]


@pytest.mark.req("N9")
@pytest.mark.parametrize(
    "wish",
    [
        {"content": ""}, {"content": "x" * 16_385}, {"content": "a\x00b"}, {"content": "a\x1bb"}, {"content": 7},
        {"content": "x", "contentType": "no type"}, {"content": "x", "contentType": "text/plain\r\nX: y"},
    ],
)  # fmt: skip
async def test_cookies_that_not_every_form_can_carry_are_refused(
    place: ProvisioningNetwork, wish: dict[str, object]
) -> None:
    answer = await place.ask("owner@parcels", "PUT", f"{COOKIES}/{'0' * 16}", wish)
    assert answer.status_code == 422
    assert place.network.directory.cookies == {}


@pytest.mark.req("N9", "Z5", "N13")
async def test_nobody_else_reads_a_cookie_anywhere(place: ProvisioningNetwork) -> None:
    gcid = await place.connect()
    session = await place.post("MyBiz/Office", SHIPPING)
    [seen] = await place.fetch(DISPATCH)
    assert seen.cookie == Cookie(COOKIE, "application/xml")
    dispatch = place.service(DISPATCH).gcid
    paths = (
        "/v1/configuration", "/v1/services", "/v1/directory", "/v1/messages", "/v1/messages?box=received", MINE, THEIRS,
        f"/v1/provisionings/{gcid}", f"/v1/services/{dispatch}", f"/v1/services/{dispatch}/versions",
        f"/v1/services/{gcid}", f"/v1/services/{gcid}/versions", f"/v1/services/{gcid}/cookies", COOKIES,
        f"/v1/messages/{session}", f"/v1/messages/{session}/trace", f"/v1/messages/{session}/explanation",
        f"/v1/messages/{seen.session}", f"/v1/messages/{seen.session}/trace", f"/v1/messages/{seen.session}/explanation",
    )  # fmt: skip
    for who in ("owner@mybiz", "MyBiz/Office", "owner@books", "owner@stranger", "operator"):
        for path in paths:
            assert "P-4711" not in (await place.ask(who, "GET", path)).text, (who, path)
    for path in (f"/v1/messages/{seen.session}/trace", f"/v1/messages/{seen.session}/explanation"):
        assert "P-4711" not in (await place.ask("owner@parcels", "GET", path)).text


@pytest.mark.req("N9", "N13")
async def test_cookies_as_code(place: ProvisioningNetwork) -> None:
    sender = place.service("Stranger/Out").gcid
    cookies = [
        {"from": "Stranger/Out", "content": "customer 9"},
        {"from": "0" * 16, "content": "<a/>", "contentType": "text/xml"},
    ]
    document = (await place.ask("owner@parcels", "GET", "/v1/configuration")).json()
    document["organizations"]["Parcels"]["services"]["Dispatch"]["cookies"] = cookies
    planned = (await place.ask("owner@parcels", "POST", "/v1/configuration/plan", {"document": document})).json()
    assert [(step["action"], step["kind"]) for step in planned["steps"]] == [("add", "cookie"), ("add", "cookie")]
    assert "customer 9" not in str(planned)
    wish = {"document": document, "version": planned["version"]}
    assert (await place.ask("owner@parcels", "POST", "/v1/configuration/apply", wish)).status_code == 200
    again = (await place.ask("owner@parcels", "POST", "/v1/configuration/plan", {"document": document})).json()
    assert again["steps"] == []
    written = yaml.safe_load(
        (await place.ask("owner@parcels", "GET", "/v1/configuration", Accept="application/yaml")).text
    )
    exported = written["organizations"]["Parcels"]["services"]["Dispatch"]["cookies"]
    assert {one["from"]: one["content"] for one in exported} == {sender: "customer 9", "0" * 16: "<a/>"}
    same = (
        await place.ask("owner@parcels", "POST", "/v1/configuration/plan", {"document": written, "prune": True})
    ).json()
    assert same["steps"] == []

    of_all = (await place.ask("operator", "GET", "/v1/configuration")).json()
    assert "cookies" not in of_all["organizations"]["Parcels"]["services"]["Dispatch"]
    left = (await place.ask("operator", "POST", "/v1/configuration/plan", {"document": of_all, "prune": True})).json()
    assert left["steps"] == [], "what operators do not see, they do not prune either"


@pytest.mark.req("N9", "N13")
@pytest.mark.parametrize(
    ("cookies", "place_of_fault"),
    [
        ([{"from": "MyBiz/Office", "content": "x"}], "/cookies/0/from"),
        ([{"from": "0" * 16, "content": "x"}, {"from": "0" * 16, "content": "y"}], "/cookies/1/from"),
        ([{"from": "0" * 16, "content": "a\x00"}], "/cookies/0"),
    ],
)
async def test_cookies_that_cannot_be_saved_are_named(
    place: ProvisioningNetwork, cookies: list[object], place_of_fault: str
) -> None:
    document = (await place.ask("owner@parcels", "GET", "/v1/configuration")).json()
    document["organizations"]["Parcels"]["services"]["Dispatch"]["cookies"] = cookies
    answer = await place.ask("owner@parcels", "POST", "/v1/configuration/plan", {"document": document})
    assert [fault["pointer"] for fault in answer.json()["errors"]] == [
        f"/organizations/Parcels/services/Dispatch{place_of_fault}"
    ]


@pytest.mark.req("N13", "N3")
async def test_a_pruned_service_takes_trust_along_and_the_plan_names_nobody_elses(place: ProvisioningNetwork) -> None:
    gcid = await place.connect()
    await place.ask("owner@stranger", "PUT", f"/v1/services/Stranger/Out/cookies/{gcid}", {"content": "mine"})
    document = {"postroad": 1, "organizations": {"MyBiz": {"people": {"owner@mybiz.example": {"role": "owner"}}}}}
    wish = {"document": document, "prune": True}
    planned = (await place.ask("owner@mybiz", "POST", "/v1/configuration/plan", wish)).json()
    assert {step["kind"] for step in planned["steps"]} <= {"service", "person", "credential"}
    assert "Stranger" not in str(planned)
    applied = await place.ask("owner@mybiz", "POST", "/v1/configuration/apply", wish | {"version": planned["version"]})
    assert applied.status_code == 200
    assert place.trust() == ({}, {})


@pytest.mark.req("N8", "N3", "Z5")
async def test_a_providers_page_can_say_who_wants_to_be_known(place: ProvisioningNetwork) -> None:
    begun = await place.begin()
    here, shown = f"/v1/provisionings/{begun.gcid}/inspection", {"token": begun.token}
    for who in (DISPATCH, "owner@parcels"):
        found = await place.ask(who, "POST", here, shown)
        assert (found.status_code, found.json()["service"], found.json()["state"]) == (200, SHIPPING, "pending")
    strangers = ("owner@mybiz", "owner@books", LEDGER, "owner@stranger", "operator")
    refused = [await place.ask(who, "POST", here, shown) for who in strangers]
    refused.append(await place.ask(DISPATCH, "POST", here, {"token": "0" * 16}))
    refused.append(await place.ask(DISPATCH, "POST", f"/v1/provisionings/{'0' * 16}/inspection", shown))
    assert await place.confirm(DISPATCH, begun.gcid, begun.token) == ""
    refused.append(await place.ask(DISPATCH, "POST", here, shown))
    assert {(answer.status_code, answer.text) for answer in refused} == {(404, refused[0].text)}
