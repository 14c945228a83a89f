"""What others wrote is shown by a real browser, and nothing of it runs: no dialog, no complaint of the policy, no element."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Dialog

from postroad.core.model.message import Part
from tests.console.browsing import Person
from tests.console.conftest import Demo
from tests.console.failing import StampedOrders, register_organization

OUT = "'\"--></pre></textarea></title></script>"
CORPUS = (
    f"{OUT}<script>alert(1)</script>",
    f"{OUT}<img src=x onerror=alert(1) class=evil>",
    f"{OUT}<svg onload=alert(1) class=evil>",
    '" autofocus onfocus="alert(1)" class="evil',
    f"{OUT}<form class=evil action=//evil.example><button hx-get=/logout hx-trigger=load>",
    f"{OUT}<iframe class=evil srcdoc='<script>alert(1)</script>'>",
    "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><script class='evil'>alert(1)</script></html>",
    "javascript:alert(1)",
)
THEIRS = (
    ".evil, script:not([src]), [onerror], [onload], [onfocus], iframe, [style], a[href^='javascript:'], main [src^='x']"
)


@pytest.mark.req("C1")
def test_nothing_of_it_runs(visitor: Callable[..., Person], demo: Demo) -> None:
    person = visitor()
    dialogs: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    person.page.on("dialog", dismiss)
    mill = register_organization(demo, person, "Hostile Mill", "hans@mill.example")
    sessions = _sent(mill)
    pages = [
        "/",
        "/live",
        "/messages",
        "/messages?box=sent",
        "/dead-letters",
        "/directory?text=<img+src=x>",
        f"/find?q={CORPUS[1]}",
    ]
    pages += [f"/messages/{session}{more}" for session in sessions for more in ("", "/contents")]
    for path in [*pages, *_written(person)]:
        person.go(path)
        assert person.page.locator(THEIRS).count() == 0, path
    person.go("/dead-letters")
    person.page.click("tbody a >> nth=0")
    person.page.click("tbody a >> nth=0")
    assert "<img src=x" in person.text()
    assert person.page.locator(THEIRS).count() == 0
    assert not dialogs


def _sent(mill: StampedOrders) -> list[str]:
    """Bodies, topics, handles, kinds and names of files; and an error body that says it again."""
    with mill.client("buyer") as buyer:
        sessions = [
            buyer.post(
                to=f"{mill.name}/seller", topic=text[:100], handle=text[:60],
                document=text, properties={"note": text},
                attachments=[Part(id=f"file<b>{number}.html", content_type="text/html", data=text.encode())],
            ).session
            for number, text in enumerate(CORPUS)
        ]  # fmt: skip
    mill.fail(1, topic=CORPUS[2], why=CORPUS[1])
    return sessions[:2]


def _written(person: Person) -> list[str]:
    """What a member writes where others read it."""
    person.go("/support/new")
    person.page.fill("#subject", CORPUS[1])
    person.page.fill("#text", "\n".join(CORPUS))
    person.page.click("main button[type=submit]")
    request = person.page.url.partition("?")[0].removeprefix(person.url)
    person.go("/account")
    person.page.fill("#name", CORPUS[0])
    person.page.click("main button[type=submit] >> nth=0")
    return [request, "/support", "/account", "/organization"]
