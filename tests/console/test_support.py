"""A member asks the operators about a message, and is answered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.console.browsing import Person
from tests.console.conftest import Demo

PASSWORD = "a long sentence that nobody guesses"


@pytest.mark.req("C1")
def test_a_member_asks_and_an_operator_answers(
    visitor: Callable[..., Person], operator: Callable[[], Person], demo: Demo
) -> None:
    member = visitor(scripts=False)
    member.register("Moss Ltd", "moss@moss.example", PASSWORD)
    member.page.click("nav >> text=Support")
    member.page.click("text=Contact the operators")
    member.page.fill("#subject", "Where did <b>it</b> go?")
    member.page.fill("#text", "I sent it twice.\nNothing came.")
    member.page.click("main button[type=submit]")
    assert "Support request sent." in member.text()
    address = member.page.url.partition("?")[0]
    helper = operator()
    helper.go("/support")
    helper.snap("support-list")
    helper.page.click("text=Where did <b>it</b> go?")
    helper.page.fill("#text", "It is on its way.")
    helper.page.click("text=Send")
    assert "answered" in helper.text()
    helper.snap("support-request")
    member.page.goto(address)
    assert "It is on its way." in member.text()
    assert "(operator)" in member.text()
    member.page.click("text=Close request")
    assert "closed" in member.text()
    stranger = visitor(scripts=False)
    stranger.register("Heath Ltd", "heath@heath.example", PASSWORD)
    stranger.refusals_expected = True
    stranger.page.goto(address)
    assert "not visible to you" in stranger.text()


def test_what_is_missing_is_said_and_what_was_written_is_kept(visitor: Callable[..., Person]) -> None:
    member = visitor(scripts=False)
    member.register("Reed Ltd", "reed@reed.example", PASSWORD)
    member.refusals_expected = True
    member.go("/support/new?session=00000000000000000000000000000000")
    member.page.fill("#subject", "Lost")
    member.page.fill("#text", "Where is it?")
    member.page.click("main button[type=submit]")
    assert "The message does not exist" in member.text()
    assert member.page.input_value("#subject") == "Lost"
