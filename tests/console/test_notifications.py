"""An owner adds subscriptions, sends tests and removes them; an operator has others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.console.browsing import Person

PASSWORD = "a long sentence that nobody guesses"


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
