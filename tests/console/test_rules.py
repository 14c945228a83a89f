"""Rules as a person writes them: checked while typing, tried on the test page, saved, changed, disabled, moved and removed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from postroad.client import Client
from tests.console.browsing import Person
from tests.console.conftest import Demo
from tests.samples.routing_organization import HOUSE, PASSWORD, PEOPLE, RoutingOrganization

EXPENSIVE = "when: {greaterThan: {body: $.total, as: number, value: 1000}}\nthen: [{addServiceAfter: Workshop/Desk}]\n"


@pytest.mark.req("C1", "R16")
def test_a_rule_is_written_tried_and_saved(visitor: Callable[..., Person], workshop: RoutingOrganization) -> None:
    person = visitor()
    person.log_in(PEOPLE["developer"], PASSWORD)
    person.page.click("nav >> text=Rules")
    person.page.click(f"text={HOUSE}/Buyer")
    person.page.click("text=New rule")
    person.page.fill("#name", "expensive")
    person.page.select_option("#role", "sender")
    person.page.select_option("#where", "body")
    person.page.fill("#path", "$.total")
    person.page.select_option("#operator", "greaterThan")
    person.page.select_option("#type", "number")
    person.page.fill("#value", "a lot")
    person.page.select_option("#action", "addServiceAfter")
    person.page.fill("#service", "Workshop/Desc")
    person.page.press("#service", "Tab")
    person.page.wait_for_selector("#faults:has-text('Workshop/Desc')")
    assert "a lot" in person.page.inner_text("#faults")
    person.snap("rule-form")
    person.page.fill("#value", "1000")
    person.page.fill("#service", "Workshop/Desk")
    person.page.press("#service", "Tab")
    person.page.wait_for_selector("#faults:not(:has(.fault))", state="attached")
    person.page.click("main >> button:text-is('Test')")
    person.page.fill("#document", '{"total": 4000}')
    person.page.fill("#to", "TheAcmeCompany/Supply")
    person.page.click("button:text-is('Test')")
    result = person.page.inner_text("#result")
    assert "The rule applies" in result
    assert "4000" in result
    person.snap("test-page-rule")
    person.page.click("text=Copy to the form")
    assert person.page.input_value("#path") == "$.total"
    person.page.click("text=Create rule")
    assert "applies from the next message on" in person.text()
    person.snap("rule")
    person.page.click("main >> text=Edit")
    assert person.page.input_value("#value") == "1000"
    person.page.fill("#value", "2000")
    person.page.click("button:has-text('Save')")
    person.page.click("details:has-text('1 field')")
    assert "2000" in person.page.inner_text("details:has-text('1 field')")
    person.page.click("button:text-is('Disable')")
    assert "Rule disabled" in person.text()


def test_without_scripts_and_by_others(
    visitor: Callable[..., Person], workshop: RoutingOrganization, demo: Demo
) -> None:
    with Client(demo.url, demo.operator_key) as operator:
        for name in ("first", "second"):
            wish = {
                "name": name,
                "when": "always",
                "role": "recipient",
                "then": [{"addServiceBefore": f"{HOUSE}/Desk"}],
            }
            operator.change("POST", f"/v1/services/{workshop.gcids['Shop']}/rules", wish)
    rules = f"/rules/{workshop.gcids['Shop']}"
    person = visitor(scripts=False)
    person.log_in(PEOPLE["developer"], PASSWORD)
    person.go(rules)
    person.page.click("[aria-label='Move second up']")
    assert person.page.locator("tbody th a").all_inner_texts() == ["second", "first"]
    person.page.click("tbody >> text=second")
    person.page.click("text=Delete the rule")
    person.page.click("button:text-is('Delete')")
    assert "was deleted" in person.text()
    person.refusals_expected = True
    person.go(f"{rules}/new")
    person.page.fill("#name", "first")
    person.page.fill("#more", EXPENSIVE)
    person.page.click("text=Create rule")
    assert "is set both in the fields and in the text" in person.text()
    assert person.page.input_value("#more").strip() == EXPENSIVE.strip()
    person.page.select_option("#operator", "written")
    person.page.select_option("#action", "written")
    person.page.click("text=Create rule")
    assert "has a rule with this name" in person.text()
    assert person.page.get_attribute("#name", "aria-invalid") == "true"
    viewer = visitor(scripts=False)
    viewer.log_in(PEOPLE["viewer"], PASSWORD)
    viewer.go(rules)
    assert "first" in viewer.text()
    assert viewer.page.query_selector("text=New rule") is None
    viewer.refusals_expected = True
    viewer.go(f"{rules}/new")
    assert "role developer" in viewer.text()
    stranger = visitor(scripts=False)
    stranger.log_in(PEOPLE["stranger"], PASSWORD)
    stranger.refusals_expected = True
    stranger.go(rules)
    assert "not visible to you" in stranger.text()
