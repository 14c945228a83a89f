"""Mend what failed, as a person does: find it by its cause, see what a resend would do, resend it, drop it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.console.browsing import Person
from tests.console.conftest import Demo
from tests.console.failing import PASSWORD, register_organization


@pytest.mark.req("C1", "D7")
def test_mends_dead_letters(visitor: Callable[..., Person], demo: Demo) -> None:
    person = visitor()
    alder = register_organization(demo, person, "Alder Ltd", "alder@alder.example")
    person.page.click("nav >> text=Dead letters")
    assert "No dead letters: every message was delivered" in person.text()
    alder.fail(3, why="the <b>pad</b> is dry")
    person.page.click("nav >> text=Dead letters")
    assert "failed-in-transit" in person.text()
    assert "the <b>pad</b> is dry" in person.text()
    person.snap("dead-letters")
    person.page.click("main >> text=Alder Ltd/stamper")
    person.snap("dead-letters-group")
    group = person.page.url
    person.page.click("tbody a >> nth=0")
    person.snap("dead-letter")
    stranger = visitor(scripts=False)
    stranger.register("Aspen Ltd", "aspen@aspen.example", PASSWORD)
    stranger.refusals_expected = True
    stranger.page.goto(person.page.url)
    assert "Not found" in stranger.text()
    stranger.page.goto(group)
    assert "No dead letters are left in this group" in stranger.text()
    person.refusals_expected = True
    person.page.click("button:text-is('Drop')")
    assert "Enter a reason for dropping it" in person.text()
    person.page.fill("#resend-reason", "new ink")
    person.page.click("button:text-is('Resend')")
    assert "was resent to the service" in person.text()
    assert "This dead letter is closed" in person.text()
    assert alder.stamp(1) == 1
    person.page.click("text=Similar dead letters")
    person.page.click("text=Drop all")
    person.page.click("button:has-text('Drop all 2')")
    assert "Enter a reason for dropping them" in person.text()
    person.page.fill("#reason", "ordered by telephone")
    person.page.click("button:has-text('Drop all 2')")
    assert "Done: 2 dropped" in person.text()
    person.page.click("main >> text=Back to the dead letters")
    assert "No dead letters: every message was delivered" in person.text()


@pytest.mark.req("D7")
@pytest.mark.parametrize("scripts", [True, False])
def test_many_are_resent_page_by_page(visitor: Callable[..., Person], demo: Demo, *, scripts: bool) -> None:
    person = visitor(scripts=scripts)
    name = "Beech Ltd" if scripts else "Bramble Ltd"
    beech = register_organization(demo, person, name, f"{name[:5].lower()}@beech.example")
    beech.fail(60)
    person.go("/dead-letters")
    person.page.click(f"main >> text={name}/stamper")
    person.page.click("main >> a:text-is('Newer')")
    assert person.page.locator("tbody tr").count() == 10
    person.page.click("text=Resend all")
    assert "60 messages are delivered to" in person.text()
    if scripts:
        person.snap("dead-letters-resend")
    person.page.click("button:has-text('Resend all 60')")
    if not scripts:
        assert "50 resent, of 60" in person.text()
        person.page.click("button:text-is('Continue')")
    person.page.wait_for_selector("text=Done: 60 resent")
    person.page.click("main >> text=Back to the dead letters")
    assert "No dead letters: every message was delivered" in person.text()
