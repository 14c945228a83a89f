"""Where is my message? Found by what one knows of it, with its route, its life, and what it said at every stop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from postroad.client import Client
from postroad.errors import Refused
from tests.console.browsing import Person
from tests.console.conftest import Demo
from tests.console.failing import PASSWORD, register_organization
from tests.samples.routing_organization import ORDER
from tests.waiting import eventually

INDEXES = {"order": {"body": "$.order"}, "region": {"header": "properties.region"}}


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
    buyer.page.click("tbody >> text=PO-1001 >> nth=-1")
    assert "TheAcmeCompany/Supply" in buyer.text()
    buyer.snap("message")
    session = buyer.page.url.rpartition("/")[2]
    buyer.page.click("text=Contents at each stop")
    assert "Changes since the previous stop" in buyer.text()
    buyer.snap("message-contents")
    with buyer.page.expect_download() as download:
        buyer.page.click("section:has-text('As delivered to KeepEmOut/filter') >> text=Download")
    assert "BX0045012" in Path(download.value.path()).read_text()
    buyer.go(f"/messages/{session}")
    buyer.page.click("text=Explain the route")
    buyer.snap("message-explanation")
    buyer.page.fill("#q", session)
    buyer.page.press("#q", "Enter")
    assert buyer.page.url.endswith(session)
    buyer.page.fill("#q", "nobody knows this")
    buyer.page.click("text=Search")
    assert "No matches for" in buyer.text()
    buyer.page.fill("#q", "TheAcmeCompany/Supply")
    buyer.page.click("text=Search")
    assert "/directory/" in buyer.page.url


@pytest.mark.req("C2")
def test_every_column_of_a_list_is_visible_at_1280_pixels(visitor: Callable[..., Person], demo: Demo) -> None:
    person = visitor()
    mill = register_organization(demo, person, "Hornbeam Milling Company", "hornbeam@hornbeam.example")
    handle = "<20261118.4711.AS2-MESSAGE-abcdef@very-long-host.partner.example>"
    with mill.client("buyer") as buyer:
        buyer.post(to=f"{mill.name}/seller", handle=handle, topic="purchase-order-changes", document={"order": 4711})
        buyer.post(to="TheAcmeCompany/Supply", handle="PO-77", topic="purchase-order", document={"order": 77})
    person.page.set_viewport_size({"width": 1280, "height": 900})
    for path in ("/messages?box=sent", "/messages?box=received", "/live", "/"):
        person.go(path)
        person.page.wait_for_selector(f"[title='{handle}']")
        assert handle not in person.text()
        widths = "[...document.querySelectorAll('.scroll')].map((one) => one.scrollWidth - one.clientWidth)"
        assert max(person.page.evaluate(widths)) == 0, f"a column is cut off at {path}"


def test_an_address_that_does_not_exist_keeps_the_navigation(buyer: Person) -> None:
    buyer.refusals_expected = True
    buyer.go("/no-such-page")
    assert "Page not found" in buyer.text()
    assert buyer.page.locator("nav.side a").count() > 5
    assert buyer.page.locator(".fault").count() == 0


def test_strangers_find_nothing(visitor: Callable[..., Person], demo: Demo) -> None:
    with Client(demo.url, demo.operator_key) as operator:
        session = operator.get("/v1/messages", box="sent")["items"][-1]["session"]
    person = visitor(scripts=False)
    person.register("Willow Ltd", "willow@willow.example", PASSWORD)
    person.go(f"/find?q={session}")
    assert "No matches for" in person.text()
    person.refusals_expected = True
    for path in ("", "/contents", "/explanation", "/route.svg", "/life.svg", "/parts/1", "/stops/1/parts/1"):
        response = person.page.goto(f"{demo.url}/messages/{session}{path}")
        assert response is not None
        assert response.status == 404


@pytest.mark.req("C2")
def test_a_message_is_found_by_what_its_partners_call_it(visitor: Callable[..., Person], demo: Demo) -> None:
    person = visitor()
    hazel = register_organization(demo, person, "Hazel Ltd", "hazel@hazel.example")
    with Client(demo.url, demo.operator_key) as operator:
        wanted = {"postroad": 1, "organizations": {hazel.name: {"services": {"seller": {"indexes": INDEXES}}}}}
        operator.apply(wanted, version=operator.plan(wanted).version)
    hazel.send(count=2)  # both have the order 4711
    with hazel.client("buyer") as buyer:
        only = buyer.post(to=f"{hazel.name}/seller", document={"order": "PO-12"}, handle="H-77").session
        with pytest.raises(Refused):
            buyer.post(to="Nobody/At all", document={"order": "PO-13"}, handle="H-78")
    for known in ("po-12", "h-77", only.upper()):
        person.page.fill("#q", known)
        person.page.press("#q", "Enter")
        assert person.page.url.endswith(only), known
    assert "polls for its messages" in person.text()
    assert "Expires" in person.text()
    assert person.page.locator("dd a:has-text('PO-12')").get_attribute("href") == "/find?q=PO-12"
    person.page.set_viewport_size({"width": 390, "height": 800})
    person.snap("message-phone")
    person.page.set_viewport_size({"width": 1280, "height": 800})
    person.page.fill("#q", "4711")
    person.page.press("#q", "Enter")
    assert "2 messages match" in person.text()
    assert person.page.locator("tbody tr").count() == 2
    person.snap("find-several")
    person.page.fill("#q", "H-78")
    person.page.press("#q", "Enter")
    assert "recipient.unknown" in person.text()
    person.snap("message-refused")
    person.go("/find?q=<b>nothing</b>")
    assert "<b>nothing</b>" in person.text()
    person.snap("find-nothing")
    person.go("/find")
    person.snap("find")
    stranger = visitor(scripts=False)
    stranger.register("Holly Ltd", "holly@holly.example", PASSWORD)
    for known in ("PO-12", "H-77", "4711", "H-78"):
        stranger.go(f"/find?q={known}")
        assert "No matches for" in stranger.text()


def test_what_failed_says_why_and_what_to_do(visitor: Callable[..., Person], demo: Demo) -> None:
    person = visitor()
    juniper = register_organization(demo, person, "Juniper Ltd", "juniper@juniper.example")
    [session] = juniper.fail(why="no <i>ink</i>")
    person.go(f"/messages/{session}")
    assert "kept as a dead letter" in person.text()
    assert "no <i>ink</i>" in person.text()
    person.snap("message-failed")


def test_a_batch_that_has_not_gone_is_found_by_its_id(visitor: Callable[..., Person], demo: Demo) -> None:
    person, stranger = visitor(), visitor()
    larch = register_organization(demo, person, "Larch Ltd", "larch@larch.example")
    batching = {"sendsTo": "Larch Ltd/seller", "standard": "x12", "sender": "LARCH", "receiver": "SELLER", "count": 9}
    with Client(demo.url, demo.operator_key) as operator:
        port = {"hosted": "batcher", "batching": batching}
        wanted = {"postroad": 1, "organizations": {larch.name: {"services": {"port": port}}}}
        operator.apply(wanted, version=operator.plan(wanted).version)
        with larch.client("buyer") as buyer:
            session = buyer.post(to="Larch Ltd/port", document=ORDER.format(number=1).encode()).session
        batch = eventually(lambda: operator.get("/v1/batches", service="Larch Ltd/port")["items"])[0]["id"]
    person.go(f"/find?q={batch}")
    assert person.page.url.endswith(f"/batches/{batch}")
    person.go(f"/messages/{session}")
    assert "has gathered it in a batch, which is open" in person.text()
    stranger.register("Linden Ltd", "linden@linden.example", PASSWORD)
    stranger.go(f"/find?q={batch}")
    assert "No matches for" in stranger.text()
