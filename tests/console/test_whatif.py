"""What-if in the browser: for operators alone; asked, watched, stopped, and its report read."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from postroad.console.whatif_runs import PAGE, WhatIfRequest
from tests.console.browsing import Person
from tests.console.conftest import Demo
from tests.console.failing import PASSWORD

RUN = "00aa11bb22cc"
HOSTILE = '<script src="https://evil.example/x.js">&"'
REPORT = {
    "begins": "2026-10-01T00:00:00Z", "ends": "", "baseline": "today", "differences": {"route": 150},
    "traffic": {"messages": 1200, "same": 1000, "changed": 150, "undecidable": 50, "refused_then": 0},
    "days": [{"day": f"2026-10-{day:02}", "same": 30 + day, "changed": day, "undecidable": 2} for day in range(1, 32)],
    "services": [{"service": "Mill/Split", "role": "in transit", "gained": 150, "lost": 0}],
    "reasons": [{"text": "rule 'large' of A/B holds: Mill/Split stands after A/B", "messages": 150}],
    "examples": [
        {"session": "01a0f57532f122e3b06289cd8335df03", "at": "2026-10-01T00:00:00Z", "sender": "A/B", "topic": "order",
         "recipient": "C/D", "difference": "refused", "before": ["C/D"], "after": [], "reasons": ["refused: x"],
         "detail": HOSTILE},
    ],
    "bills": [{"organization": "Acme", "currency": "EUR", "before": "12.5", "after": "20", "difference": "7.5"}],
    "ports": [
        {"port": HOSTILE, "in_other_batches": 97,
         "before": {"messages": 100, "batches": 4, "wait_s": 1800.0, "wait_most_s": 3600.0},
         "after": {"messages": 100, "batches": 50, "wait_s": 60.0, "wait_most_s": 61.5}},
    ],
}  # fmt: skip


@pytest.mark.req("C1", "P6")
def test_a_report_is_read(operator: Callable[[], Person], demo: Demo) -> None:
    folder = demo.data / "whatif" / RUN
    folder.mkdir(parents=True)
    wish = WhatIfRequest(by="operator@localhost", at_us=1_790_900_000_000_000)
    for name, content in (("wish.json", wish), ("report.json", REPORT)):
        (folder / name).write_bytes(msgspec.json.encode(content))
    (folder / PAGE).write_text("<!doctype html><title>What if</title>")
    person = operator()
    person.page.click("nav >> text=What if")
    person.snap("whatif")
    person.page.click("tbody a")
    person.page.wait_for_selector(".plot canvas")
    assert "rule 'large' of A/B holds" in person.text()
    assert f"refused: {HOSTILE}" in person.text()
    person.snap("whatif-report")
    answer = person.page.request.get(f"{demo.url}/whatif/{RUN}/report.html")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in answer.headers["content-security-policy"]
    person.page.click("main >> button:text-is('Delete')")
    assert "The run was deleted" in person.text()


def test_a_run_is_started_watched_and_stopped(operator: Callable[[], Person]) -> None:
    person = operator()
    person.go("/whatif")
    person.refusals_expected = True
    for change, told in (
        ("organizations: [", "This is not YAML"),
        ("organizations: {MyBiz: {services: {x: {credentials: [{label: a, keyFrom: 'file:/etc/passwd'}]}}}}", "keyFrom"),
        ("postroad: 1\norganizations: {MyBiz: {services: {Purchasing: {nonsense: true}}}}", "nonsense"),
    ):  # fmt: skip
        person.page.fill("#change", change)
        person.page.click("main >> button:text-is('Start')")
        assert told in person.page.inner_text("#faults")
        assert person.page.input_value("#change") == change
    person.page.fill("#change", "postroad: 1\norganizations: {MyBiz: {services: {Approval: {}}}}")
    person.page.click("main >> button:text-is('Start')")
    assert "running" in person.text()
    person.page.wait_for_timeout(2_500)  # the part is asked for again
    person.snap("whatif-working")
    person.page.click("main >> button:text-is('Cancel')")
    person.page.wait_for_selector("text=The run ended without a report", timeout=20_000)
    person.page.click("main >> button:text-is('Delete')")
    assert "The run was deleted" in person.text()


def test_nobody_else_sees_or_starts_any(visitor: Callable[..., Person]) -> None:
    member = visitor(scripts=False)
    member.register("Teasel Ltd", "teasel@teasel.example", PASSWORD)
    assert "What if" not in member.page.inner_text("nav.side")
    member.refusals_expected = True
    for path in ("/whatif", f"/whatif/{RUN}", f"/whatif/{RUN}/plot.json", f"/whatif/{RUN}/report.html"):
        assert member.page.request.get(f"{member.url}{path}").status == 403
    member.go("/account")
    csrf = member.page.input_value("input[name=csrf] >> nth=0")
    for path in ("/whatif", f"/whatif/{RUN}/stop", f"/whatif/{RUN}/remove"):
        sent = member.page.request.post(f"{member.url}{path}", form={"csrf": csrf, "change": "postroad: 1"})
        assert sent.status == 403
