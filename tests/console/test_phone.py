"""Every page that the side leads to, and those behind: on a phone, enlarged to 200 %, and without scripts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.console.browsing import Person
from tests.samples.routing_organization import HOUSE, PASSWORD, PEOPLE, RoutingOrganization

WIDTHS = {"a phone": (390, 844), "200 %": (640, 400)}  # 1280 by 800, each pixel twice as large
WIDER = """() => { const width = document.documentElement.clientWidth + 1;
  return document.documentElement.scrollWidth <= width ? [] : [...document.querySelectorAll('main *, header *')]
    .filter((one) => one.getBoundingClientRect().right > width).slice(0, 3).map((one) => one.outerHTML.slice(0, 120)) }"""


@pytest.mark.req("C1")
def test_pages_of_members(visitor: Callable[..., Person], workshop: RoutingOrganization) -> None:
    session = workshop.gather(1, "Weekly")
    person = visitor()
    person.log_in(PEOPLE["developer"], PASSWORD)
    for path in _side(person):
        _fits(person, path)
    buyer, orders, gcids = workshop.gcids["Buyer"], workshop.gcids["Orders"], workshop.gcids
    for path in (
        f"/directory/{buyer}", f"/rules/{buyer}", f"/rules/{buyer}/new", f"/exchanges/{orders}", f"/exchanges/{orders}/new",
        f"/models/{gcids['Regions']}", f"/batches/ports/{gcids['Nightly']}", f"/messages/{session}/contents",
    ):  # fmt: skip
        _fits(person, path)
    for path in (f"/services/{buyer}/edit", f"/messages/{session}", "/support/new", f"/find?q={HOUSE}"):
        _fits(person, path)
        _is_read(person, path)


def test_pages_of_operators(operator: Callable[[], Person]) -> None:
    person = operator()
    for path in _side(person):
        if path.startswith(("/operators", "/tariffs", "/whatif")):
            _fits(person, path)


def test_pages_for_everybody(visitor: Callable[..., Person]) -> None:
    person = visitor()
    person.refusals_expected = True
    for path in ("/login", "/register", "/nothing-here"):
        _fits(person, path)
        _is_read(person, path)


@pytest.mark.req("C1")
def test_every_page_is_there_without_scripts(visitor: Callable[..., Person], workshop: RoutingOrganization) -> None:
    person = visitor(scripts=False)
    person.log_in(PEOPLE["developer"], PASSWORD)
    for path in _side(person):
        person.go(path)
        assert person.page.locator("h1").count() == 1, path
        assert person.page.locator("nav a[aria-current=page]").count() == 1, path


def test_a_phone_shows_in_which_section_one_is(operator: Callable[[], Person]) -> None:
    person = operator()
    person.page.set_viewport_size({"width": 390, "height": 844})
    person.go("/operators/audit")  # far to the right
    here = person.page.locator(".side [aria-current]").bounding_box()
    assert here is not None
    assert 0 <= here["x"] <= 390 - here["width"]


def _side(person: Person) -> list[str]:
    """Where the side of the page leads."""
    links = person.page.locator("nav a[href^='/']")
    paths = [links.nth(at).get_attribute("href") or "" for at in range(links.count())]
    assert len(paths) > 10
    return list(dict.fromkeys(paths))


def _fits(person: Person, path: str) -> None:
    """Whether nobody has to move the page sideways to read it."""
    person.go(path)
    for name, (width, height) in WIDTHS.items():
        person.page.set_viewport_size({"width": width, "height": height})
        wider = person.page.evaluate(WIDER)
        assert not wider, f"{path} is wider than {name}: {wider}"


def _is_read(person: Person, path: str) -> None:
    """Whether those who cannot see it have it too; other journeys ask that of the other pages."""
    for scheme in ("light", "dark"):
        person.page.emulate_media(color_scheme=scheme)
        found = Axe().run(person.page)
        assert found.violations_count == 0, f"{path}, {scheme}: {found.generate_report()}"
