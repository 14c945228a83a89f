"""What people see of what happens now: the first page, and the live one; only what is theirs, and only as long as they may."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from postroad.console.rendering import Rendering
from tests.console.browsing import Person
from tests.console.conftest import Demo
from tests.console.failing import PASSWORD, register_organization


@pytest.mark.req("C1", "C4")
def test_watches_what_happens(visitor: Callable[..., Person], demo: Demo) -> None:
    person = visitor()
    person.register("Cedar Ltd", "early@cedar.example", PASSWORD)
    assert "First steps" in person.text()
    person.snap("overview-first-steps")
    person.page.context.clear_cookies()
    cedar = register_organization(demo, person, "Cedar & Sons", "cedar@cedar.example")
    person.page.click("nav >> text=Live")
    person.page.wait_for_selector("text=Updated live")
    cedar.send("hello")
    person.page.wait_for_selector("#rows >> text=hello")
    assert "No recent events" not in person.text()
    cedar.fail(2, why="no <i>ink</i>")
    person.page.wait_for_selector("#figures >> text=failed-in-transit")
    assert "no <i>ink</i>" in person.page.inner_text("#figures")
    person.page.wait_for_selector("#figures th:has-text('Cedar & Sons/seller')")  # something waits there
    person.snap("live")
    person.page.click("button:text-is('Pause')")
    assert "Paused" in person.text()
    cedar.send("later")
    person.page.wait_for_timeout(1_500)
    assert "later" not in person.page.inner_text("#rows")
    person.page.click("text=Continue")
    person.page.wait_for_selector("#rows >> text=later")
    assert person.page.locator("#rows >> text=hello").count() == 2  # sent and arrived, each told once
    person.page.select_option("#what", "failed")
    person.page.click("button:has-text('Show')")
    person.page.wait_for_selector("text=Updated live")
    assert person.page.locator("#rows tr").count() == 2
    person.page.click("nav >> text=Overview")
    assert "2" in person.page.inner_text(".card:has-text('dead letters')")
    assert "The oldest for" in person.text()
    person.snap("overview")


def test_serves_without_scripts_and_shows_nothing_of_others(visitor: Callable[..., Person], demo: Demo) -> None:
    person, stranger = visitor(scripts=False), visitor(scripts=False)
    dogwood = register_organization(demo, person, "Dogwood Ltd", "dogwood@dogwood.example")
    dogwood.send("secret-topic")
    dogwood.fail(1)
    person.go("/live")
    assert "secret-topic" in person.text()
    assert "failed-in-transit" in person.text()
    assert "State as of" in person.text()
    assert "Pause" not in person.text()
    stranger.register("Elm Ltd", "elm@elm.example", PASSWORD)
    for path in ("/", "/live", "/dead-letters", "/live?service=Dogwood%20Ltd/seller"):
        stranger.go(path)
        assert "secret-topic" not in stranger.text()
        assert "failed-in-transit" not in stranger.text()
        assert "Dogwood" not in stranger.text()


def test_a_sample_says_that_it_is_one() -> None:
    text = Rendering().text("live_rows.html", {"rows": [], "left_out": 950})
    assert "950 more are not shown" in text
    assert Rendering().text("live_rows.html", {"rows": [], "left_out": 0}).strip() == ""


def test_operators_see_all_of_it(operator: Callable[[], Person]) -> None:
    person = operator()
    person.page.click("nav >> text=Live")
    person.page.wait_for_selector("text=Updated live")
    assert "of your organization" not in person.page.inner_text("#service")
    assert "MyBiz/Purchasing" in person.page.inner_text("#service")
    person.page.click("nav >> text=Overview")
    assert "The network" in person.text()


def test_one_browser_has_one_stream_and_it_ends_with_the_visit(visitor: Callable[..., Person]) -> None:
    person = visitor()
    person.register("Fir Ltd", "fir@fir.example", PASSWORD)
    person.go("/live")
    person.page.wait_for_selector("text=Updated live")
    second = person.page.context.new_page()
    second.goto(f"{person.url}/live")
    second.wait_for_selector("text=Updated live")
    person.page.wait_for_selector("text=The live page is open in another tab")
    person.page.click("text=Log out")
    second.wait_for_selector("text=Your session has ended")
