"""Register, log in and out, and one's own account, as a person does it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.console.browsing import Person
from tests.console.conftest import Demo
from tests.samples.served_network import succeeded

PASSWORD = "a long sentence that nobody guesses"


@pytest.mark.req("N1", "C1")
def test_registers_works_and_logs_in_again(visitor: Callable[..., Person]) -> None:
    person = visitor()
    person.go("/")
    assert person.page.url.endswith("/login")
    person.snap("login")
    person.page.click("text=Register your organization")
    person.snap("register")
    for name, value in {"organization": "Fern & Co", "email": "fern@fern.example", "password": PASSWORD}.items():
        person.page.fill(f"#{name}", value)
    person.page.click("main button[type=submit]")
    assert "Fern & Co" in person.text()
    person.snap("first-visit")
    person.page.click("text=Log out")
    assert "logged out" in person.text()
    person.log_in("fern@fern.example", PASSWORD)
    person.go("/account")
    person.page.fill("#label", "laptop")
    person.page.fill("#key-password", PASSWORD)
    person.page.click("text=Create key")
    assert person.page.inner_text("#new-key").startswith("pr_")
    person.snap("account")
    person.page.click("[aria-label='Revoke laptop']")
    assert "laptop" not in person.text()


@pytest.mark.req("N1")
def test_the_link_that_the_demo_prints_works_once(visitor: Callable[..., Person], fresh_demo: Demo) -> None:
    person = visitor()
    person.page.goto(fresh_demo.link)
    person.page.click("main button")
    person.page.wait_for_selector("h1:has-text('The network')")
    person.snap("overview-operator")
    other = visitor()
    other.refusals_expected = True
    other.page.goto(fresh_demo.link)
    assert "has been used" in other.text()


def test_a_key_gets_a_person_into_the_console_once(visitor: Callable[..., Person], demo: Demo) -> None:
    link = succeeded("login-link", "--data", demo.data, "--url", demo.url).strip()
    person = visitor(scripts=False)
    person.page.goto(link)
    person.page.click("main button")
    person.page.wait_for_selector("h1:has-text('The network')")


def test_a_link_on_another_site_asks_first(visitor: Callable[..., Person], demo: Demo) -> None:
    link = succeeded("login-link", "--data", demo.data, "--url", demo.url).strip()
    person = visitor()
    bait = (
        f'<!DOCTYPE html><html lang="en"><title>Win</title><link rel="icon" href="data:,"><a href="{link}">a prize</a>'
    )
    person.page.route("http://elsewhere.example/", lambda route: route.fulfill(content_type="text/html", body=bait))
    person.page.goto("http://elsewhere.example/")
    person.page.click("a")
    person.page.wait_for_selector("h1:has-text('Log in as operator@localhost?')")
    person.snap("login-link-asked")
    assert person.page.context.cookies() == []
    person.page.click("main button")
    person.page.wait_for_selector("h1:has-text('The network')")
