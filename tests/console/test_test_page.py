"""The test page: a binding, a stylesheet, a translation and a send port tried on what is pasted and on what was posted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.console.browsing import Person
from tests.samples.routing_organization import HOUSE, ORDER, PASSWORD, PEOPLE, RoutingOrganization

RULE = f"when: always\nthen: [{{addService: {HOUSE}/Desk}}]"
QUERY = "query: $msg/Order/Total > 1000\n"
STYLESHEET = """<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:param name="word"/><xsl:template match="/"><Told><xsl:value-of select="$word, //Total"/></Told></xsl:template>
</xsl:stylesheet>"""
PORT = f"sendsTo: {HOUSE}/Shop\nstandard: x12\nsender: A\nreceiver: B\ncount: 2\nageSeconds: 90\n"
SOAP = """<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Header><Trace>7</Trace></s:Header>
<s:Body><Order><Total>5</Total></Order></s:Body></s:Envelope>"""


@pytest.fixture
def person(visitor: Callable[..., Person], workshop: RoutingOrganization) -> Person:
    found = visitor()
    found.log_in(PEOPLE["developer"], PASSWORD)
    return found


def _try(person: Person, what: str, **fields: str) -> str:
    person.go(f"/test?what={what}")
    for name, value in fields.items():
        if name in ("format", "kind"):
            person.page.select_option(f"#{name}", value)
        else:
            person.page.fill(f"#{name}", value)
    person.page.click("button:text-is('Test')")
    found = person.page.query_selector("#result")
    return found.inner_text() if found else person.page.inner_text("#faults")


@pytest.mark.req("C3")
def test_a_binding_a_stylesheet_and_a_translation(person: Person) -> None:
    order = "<Order><Total>4711</Total></Order>"
    told = _try(person, "binding", service=f"{HOUSE}/Orders", text=QUERY, document=order)
    assert "1 of 1 binding matches" in told
    assert "shared" in told
    person.snap("test-page-binding")
    person.page.click("text=Copy to the form")
    assert person.page.input_value("#program") == "$msg/Order/Total > 1000"
    told = _try(person, "stylesheet", text=STYLESHEET, document=order, parameters="word: total")
    assert "<Told>total 4711</Told>" in told
    told = _try(person, "translation", format="mime", document=SOAP)
    assert "Detected soap" in told
    assert "<Order><Total>5</Total></Order>" in told
    assert "Nothing is omitted" in told
    person.snap("test-page-translation")
    person.refusals_expected = True
    assert "enter the session ID" in _try(person, "translation", format="mime")
    assert "Not found, or not visible" in _try(person, "rule", service=f"{HOUSE}/Shop", text=RULE, session="0" * 32)


@pytest.mark.req("C3")
def test_a_send_port_on_what_is_pasted_and_on_what_was_posted(person: Person, workshop: RoutingOrganization) -> None:
    told = _try(
        person,
        "batches",
        service=f"{HOUSE}/Nightly",
        text=PORT,
        document=ORDER.format(number=1),
        count="5",
        seconds="60",
    )
    assert "3 batches" in told
    assert "message 1, message 2" in told
    assert "1 min 30 s" not in told
    person.snap("test-page-batches")
    sessions = "\n".join(workshop.gather(number) for number in (1, 2))
    told = _try(person, "batches", service=f"{HOUSE}/Nightly", text=PORT, session=sessions, seconds="100")
    assert "2 batches" in told
    assert "90 s after its first message" in told
    person.refusals_expected = True
    assert "sendsTo" in _try(person, "batches", service=f"{HOUSE}/Nightly", text="count: 3", session=sessions)


def test_what_others_may_not_see_is_not_tried(visitor: Callable[..., Person], workshop: RoutingOrganization) -> None:
    session = workshop.gather(3)
    viewer = visitor(scripts=False)
    viewer.log_in(PEOPLE["viewer"], PASSWORD)
    viewer.go(f"/messages/{session}")
    viewer.page.click("text=Test with this message")
    assert viewer.page.input_value("#session") == session
    viewer.refusals_expected = True
    assert "role developer" in _try_denied(viewer, "stylesheet", text=STYLESHEET, document="<a/>")
    stranger = visitor(scripts=False)
    stranger.log_in(PEOPLE["stranger"], PASSWORD)
    stranger.refusals_expected = True
    assert "Not found, or not visible" in _try(stranger, "translation", format="json", session=session)
    assert "Not found, or not visible" in _try(stranger, "binding", service=f"{HOUSE}/Orders", document="<a/>")


def _try_denied(person: Person, what: str, **fields: str) -> str:
    person.go(f"/test?what={what}")
    for name, value in fields.items():
        person.page.fill(f"#{name}", value)
    person.page.click("button:text-is('Test')")
    return person.text()


def test_fits_a_phone(visitor: Callable[..., Person], workshop: RoutingOrganization) -> None:
    workshop.gather(20)
    person = visitor(viewport={"width": 390, "height": 844})
    person.log_in(PEOPLE["developer"], PASSWORD)
    gcids = workshop.gcids
    pages = (
        "/rules", f"/rules/{gcids['Buyer']}", f"/rules/{gcids['Buyer']}/new", "/exchanges", f"/exchanges/{gcids['Orders']}",
        f"/exchanges/{gcids['Orders']}/new", "/models", f"/models/{gcids['Regions']}", "/batches",
        "/test?what=rule", "/test?what=binding", "/test?what=stylesheet", "/test?what=translation",
        f"/test?what=batches&service={gcids['Nightly']}",
    )  # fmt: skip
    for path in pages:
        person.go(path)
        assert person.page.evaluate("document.documentElement.scrollWidth") <= 390, path
        assert person.page.query_selector("h1"), path
    person.go(f"/batches?state=all&service={gcids['Nightly']}")
    person.page.click("main tbody a")
    assert person.page.evaluate("document.documentElement.scrollWidth") <= 390, "a batch"
    person.go(f"/test?what=batches&service={gcids['Nightly']}")
    person.snap("test-page-phone")
