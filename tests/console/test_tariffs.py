"""Tariffs are edited as text by operators: what is wrong or would change is told while they type."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.console.browsing import Person
from tests.samples.routing_organization import PASSWORD, PEOPLE, RoutingOrganization

TARIFF = """books: {{seller: The Road, timeZone: UTC, dueDays: 14}}
tariffs:
  standard:
    - from: "2026-11"
      currency: EUR
      message: {{perMessage: {price}}}
"""


@pytest.mark.req("C1")
def test_operators_edit_tariffs(
    operator: Callable[[], Person], visitor: Callable[..., Person], workshop: RoutingOrganization
) -> None:
    person = operator()
    person.page.click("nav >> text=Tariffs")
    person.page.click("main >> text=Edit")
    person.page.fill("#text", TARIFF.format(price="0.05"))
    person.page.press("#text", "End")
    person.page.wait_for_selector("#faults .fault")
    assert "in quotes" in person.page.inner_text("#faults")
    person.page.fill("#text", TARIFF.format(price='"0.05"'))
    person.page.press("#text", "End")
    person.page.wait_for_selector("h2:has-text('Changes')")
    person.snap("tariffs-form")
    person.page.click("button:has-text('Save')")
    assert "The Road" in person.text()
    assert "in effect" in person.text()
    person.snap("tariffs")
    person.page.click("main >> text=Edit")
    assert "perMessage: '0.05'" in person.page.input_value("#text")
    other = operator()
    other.go("/tariffs/edit")
    other.page.fill("#text", "")
    other.page.click("button:has-text('Save')")
    assert "nothing is charged" in other.text()
    person.refusals_expected = True
    person.page.click("button:has-text('Save')")
    assert "The tariffs have changed" in person.text()
    member = visitor(scripts=False)
    member.log_in(PEOPLE["stranger"], PASSWORD)
    member.refusals_expected = True
    member.go("/tariffs")
    assert "for the network's operators" in member.text()
