"""Owners set secrets in the browser and never see them again; developers set those of a service; viewers only the list."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from postroad.client import Client
from tests.console.browsing import Person
from tests.console.conftest import Demo

PASSWORD = "a long sentence that nobody guesses"
CANARY = "canary-5b2082a4136a868b904"


@pytest.mark.req("O9", "C1")
def test_an_owner_sets_replaces_and_removes_a_secret(visitor: Callable[..., Person], demo: Demo) -> None:
    owner = visitor(scripts=False)
    owner.register("Saffron Ltd", "saffron@saffron.example", PASSWORD)
    with Client(demo.url, demo.operator_key) as operator:
        profile = {"delivery": "push", "push": {"url": "https://maple.example/in", "secretFrom": "secret:hook"}}
        operator.change("POST", "/v1/services", {"organization": "Saffron Ltd", "name": "Inbox"} | profile)
    owner.page.click("nav >> text=Secrets")
    assert "There are no secrets yet" in owner.text()
    for version, chosen in ((1, "all services"), (2, "all services"), (1, "Inbox")):
        owner.page.select_option("#service", label=chosen)
        owner.page.fill("#name", "hook")
        owner.page.fill("#value", f"{CANARY} {version}\nsecond line")
        owner.page.click("main button:text-is('Save')")
        assert f"secret:hook is set, version {version}." in owner.page.inner_text("body")
        assert CANARY not in owner.page.content()
        assert CANARY not in owner.page.url
    owner.page.reload()  # sends nothing again
    assert [row.inner_text().split()[:4] for row in owner.page.query_selector_all("tbody tr")] == [
        ["secret:hook", "all", "services", "2"],
        ["secret:hook", "Inbox", "1", owner.page.inner_text("tbody tr >> nth=1").split()[3]],
    ]
    seen = visitor()
    seen.log_in("saffron@saffron.example", PASSWORD)
    seen.go("/secrets")
    seen.snap("secrets")
    owner.page.click("[aria-label='Remove hook of Inbox']")
    owner.page.click("[aria-label='Remove hook']")
    assert "There are no secrets yet" in owner.text()


def test_an_error_does_not_show_the_secret_again(visitor: Callable[..., Person]) -> None:
    owner = visitor(scripts=False)
    owner.register("Tamarind Ltd", "tamarind@tamarind.example", PASSWORD)
    owner.refusals_expected = True
    owner.go("/secrets")
    owner.page.evaluate("document.querySelector('#name').removeAttribute('pattern')")
    owner.page.fill("#name", "not a name")
    owner.page.fill("#value", CANARY)
    owner.page.click("main button:text-is('Save')")
    assert "is not allowed" in owner.page.inner_text("#fault")
    assert owner.page.input_value("#name") == "not a name"
    assert CANARY not in owner.page.content()
