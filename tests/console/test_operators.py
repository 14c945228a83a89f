"""What the network's operators see and do, and nobody else."""

from __future__ import annotations

from collections.abc import Callable

from tests.console.browsing import Person

PASSWORD = "a long sentence that nobody guesses"


def test_operators_look_after_the_network(operator: Callable[[], Person], visitor: Callable[..., Person]) -> None:
    member = visitor(scripts=False)
    member.register("Sedge & Sons", "sedge@sedge.example", PASSWORD)
    person = operator()
    person.page.click("nav >> text=Organizations")
    person.snap("organizations")
    person.page.click("text=Sedge & Sons")
    person.snap("organization")
    person.refusals_expected = True
    person.page.click("button:has-text('Suspend')")
    assert "Enter a reason" in person.text()
    person.page.fill("#reason", "does not pay")
    person.page.click("button:has-text('Suspend')")
    assert "is suspended" in person.text()
    person.page.click("text=End the suspension")
    assert "is active again" in person.text()
    person.page.fill("#queued_messages", "500")
    person.page.click("main >> button:text-is('Save')")
    assert person.page.input_value("#queued_messages") == "500"
    person.page.click("nav >> text=Health")
    assert "entries in the journal" in person.text()
    person.snap("health")
    person.page.click("nav >> text=Audit")
    assert "does not pay" in person.text()
    person.page.click("details >> nth=0")
    person.snap("audit")


def test_members_see_nothing_of_it(visitor: Callable[..., Person]) -> None:
    member = visitor(scripts=False)
    member.register("Rush Ltd", "rush@rush.example", PASSWORD)
    assert "Organizations" not in member.page.inner_text("nav.side")
    member.refusals_expected = True
    for path in ("organizations", "organizations/MyBiz", "health", "audit", "audit?what=accesses"):
        member.go(f"/operators/{path}")
        assert "for the network's operators" in member.text()
