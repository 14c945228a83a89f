"""With the keyboard alone: in, to a page, through a form, and out again; and what has the focus can be seen."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.console.browsing import Person
from tests.console.failing import PASSWORD

MAX_TABS = 60
FOCUSED = """() => { const one = document.activeElement;
  return one === document.body ? '' : one.innerText || one.id || one.name || '' }"""
OUTLINED = """() => { const style = getComputedStyle(document.activeElement);
  return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0 }"""


@pytest.mark.req("C1")
def test_registers_makes_a_service_and_leaves(visitor: Callable[..., Person]) -> None:
    person = visitor()
    person.go("/register")
    for field, text in (("organization", "Keys Ltd"), ("email", "kim@keys.example"), ("password", PASSWORD)):
        _tab_to(person, field)
        person.page.keyboard.type(text)
    person.page.keyboard.press("Enter")
    person.page.wait_for_selector("nav[aria-label]")
    person.page.keyboard.press("Tab")
    assert _focused(person) == "Skip to main content"
    person.page.keyboard.press("Enter")
    assert person.page.evaluate("document.activeElement.id") == "main"
    _tab_to(person, "Services")
    person.page.keyboard.press("Enter")
    person.page.wait_for_url("**/services")
    person.go("/services/new")
    _tab_to(person, "name")
    person.page.keyboard.type("Orders")
    person.page.keyboard.press("Enter")
    person.page.wait_for_selector("h1:has-text('Orders')")
    _tab_to(person, "q")
    person.page.keyboard.type("Keys Ltd/Orders")
    person.page.keyboard.press("Enter")
    person.page.wait_for_url("**/directory/*")
    _tab_to(person, "Log out")
    person.page.keyboard.press("Enter")
    person.page.wait_for_url("**/login*")


def _focused(person: Person) -> str:
    return str(person.page.evaluate(FOCUSED)).strip()


def _tab_to(person: Person, what: str) -> None:
    """Go on with the tabulator until it is there, and see at every step where one is."""
    for _ in range(MAX_TABS):
        person.page.keyboard.press("Tab")
        focused = _focused(person)
        if focused:
            assert person.page.evaluate(OUTLINED), f"{focused!r} has the focus, and one cannot see it"
        if focused == what:
            return
    pytest.fail(f"{what} is not reached with the tabulator on {person.page.url}")
