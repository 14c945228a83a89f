"""A queue is bound in the browser: what decides is checked while typing, explained, disabled and removed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.console.browsing import Person
from tests.samples.workshop import HOUSE, PASSWORD, PEOPLE, Workshop


@pytest.mark.req("C1")
def test_a_queue_is_bound_and_unbound(visitor: Callable[..., Person], workshop: Workshop) -> None:
    person = visitor()
    person.log_in(PEOPLE["developer"], PASSWORD)
    person.go(f"/services/{workshop.gcids['Orders']}")
    person.page.click("main >> a:text-is('Bindings')")
    person.page.click("text=Bind a queue")
    person.page.fill("#name", "expensive")
    person.page.fill("#queue", f"{HOUSE}/Desk")
    person.page.select_option("#decider", "query")
    person.page.fill("#program", "$msg/Order/Total >")
    person.page.press("#program", "Tab")
    person.page.wait_for_selector("#faults .fault")
    person.snap("binding-form")
    person.page.fill("#program", "$msg/Order/Total > 1000")
    person.page.press("#program", "Tab")
    person.page.wait_for_selector("#faults:not(:has(.fault))", state="attached")
    person.page.click("text=Create binding")
    assert "The binding applies from the next message on" in person.text()
    assert "shared" in person.text()
    person.snap("binding")
    person.page.click("button:text-is('Disable')")
    assert "Binding disabled" in person.text()
    person.page.click("main >> text=Edit")
    person.page.fill("#routingKey", "orders")
    person.page.click("button:has-text('Save')")
    person.page.click(f"main >> text={HOUSE}/Orders")
    assert "topic orders" in person.text()
    person.snap("bindings")
    person.page.click("text=expensive")
    person.page.click("text=Delete the binding")
    person.page.click("button:text-is('Delete')")
    assert "was deleted" in person.text()


def test_others_see_no_exchange_that_is_closed_to_them(visitor: Callable[..., Person], workshop: Workshop) -> None:
    viewer = visitor(scripts=False)
    viewer.log_in(PEOPLE["viewer"], PASSWORD)
    viewer.refusals_expected = True
    viewer.go(f"/exchanges/{workshop.gcids['Orders']}/new")
    assert "role developer" in viewer.text()
    stranger = visitor(scripts=False)
    stranger.log_in(PEOPLE["stranger"], PASSWORD)
    stranger.go("/exchanges")
    assert "There are no exchanges that you may bind to" in stranger.text()
    stranger.refusals_expected = True
    stranger.go(f"/exchanges/{workshop.gcids['Orders']}")
    assert "not visible to you" in stranger.text()
