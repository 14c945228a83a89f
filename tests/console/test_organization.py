"""People are invited, come by their link, and have roles; and an enterprise connects with a provider, all in the browser."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest

from postroad.client import Client
from tests.console.browsing import Person
from tests.console.conftest import Demo

PASSWORD = "a long sentence that nobody guesses"


@pytest.mark.req("N1")
def test_a_member_is_invited_comes_and_goes(visitor: Callable[..., Person]) -> None:
    owner = visitor()
    owner.register("Laurel Ltd", "laurel@laurel.example", PASSWORD)
    owner.page.click("nav >> text=Organization")
    owner.page.fill("#email", "leaf@laurel.example")
    owner.page.select_option("#role", "developer")
    owner.page.click("text=Invite")
    link = owner.page.inner_text("#link")
    owner.snap("organization-members")
    member = visitor(scripts=False)
    member.page.goto(link)
    member.page.fill("#password", PASSWORD)
    member.page.click("main >> text=Continue")
    assert "Laurel Ltd" in member.text()
    again = visitor(scripts=False)
    again.page.goto(link)
    assert "has been used" in again.text()
    member.go("/organization")
    assert member.page.query_selector("#email") is None, "developers invite nobody"
    owner.refusals_expected = True
    owner.go("/organization")
    owner.page.select_option("#role-1", "viewer")
    owner.page.click("[aria-label='Change the role of laurel@laurel.example']")
    assert "needs an owner" in owner.text()
    owner.page.click("[aria-label='Remove leaf@laurel.example']")
    assert "was removed, and all their keys" in owner.text()
    member.go("/")
    assert member.page.url.endswith("/login"), "every visit of theirs has ended"


@pytest.mark.req("N8", "C1")
def test_an_enterprise_connects_with_a_provider(visitor: Callable[..., Person], demo: Demo) -> None:
    with Client(demo.url, demo.operator_key) as operator:
        profile = {"visibility": "public", "accepts": "provisioned", "provisioningUrl": f"{demo.url}/login"}
        services = operator.every("/v1/services")
        house = {"organization": "TheAcmeCompany", "name": "Catalogue"}
        if not any(one["address"] == "TheAcmeCompany/Catalogue" for one in services):
            operator.change("POST", "/v1/services", profile | house)
    person = visitor()
    person.register("Ivy Ltd", "ivy@ivy.example", PASSWORD)
    person.go("/directory?text=catalogue")
    person.page.click("text=TheAcmeCompany/Catalogue")
    person.page.click("main >> a:text-is('Connect')")
    person.snap("connect")
    person.page.fill("#service", "acme")
    person.page.click("text=Agree and continue")
    told = parse_qs(urlsplit(person.page.url).query)
    assert set(told) == {"serviceID", "token", "returnURL"}
    person.page.goto(told["returnURL"][0])
    assert person.page.url.endswith(f"/connected/{told['serviceID'][0]}")
    assert "has not confirmed yet" in person.text()
    stranger = visitor(scripts=False)
    stranger.register("Nettle Ltd", "nettle@nettle.example", PASSWORD)
    stranger.refusals_expected = True
    stranger.page.goto(told["returnURL"][0])
    assert "not visible to you" in stranger.text()
