"""Links that let somebody into the console: once, for whom they are, and never behind somebody's back."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import unquote

import httpx2
import pytest

from postroad.console.browser_sessions import PLAIN_NAME
from postroad.console.pages import login
from postroad.core.identity.expiry import LINK, LOGIN
from postroad.core.model.directory import Credential, Person, Role
from postroad.errors import Refused
from postroad.flow.access.authenticate import Proof
from postroad.flow.administration import accounts, members
from tests.unit.console.inhabited import PASSWORD, Inhabited, enter_all, inhabited

OWNER, VIEWER = "owner@workshop.example", "viewer@workshop.example"
NEW = Person(email="new@workshop.example", role=Role.VIEWER)


@pytest.fixture
async def found(tmp_path: Path) -> AsyncIterator[Inhabited]:
    async with inhabited(tmp_path) as network:
        await enter_all(network)
        yield network


async def link_of(found: Inhabited, email: str) -> str:
    person = accounts.require_person(found.person(email))
    return f"/login/link?once={await accounts.make_link(found.administration, person)}"


def is_in(answer: httpx2.Response) -> bool:
    return answer.status_code == 303 and PLAIN_NAME in answer.headers.get("set-cookie", "")


@pytest.mark.req("N1")
async def test_a_link_lets_one_in_though_many_open_it_at_once(found: Inhabited) -> None:
    key = {"once": (await link_of(found, OWNER)).partition("=")[2]}
    answers = await asyncio.gather(*[found.visitor().send("/login/link", key) for _ in range(4)])
    assert [is_in(answer) for answer in answers].count(True) == 1
    others = [answer for answer in answers if not is_in(answer)]
    assert {answer.status_code for answer in others} == {401}
    assert all("has been used" in answer.text for answer in others)


async def test_opening_a_link_does_not_use_it_up(found: Inhabited) -> None:
    """Mail scanners and chat previews open links, with HEAD or GET, before the person does."""
    link, visitor = await link_of(found, OWNER), found.visitor()
    for method in ("HEAD", "GET", "GET"):
        answer = await visitor.client.request(method, link)
        assert (answer.status_code, answer.headers.get("set-cookie")) == (200, None)
    assert f"Log in as {OWNER}" in answer.text
    assert is_in(await visitor.send("/login/link", {"once": link.partition("=")[2]}))
    assert (await visitor.get(link)).status_code == 401


async def test_a_cookies_key_is_refused_by_the_api(found: Inhabited) -> None:
    """Else a browser that was left open would be worth an API key, without the password and without the idle timeout."""
    visitor = found.visitor()
    await visitor.log_in(OWNER)
    key = unquote(visitor.client.cookies[PLAIN_NAME]).partition("|")[0]
    authenticator = found.running.authenticator
    for proof in (Proof(b"Bearer " + key.encode()), Proof(b"Basic " + base64.b64encode(f"{OWNER}:{key}".encode()))):
        with pytest.raises(Refused) as refused:
            await authenticator.authenticate(proof, "192.0.2.200")
        assert refused.value.code == "authentication.required"
    assert (await visitor.get("/account")).status_code == 200  # the console still takes it


async def test_a_cookie_of_an_older_release_keeps_its_visit(found: Inhabited, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, the cookie's key had the label of a login of the API."""
    monkeypatch.setattr(login, "BROWSER", LOGIN)
    visitor = found.visitor()
    await visitor.log_in(OWNER)
    assert "this browser" in (await visitor.get("/account")).text


async def test_another_site_cannot_log_anybody_in_by_a_link(found: Inhabited) -> None:
    """Else they would work in an account that somebody else has the key of."""
    link, visitor = await link_of(found, OWNER), found.visitor()
    for site in ("cross-site", "same-site"):
        asked = await visitor.get(link, Sec_Fetch_Site=site)
        assert (asked.status_code, asked.headers.get("set-cookie")) == (200, None)
        assert f"Log in as {OWNER}" in asked.text
    key = {"once": link.partition("=")[2]}
    refused = await visitor.send("/login/link", key, Sec_Fetch_Site="cross-site")
    assert (refused.status_code, refused.headers.get("set-cookie")) == (403, None)
    assert is_in(await visitor.send("/login/link", key, Sec_Fetch_Site="same-origin"))
    assert (await visitor.send("/login/link", key)).status_code == 401


async def test_a_login_does_not_lead_on_to_somebody_elses_link(found: Inhabited) -> None:
    link, visitor = await link_of(found, VIEWER), found.visitor()
    answer = await visitor.send("/login", {"email": OWNER, "password": PASSWORD, "next": link})
    assert answer.headers["location"] == "/"
    await visitor.log_in(OWNER)
    assert LINK not in (await visitor.get("/account")).text  # nor is one listed among the keys


async def test_an_invitation_lets_in_once(found: Inhabited) -> None:
    key = await members.add(found.administration, found.person(OWNER), "Workshop", NEW)
    visitor, page = found.visitor(), f"/welcome?key={key}"
    assert NEW.email in (await visitor.get(page)).text
    weak = await visitor.send("/welcome", {"key": key, "password": "x"})
    assert (weak.status_code, NEW.email in weak.text) == (422, True)
    assert is_in(await visitor.send("/welcome", {"key": key, "password": PASSWORD}))
    assert "has been used" in (await visitor.get(page)).text
    again = await visitor.send("/welcome", {"key": key, "password": PASSWORD + "!"})
    assert (again.status_code, again.headers.get("set-cookie")) == (401, None)


async def test_who_has_lost_the_link_is_invited_again(found: Inhabited) -> None:
    owner = found.visitor()
    await owner.log_in(OWNER)
    lost = await members.add(found.administration, found.person(OWNER), "Workshop", NEW)
    again = f"/organization/members/{NEW.email}/invitation"
    button = again.replace("@", "%40")
    assert button in (await owner.get("/organization")).text
    link = re.search(r"/welcome\?key=pr_\w+", (await owner.send(again)).text)
    assert link is not None
    assert NEW.email not in (await found.visitor().get(f"/welcome?key={lost}")).text
    assert NEW.email in (await found.visitor().get(link[0])).text
    await found.visitor().send("/welcome", {"key": link[0].partition("=")[2], "password": PASSWORD})
    assert button not in (await owner.get("/organization")).text
    assert (await owner.send(again)).status_code == 403


async def test_one_address_registers_few_at_a_time(found: Inhabited, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each needs a slow hash, for which everybody who logs in waits as well."""
    at_work, most, original = 0, 0, found.administration.new_password

    async def counted(password: str, label: str, *, service: str = "", person: str = "") -> Credential:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        try:
            return await original(password, label, service=service, person=person)
        finally:
            at_work -= 1

    monkeypatch.setattr(found.administration, "new_password", counted)
    visitor, forms = found.visitor(), [{"organization": f"Oak {number}"} for number in range(12)]
    filled = [form | {"email": f"{number}@oak.example", "password": PASSWORD} for number, form in enumerate(forms)]
    answers = await asyncio.gather(*[visitor.send("/register", form) for form in filled])
    assert {answer.status_code for answer in answers} == {303}
    assert most == 2
