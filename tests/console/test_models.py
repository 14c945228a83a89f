"""A model in the browser: a tree is made, services are attached, and who receives is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.console.browsing import Person
from tests.samples.workshop import HOUSE, PASSWORD, PEOPLE, Workshop

TREE = """nodes:
  - {tag: north, under: world, topics: [news]}
  - {tag: village, under: north, topics: [news]}
  - {tag: south, under: world, topics: [news]}
"""


@pytest.mark.req("C1")
def test_a_tree_is_made_and_tells_who_receives(visitor: Callable[..., Person], workshop: Workshop) -> None:
    person = visitor()
    person.log_in(PEOPLE["developer"], PASSWORD)
    person.page.click("nav >> text=Models")
    person.page.click(f"text={HOUSE}/Regions")
    person.page.fill("#tag", "world")
    person.page.fill("#carries", "news")
    person.page.click("main >> button:text-is('Save')")
    person.page.click("text=Change several nodes at once")
    person.page.fill("#piece", "nodes: [{tog: north}]")
    person.page.press("#piece", "End")
    person.page.wait_for_selector("#faults .fault")
    person.page.fill("#piece", TREE)
    person.page.click("main >> button:text-is('Apply')")
    for service, side, node in (("Buyer", "producer", "world"), ("Desk", "consumer", "village")):
        person.page.click("summary:has-text('Attach a service')")
        person.page.fill("#service", f"{HOUSE}/{service}")
        person.page.select_option("#side", side)
        person.page.fill("#at", node)
        person.page.click("main >> button:text-is('Attach')")
        assert "is attached" in person.text()
    person.go(f"/models/{workshop.gcids['Regions']}?topic=news&sender={HOUSE}/Buyer")
    assert "1 service would receive it" in person.text()
    assert "world › north › village" in person.text()
    person.snap("model")
    person.page.click(f"[aria-label='Detach {HOUSE}/Desk, consumer at village']")
    assert "was detached" in person.text()
    person.go(f"/models/{workshop.gcids['Regions']}?from=north")
    assert "village" in person.page.inner_text(".tree")
    assert "south" not in person.page.inner_text(".tree")
    person.refusals_expected = True
    person.go(f"/models/{workshop.gcids['Regions']}?topic=news&node=nowhere")
    assert "nowhere" in person.page.inner_text("[role=alert]")
    stranger = visitor(scripts=False)
    stranger.log_in(PEOPLE["stranger"], PASSWORD)
    stranger.refusals_expected = True
    stranger.go(f"/models/{workshop.gcids['Regions']}")
    assert "not visible to you" in stranger.text()
