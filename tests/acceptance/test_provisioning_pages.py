"""The pages of a provisioning, in a browser's place: who may begin, what a forged form does, and that no address leads away."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import TypeAdapter, ValidationError

from postroad.core.configuration.shapes import PageUrl
from postroad.core.identity.form_proof import VALID_S
from postroad.core.model.directory import Visibility
from postroad.core.model.trust import CONFIRM_WITHIN_S
from tests.samples.market import COOKIE, HOME, PASSWORD, Market, market, visited

DISPATCH = "Parcels/Dispatch"
PAGE = "/provision?provider=Parcels/Dispatch"
MINE = "/v1/organizations/MyBiz/provisionings"


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Market]:
    async with market(tmp_path) as furnished:
        yield furnished


def basic(name: str, secret: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()}


async def browse(place: Market, who: str, path: str) -> httpx2.Response:
    return await place.client.get(path, headers=basic(who, place.keys[who]))


async def send(place: Market, who: str, form: dict[str, str], **headers: str) -> httpx2.Response:
    return await place.client.post("/provision", data=form, headers=basic(who, place.keys[who]) | headers)


def fields(page: httpx2.Response) -> dict[str, str]:
    found = re.findall(r'<input [^>]*name="(\w+)" value="([^"]*)"', page.text)
    return {name: unescape(value) for name, value in found}


@pytest.mark.req("N8")
async def test_a_browser_is_asked_who_it_is(place: Market) -> None:
    for answer in (await place.client.get(PAGE), await place.client.post("/provision", data={"provider": DISPATCH})):
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Basic "), "browsers read one scheme a field"
        assert answer.headers["content-type"].startswith("text/html")
    wrong = await place.client.get(PAGE, headers=basic("owner@mybiz.example", "guessed"))
    assert wrong.status_code == 401
    chosen = await place.ask("owner@mybiz", "PUT", "/v1/account/password", {"password": PASSWORD})
    assert chosen.status_code == 204
    by_password = await place.client.get(PAGE, headers=basic("owner@mybiz.example", PASSWORD))
    assert by_password.status_code == 200
    as_service = await place.client.get(PAGE, headers=basic("MyBiz/Office", place.keys["MyBiz/Office"]))
    assert as_service.status_code == 403


@pytest.mark.req("N8", "Z4")
async def test_the_page_says_what_is_agreed_to_and_runs_nothing(place: Market) -> None:
    await place.change(DISPATCH, description='<script>alert("x")</script>')
    page = await browse(place, "owner@mybiz", PAGE + "&service=%22%3E%3Cscript%3E")
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'")
    assert policy.endswith(" https://parcels.example")
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "<script" not in page.text
    assert " style" not in page.text
    assert "Parcels/Dispatch" in page.text
    assert "every service of MyBiz" in page.text
    assert fields(page)["service"] == '"><script>'
    assert place.trust() == ({}, {}), "looking begins nothing"


@pytest.mark.req("N8", "N7")
async def test_the_form_begins_it_and_leads_to_the_provider(place: Market) -> None:
    form = fields(await browse(place, "developer@mybiz", PAGE))
    sent = await send(place, "developer@mybiz", form | {"service": "Shipping"})
    assert sent.status_code == 303
    told = visited(sent.headers["location"])
    assert sent.headers["location"].startswith("https://parcels.example/join?")
    assert told.return_url == f"{HOME}/provisioned/{told.gcid}"
    assert await place.confirm(DISPATCH, told.gcid, told.token, COOKIE) == ""


@pytest.mark.req("N8", "Z4")
async def test_a_form_is_good_for_who_saw_it_for_that_provider_and_a_while(place: Market) -> None:
    form = fields(await browse(place, "owner@mybiz", PAGE)) | {"service": "Shipping"}
    ledger = place.service("Books/Ledger").gcid
    until, _, digest = form["proof"].partition(".")
    later = f"{int(until, 16) + 60:x}.{digest}"
    forged: tuple[tuple[str, dict[str, str]], ...] = (
        ("developer@mybiz", form), ("owner@mybiz", form | {"provider": ledger}),
        ("owner@mybiz", form | {"provider": DISPATCH}), ("owner@mybiz", form | {"proof": ""}),
        ("owner@mybiz", form | {"proof": "0.0"}), ("owner@mybiz", form | {"proof": later}),
        ("owner@mybiz", form | {"proof": "z" * 40}), ("owner@mybiz", form | {"proof": "f" * 60 + "." + digest}),
    )  # fmt: skip
    for who, sent in forged:
        assert (await send(place, who, sent)).status_code == 403, sent
    place.clock.seconds = VALID_S + 2
    assert (await send(place, "owner@mybiz", form)).status_code == 403
    assert place.trust() == ({}, {})
    place.clock.seconds = VALID_S - 60
    assert (await send(place, "owner@mybiz", form)).status_code == 303


@pytest.mark.req("N8", "Z4")
async def test_a_form_leads_to_the_site_that_the_person_has_read_of(place: Market) -> None:
    form = fields(await browse(place, "owner@mybiz", PAGE)) | {"service": "Shipping"}
    await place.change(DISPATCH, provisioning_url="https://elsewhere.example/page")
    assert (await send(place, "owner@mybiz", form)).status_code == 403
    assert place.trust() == ({}, {})
    again = fields(await browse(place, "owner@mybiz", PAGE)) | {"service": "Shipping"}
    assert (await send(place, "owner@mybiz", again)).headers["location"].startswith("https://elsewhere.example/page?")


@pytest.mark.req("N8", "N1", "N3")
@pytest.mark.parametrize(
    ("who", "path", "status"),
    [
        ("viewer@mybiz", PAGE, 403),
        ("owner@mybiz", PAGE + "&organization=Books", 404),
        ("owner@mybiz", "/provision", 404),
        ("owner@mybiz", "/provision?provider=Nobody/Here", 404),
        ("owner@mybiz", "/provision?provider=Parcels/Other", 422),
        ("owner@mybiz", PAGE + "&returnURL=https://evil.example", 422),
        ("owner@mybiz", PAGE + "&returnPath=/services", 422),
        ("owner@mybiz", PAGE + "&provider=Books/Ledger", 422),
        ("operator", PAGE, 404),
        ("operator", PAGE + "&organization=MyBiz", 200),
    ],
)
async def test_whom_the_page_is_shown_to(place: Market, who: str, path: str, status: int) -> None:
    assert (await browse(place, who, path)).status_code == status


@pytest.mark.req("N8")
async def test_forms_that_are_none_are_refused(place: Market) -> None:
    form = fields(await browse(place, "owner@mybiz", PAGE)) | {"service": "Shipping"}
    assert (await send(place, "owner@mybiz", form | {"returnURL": "https://evil.example"})).status_code == 422
    headers = basic("owner@mybiz", place.keys["owner@mybiz"])
    typed = {"Content-Type": "application/x-www-form-urlencoded"}
    for body, status in ((b"provider=a&provider=b", 422), (b"a=1&" * 30, 400), (b"provider=\xff", 400), (b"provider=%ff", 400),
                         (b"x" * 20_000, 413)):  # fmt: skip
        assert (await place.client.post("/provision", content=body, headers=headers | typed)).status_code == status
    other = {"Content-Type": "application/json"}
    assert (await place.client.post("/provision", content=b"{}", headers=headers | other)).status_code == 415
    assert (await place.client.put("/provision", headers=headers)).status_code == 405
    assert place.trust() == ({}, {})


@pytest.mark.req("N8", "N3", "Z5")
async def test_people_come_back_and_strangers_learn_nothing(place: Market) -> None:
    wish = {"provider": DISPATCH, "service": "Shipping", "returnPath": "/services?page=2&x="}
    begun = visited((await place.ask("owner@mybiz", "POST", MINE, wish)).json()["redirect"])
    here = f"/provisioned/{begun.gcid}"

    async def title(who: str, path: str = here) -> str:
        answer = await browse(place, who, path) if who else await place.client.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        found = re.search("<h1>(.*)</h1>", answer.text)
        assert found is not None
        return found[1]

    assert await title("viewer@mybiz") == "Not confirmed yet"
    assert 'href="/services?page=2&amp;x="' in (await browse(place, "viewer@mybiz", here)).text
    neutral = (await place.client.get("/provisioned/0123456789abcdef")).text
    for who in ("owner@parcels", "owner@stranger", "operator", "MyBiz/Office"):
        assert (await browse(place, who, here)).text == neutral
    assert (await place.client.get(here)).text == neutral
    assert (await place.client.get(here, headers=basic("owner@mybiz", "wrong"))).text == neutral
    assert (await browse(place, "owner@mybiz", "/provisioned/0123456789abcdef")).text == neutral
    assert begun.token not in (await browse(place, "owner@mybiz", here)).text

    assert await place.confirm(DISPATCH, begun.gcid, begun.token) == ""
    assert await title("owner@mybiz") == "Connected"
    assert await title("") == "Welcome back"
    await place.ask("owner@mybiz", "DELETE", f"/v1/provisionings/{begun.gcid}")
    assert await title("owner@mybiz") == "No longer connected"
    late = await place.begin(service="Late")
    place.clock.seconds = CONFIRM_WITHIN_S + 5
    assert await title("owner@mybiz", f"/provisioned/{late.gcid}") == "Not confirmed in time"


AWAY = [
    "//evil.example", "///evil.example", "/\\evil.example", "\\/evil.example", "\\\\evil.example", "https:evil.example",
    "https://evil.example", "HTTPS://evil.example", "http:///evil.example", "%2f%2fevil.example", "/%2fevil.example",
    "/%2F%2Fevil.example", "/%5cevil.example", "/%5Cevil.example", "/%252fevil.example", "@evil.example", "/x//evil.example",
    ".evil.example", "/..//evil.example", "/../x", "/%2e%2e/x", "/x\r\nLocation: https://evil.example", "/x\nY: z",
    "/\tevil.example",
    "/%0d%0aX: y", "/%0d%0ax", "/%00", "javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x",
    "/\u2215evil.example", "\u2215\u2215evil.example", "/\uff0fevil.example", "\uff0f\uff0fevil.example", "/\u2044/evil.example",
    "/\u3002evil", " //evil.example", "/ /evil.example", '/"onclick="x', "/<script>", "evil.example",
    "?next=//evil.example", "#x",
]  # fmt: skip


@pytest.mark.req("Z4", "N8")
@pytest.mark.parametrize("path", AWAY)
async def test_no_spelling_of_a_return_path_leads_away(place: Market, path: str) -> None:
    wish = {"provider": DISPATCH, "service": "Shipping", "returnPath": path}
    answer = await place.ask("owner@mybiz", "POST", MINE, wish)
    assert (answer.status_code, answer.json()["code"]) == (422, "provisioning.return-path")
    assert place.trust() == ({}, {})


@pytest.mark.req("N8")
@pytest.mark.parametrize("path", ["", "/", "/services", "/services/My%20Biz?page=2&sort=-name", "/a/b.c~d"])
async def test_paths_on_this_network_are_taken(place: Market, path: str) -> None:
    wish = {"provider": DISPATCH, "service": "Shipping", "returnPath": path}
    assert (await place.ask("owner@mybiz", "POST", MINE, wish)).status_code == 201


NOWHERE = [
    "//evil.example", "/\\evil.example", "https:evil.example", "https:/evil.example", "https:\\\\evil.example",
    "javascript:alert(1)", "data:text/html,x", "ftp://evil.example/", "file:///etc/passwd", "https://", "https://good.example@evil.example/",
    "https://good.example\\@evil.example/", "https://evil.example\\.good.example/", "https://user:secret@good.example/",
    "https://good.example/\r\nX: y", "https://good.example/ x", "https://good\u3002example/", "https://good.example\uff0fevil/",
    "https://g\u00f6od.example/", "https://good.example/\u00f6", "https://good.example;evil/", "https://good.example,evil/",
    "https://good.example:0/", "https://good.example:99999/", "https://[::1", "https://-x.example/", "https://good.example/%zz",
    "https://good.example/<script>", 'https://good.example/"x', "https:///path", "https://?x", "HTTPS ://x.example", "x",
]  # fmt: skip


@pytest.mark.req("Z4", "N8")
@pytest.mark.parametrize("url", NOWHERE)
async def test_a_provisioning_url_is_plain_http_to_one_host(place: Market, url: str) -> None:
    wish: dict[str, Any] = {"name": "Dispatch", "visibility": Visibility.PUBLIC, "provisioningUrl": url}
    answer = await place.ask("owner@parcels", "PUT", f"/v1/services/{DISPATCH}", wish, **{"If-Match": "*"})
    assert (answer.status_code, answer.json()["code"]) == (422, "value.invalid")
    assert answer.json()["errors"][0]["pointer"] == "/provisioningUrl"


@pytest.mark.req("N8")
def test_plain_addresses_are_taken() -> None:
    checked: TypeAdapter[str] = TypeAdapter(PageUrl)
    for url in ("", "https://provider.example", "http://127.0.0.1:8481/join?a=1&b=%20#x", "https://[::1]:8443/join"):
        assert checked.validate_python(url) == url
    with pytest.raises(ValidationError):
        checked.validate_python("https://provider.example/" + "x" * 2_000)


@pytest.mark.req("Z5", "N1")
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_another_site_cannot_use_a_browsers_password(place: Market, site: str) -> None:
    """Having logged in for the page, a browser sends the password with whatever others make it ask of this network."""
    form = fields(await browse(place, "owner@mybiz", PAGE)) | {"service": "Shipping"}
    assert (await send(place, "owner@mybiz", form, **{"Sec-Fetch-Site": site})).status_code == 403
    password = basic("owner@mybiz", place.keys["owner@mybiz"])
    for method, path in (("POST", "/v1/logout"), ("POST", MINE), ("DELETE", "/v1/services/MyBiz/Office")):
        answer = await place.client.request(method, path, headers=password | {"Sec-Fetch-Site": site, "If-Match": "*"})
        assert (answer.status_code, answer.json()["code"]) == (403, "permission.denied")
    assert (await place.client.get(MINE, headers=password | {"Sec-Fetch-Site": site})).status_code == 200
    assert (await send(place, "owner@mybiz", form, **{"Sec-Fetch-Site": "same-origin"})).status_code == 303
