"""Onboard a service as a person does it: make it, give it a key, change it, see what was changed, remove it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from postroad.client import Client
from tests.console.browsing import Person
from tests.console.conftest import Demo

PASSWORD = "a long sentence that nobody guesses"


@pytest.mark.req("C1")
def test_onboards_a_service(visitor: Callable[..., Person], demo: Demo) -> None:
    person = visitor()
    person.register("Medlar Ltd", "medlar@medlar.example", PASSWORD)
    person.page.click("nav >> text=Services")
    person.page.click("text=New service")
    person.page.fill("#name", "orders")
    person.page.fill("#description", "Takes orders")
    person.page.fill("#more", "defaultExpirationSeconds: nonsense")
    person.page.press("#more", "Tab")
    person.page.wait_for_selector("#faults .fault")
    assert "defaultExpirationSeconds" in person.page.inner_text("#faults")
    person.snap("service-form")
    person.page.fill("#more", "defaultExpirationSeconds: 3600")
    person.page.click("text=Create service")
    assert "Medlar Ltd/orders was created" in person.text()
    person.page.fill("#label", "shop")
    person.page.click("text=Create key")
    key = person.page.inner_text("#new-key")
    with Client(demo.url, key) as client:
        assert client.post(to="XpandiCo/zipPlus4", document={"zip": "62701"}).session
    person.snap("service")
    person.page.click("main >> text=Edit")
    assert "defaultExpirationSeconds: 3600" in person.page.input_value("#more")
    person.page.select_option("#visibility", "public")
    person.page.click("main >> button:text-is('Save')")
    assert "The profile applies from the next message on" in person.text()
    person.page.click("details:has-text('1 field')")
    assert "visibility" in person.text()
    person.refusals_expected = True
    person.page.click("text=Delete the service")
    person.page.fill("#name", "something else")
    person.page.click("details.card >> button")
    assert "enter its name" in person.text()


def test_works_without_scripts_and_keeps_what_was_written(visitor: Callable[..., Person]) -> None:
    person = visitor(scripts=False)
    person.register("Elder Ltd", "elder@elder.example", PASSWORD)
    person.refusals_expected = True
    person.go("/services/new")
    person.page.fill("#name", "bad/name")
    person.page.fill("#more", "policy: {transport: pigeon}")
    person.page.click("text=Create service")
    assert "policy/transport" in person.text()
    assert person.page.input_value("#name") == "bad/name"
    person.page.fill("#more", "")
    person.page.click("text=Create service")
    assert "is not allowed" in person.text()


def test_shows_whether_pushes_are_paused_and_tries_one_at_once(visitor: Callable[..., Person]) -> None:
    person = visitor()
    person.register("Zelkova Ltd", "zelkova@zelkova.example", PASSWORD)
    person.go("/services/new")
    person.page.fill("#name", "orders")
    person.page.select_option("#delivery", "push")
    person.page.fill("#url", "https://zelkova.example/in")
    person.page.select_option("#authentication", "none")
    person.page.click("text=Create service")
    assert "Not paused." in person.text()
    person.refusals_expected = True
    person.page.click("text=Try now")
    assert "Nothing was pushed: no message is waiting." in person.text()
