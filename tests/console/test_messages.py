"""Where is my message? Found by what one knows of it, with its route, its life, and what it said at every stop."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from postroad.client import Client
from tests.console.browsing import Person
from tests.console.conftest import Demo

PASSWORD = "a long sentence that nobody guesses"


@pytest.fixture
def buyer(visitor: Callable[..., Person], demo: Demo) -> Person:
    """Somebody of MyBiz, whose order the demo has played."""
    with Client(demo.url, demo.operator_key) as operator:
        members = operator.every("/v1/organizations/MyBiz/members")
        if not any(one["email"] == "mia@mybiz.example" for one in members):
            invited = operator.change(
                "POST", "/v1/organizations/MyBiz/members", {"email": "mia@mybiz.example", "role": "owner"}
            )
            with Client(demo.url, invited["key"]) as mia:
                mia.change("PUT", "/v1/account/password", {"password": PASSWORD})
    person = visitor()
    person.log_in("mia@mybiz.example", PASSWORD)
    return person


@pytest.mark.req("C2", "R16")
def test_a_message_is_found_and_tells_its_life(buyer: Person, demo: Demo) -> None:
    buyer.page.click("nav >> text=Messages")
    buyer.page.click("text=Sent")
    buyer.snap("messages")
    buyer.page.click("tr:has-text('TheAcmeCompany/Supply') a >> nth=0")
    assert "TheAcmeCompany/Supply" in buyer.text()
    buyer.snap("message")
    session = buyer.page.url.rpartition("/")[2]
    buyer.page.click("text=What it says, stop by stop")
    assert "What changed since the stop before" in buyer.text()
    buyer.snap("message-contents")
    buyer.go(f"/messages/{session}")
    buyer.page.click("text=Why it went this way")
    buyer.snap("message-explanation")
    buyer.page.fill("#q", session)
    buyer.page.press("#q", "Enter")
    assert buyer.page.url.endswith(session)
    buyer.page.fill("#q", "nobody knows this")
    buyer.page.click("text=Find")
    assert "Nothing is known by that" in buyer.text()
    buyer.page.fill("#q", "TheAcmeCompany/Supply")
    buyer.page.click("text=Find")
    assert "/directory/" in buyer.page.url


def test_strangers_find_nothing(visitor: Callable[..., Person], demo: Demo) -> None:
    with Client(demo.url, demo.operator_key) as operator:
        session = operator.get("/v1/messages", box="sent")["items"][-1]["session"]
    person = visitor(scripts=False)
    person.register("Willow Ltd", "willow@willow.example", PASSWORD)
    person.go(f"/find?q={session}")
    assert "Nothing is known by that" in person.text()
    person.refusals_expected = True
    for path in ("", "/contents", "/explanation", "/route.svg", "/life.svg", "/parts/order"):
        assert person.page.goto(f"{demo.url}/messages/{session}{path}").status == 404
