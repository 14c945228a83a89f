"""An owner adds subscriptions, sends tests and removes them; an operator has others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from postroad.client import Client
from tests.console.browsing import Person
from tests.console.conftest import PICTURES
from tests.samples.mail_server import RunningMailServer, mail_server
from tests.samples.served_network import Served, served

PASSWORD = "a long sentence that nobody guesses"
NEW_PASSWORD = "seven quiet herons wading"
FORGETFUL = "forgetful@acme.example"


@pytest.mark.req("C1", "O8")
def test_an_owner_adds_tests_and_removes_a_subscription(visitor: Callable[..., Person]) -> None:
    owner = visitor()
    owner.register("Wisteria Ltd", "wisteria@wisteria.example", PASSWORD)
    owner.page.click("nav >> text=Notifications")
    assert "No one is notified yet." in owner.text()
    owner.snap("notifications-none")
    assert owner.page.input_value("#address") == "wisteria@wisteria.example"
    owner.page.fill("#name", "chat")
    owner.page.select_option("#channel", "webhook")
    owner.page.fill("#address", "https://hooks.wisteria.example/postroad")
    owner.page.check("text=dead-letter")
    owner.page.click("button:has-text('Save')")
    assert "chat was saved" in owner.text()
    assert "whsec_" in owner.text()
    assert "nothing sent yet" in owner.text()
    owner.refusals_expected = True
    owner.page.click("button:has-text('Send a test')")
    assert "The test to chat could not be sent" in owner.text()
    owner.page.fill("#name", "strangers")
    owner.page.select_option("#channel", "email")
    owner.page.fill("#address", "someone@elsewhere.example")
    owner.page.click("button:has-text('Save')")
    assert "No member of this organization has an address at elsewhere.example" in owner.text()
    assert owner.page.input_value("#address") == "someone@elsewhere.example"
    owner.page.select_option("#channel", "slack")
    owner.page.fill("#address", "not a URL")
    owner.page.click("button:has-text('Save')")
    assert "must be a whole http or https address" in owner.text()
    owner.snap("notifications")
    owner.page.click("button:has-text('Remove')")
    assert "chat was removed." in owner.text()


def test_operators_have_subscriptions_of_their_own(operator: Callable[[], Person]) -> None:
    helper = operator()
    helper.go("/notifications")
    assert "disk.low" in helper.text()
    helper.page.fill("#name", "network")
    helper.page.select_option("#channel", "slack")
    helper.page.fill("#address", "file:slack")
    helper.page.click("button:has-text('Save')")
    assert "network was saved" in helper.text()
    helper.snap("notifications-operators")
    helper.page.click("button:has-text('Remove')")
    assert "network was removed." in helper.text()


def test_a_forgotten_password_without_a_mail_server(visitor: Callable[..., Person]) -> None:
    member = visitor()
    member.go("/login")
    member.page.click("text=Forgot your password?")
    assert "This network sends no e-mail." in member.text()
    member.snap("password-forgotten")
    member.refusals_expected = True
    member.go("/password/reset?key=nothing")
    assert "The link has been used or has expired." in member.text()
    member.go("/notifications/unsubscribe?token=nothing")
    assert "This subscription has ended, or the link is not valid." in member.text()


@contextmanager
def mailing(folder: Path) -> Iterator[tuple[Served, RunningMailServer]]:
    """A network with a mail server, and an invitation of forgetful@acme.example."""
    with mail_server() as server:
        mail = ("--set", f"smtp_url={server.url}", "--set", "smtp_from=hub@hub.example")
        with served(folder / "data", *mail) as network:
            network.register("Acme/Supply")
            key = (network.data / "operator.key").read_text().strip()
            with Client(network.url, key) as operator:
                operator.change("POST", "/v1/organizations/Acme/members", {"email": FORGETFUL, "role": "owner"})
            yield network, server


def read_link(server: RunningMailServer, number: int, path: str) -> str:
    """Return the path of a link in one of the e-mails."""
    found = re.search(rf"{re.escape(path)}\?key=\S+", server.boxes.wait_for(FORGETFUL, number).get_content())
    assert found is not None
    return found[0]


def test_a_new_password_by_a_link_in_an_email(browser: Browser, tmp_path: Path) -> None:
    with mailing(tmp_path) as (network, server):
        people = [Person(url=network.url, page=browser.new_context().new_page(), pictures=PICTURES) for _ in range(2)]
        for person in people:
            person.watch()
        member, elsewhere = people
        member.go(read_link(server, 1, "/welcome"))
        member.page.fill("#password", PASSWORD)
        member.page.click("main button[type=submit]")
        member.page.wait_for_url(f"{network.url}/")

        elsewhere.go("/login")
        elsewhere.page.click("text=Forgot your password?")
        elsewhere.snap("password-forgotten-asked")
        elsewhere.page.fill("#email", FORGETFUL)
        elsewhere.page.click("text=Send a link")
        assert f"If {FORGETFUL} has an account with a password, a link has been sent." in elsewhere.text()
        link = read_link(server, 2, "/password/reset")
        elsewhere.go(link)
        assert f"Choose a new password for {FORGETFUL}." in elsewhere.text()
        elsewhere.snap("password-reset")
        elsewhere.page.fill("#password", NEW_PASSWORD)
        elsewhere.page.click("text=Save")
        elsewhere.page.wait_for_url(f"{network.url}/")
        elsewhere.go("/account")
        assert FORGETFUL in elsewhere.text(), "the new password logs in"

        member.go("/account")
        assert member.page.url.startswith(f"{network.url}/login"), "the login with the old password has ended"
        elsewhere.refusals_expected = True
        elsewhere.go(link)
        assert "The link has been used or has expired." in elsewhere.text()
        elsewhere.page.context.clear_cookies()
        elsewhere.log_in(FORGETFUL, PASSWORD)
        assert elsewhere.page.url.startswith(f"{network.url}/login"), "the old password is not accepted"
        elsewhere.log_in(FORGETFUL, NEW_PASSWORD)
        elsewhere.go("/account")
        assert FORGETFUL in elsewhere.text()
        for person in people:
            person.page.context.close()
            assert not person.faults, person.faults
