"""Batches in the browser: why one has not gone, and what can be done about it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.console.browsing import Person
from tests.samples.routing_organization import HOUSE, PASSWORD, PEOPLE, RoutingOrganization

PATIENCE_S = 60


def _until(person: Person, path: str, text: str) -> None:
    """Open a page until it says something: batches are gathered beside what a person does."""
    end = time.monotonic() + PATIENCE_S
    person.go(path)
    while text not in person.text():
        assert time.monotonic() < end, person.text()
        person.page.wait_for_timeout(200)
        person.go(path)


@pytest.mark.req("C1", "A2")
def test_a_batch_says_why_it_waits_and_is_let_go(visitor: Callable[..., Person], workshop: RoutingOrganization) -> None:
    person = visitor()
    person.log_in(PEOPLE["developer"], PASSWORD)
    person.refusals_expected = True
    workshop.gather(10, "Weekly")
    workshop.gather(11, "Weekly")
    _until(person, f"/batches?state=open&service={HOUSE}/Weekly", "3600 s after its first message")
    person.snap("batches")
    person.page.click("main tbody a")
    here = person.page.url.removeprefix(person.url)
    _until(person, here, "2 of 3 messages")
    person.page.fill("#reason", "the partner asked")
    person.page.click("button:has-text('Pause')")
    assert "The batch is paused" in person.text()
    assert "the partner asked" in person.text()
    person.snap("batch")
    person.page.click("summary:text-is('Remove') >> nth=0")
    person.page.click("details >> button:has-text('Remove') >> nth=0")
    assert "Enter a reason; it is recorded" in person.text()
    person.page.click("summary:text-is('Remove') >> nth=0")
    person.page.fill("#why-1", "a mistake")
    person.page.click("details >> button:has-text('Remove') >> nth=0")
    assert "dead letter now" in person.text()
    assert "removed" in person.text()
    viewer = visitor(scripts=False)
    viewer.log_in(PEOPLE["viewer"], PASSWORD)
    viewer.go(here)
    assert f"{HOUSE}/Weekly" in viewer.text()
    assert viewer.page.query_selector("#reason") is None
    stranger = visitor(scripts=False)
    stranger.log_in(PEOPLE["stranger"], PASSWORD)
    stranger.go("/batches")
    assert "None of your services batches messages" in stranger.text()
    stranger.refusals_expected = True
    stranger.go(here)
    assert "not visible to you" in stranger.text()
    person.page.click("button:has-text('Resume')")
    person.page.click("button:has-text('Release now')")
    assert "The batch was released" in person.text()


@pytest.mark.req("C1")
def test_a_send_port_is_changed_in_a_form(visitor: Callable[..., Person], workshop: RoutingOrganization) -> None:
    person = visitor()
    person.log_in(PEOPLE["developer"], PASSWORD)
    person.go("/batches")
    person.page.click(f"a:text-is('{HOUSE}/Nightly')")
    person.page.fill("#cron", "0 25 * * *")
    person.page.press("#cron", "Tab")
    person.page.wait_for_selector("#faults .fault")
    person.snap("port-form")
    person.page.fill("#cron", "0 22 * * *")
    person.page.fill("#more", "takesTypes: ['850']")
    person.page.press("#more", "Tab")
    person.page.wait_for_selector("#faults:not(:has(.fault))", state="attached")
    person.page.click("button:text-is('Test')")
    assert "0 22 * * *" in person.page.input_value("#text")
    person.page.fill("#document", "<Order/>")
    person.page.click("button:text-is('Test')")
    assert "1 message that is sent individually" in person.page.inner_text("#result")
    person.page.click("text=Copy to the form")
    person.page.click("button:has-text('Save')")
    assert "The settings apply from the next message on" in person.text()
    viewer = visitor(scripts=False)
    viewer.log_in(PEOPLE["viewer"], PASSWORD)
    viewer.refusals_expected = True
    viewer.go(f"/batches/ports/{workshop.gcids['Nightly']}")
    assert "role developer" in viewer.text()
