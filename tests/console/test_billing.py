"""Bills as people read them: what the month comes to, invoices, and the messages behind a line; nobody sees another's."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal

import pytest

from postroad.client import Client
from postroad.core.billing.invoices import InvoiceAccount, InvoiceIssue, LineTotal, make_credit_note, make_invoice
from postroad.core.model.billing import BillingSettings, Invoice, LineKey, Payment
from tests.console.browsing import Person
from tests.console.conftest import Demo
from tests.console.failing import PASSWORD, counted, register_organization
from tests.samples.billing_documents import invoice_entry, payment_entry
from tests.samples.counted import SESSION, STRANGE, Counted

NUMBER = "2026-09-0001"


@pytest.mark.req("C1", "P3")
def test_reads_an_invoice_down_to_its_messages(visitor: Callable[..., Person], demo: Demo) -> None:
    person, stranger = visitor(), visitor(scripts=False)
    juniper = register_organization(demo, person, "Yarrow Ltd", "yarrow@yarrow.example")
    known = counted(demo, juniper, [*juniper.send("orders", 30), SESSION])
    issued(demo, known)
    person.page.click("nav >> text=Billing")
    assert "0.39 EUR" in person.text()
    assert "forecast for the whole month" in person.text()
    person.page.wait_for_selector(".plot canvas")
    person.snap("billing")
    person.page.click("main >> a:text-is('Details')")
    person.page.click("text=Messages sent by Yarrow Ltd/buyer")
    assert "Page 1 of 2" in person.text()
    person.page.click("main >> a:text-is('Next')")
    assert "hidden from you" in person.text(), "a message that this organization has no part in"
    person.page.click("tbody a >> nth=0")
    assert "orders" in person.text()
    person.go("/billing")
    person.page.click(f"text={NUMBER}")
    assert "overdue for" in person.text()
    assert "an hour without service" in person.text()
    person.snap("invoice")
    person.page.emulate_media(media="print")
    person.page.set_viewport_size({"width": 718, "height": 1000})  # A4 within its margins
    cells = "[...document.querySelectorAll('main th, main td')].map((cell) => cell.getBoundingClientRect().right)"
    assert max(person.page.evaluate(cells)) <= 718, "an amount is cut off on paper"
    assert person.page.locator("nav.side").is_hidden()
    person.page.emulate_media(media="screen")
    person.page.set_viewport_size({"width": 1280, "height": 900})
    person.page.click("text=Messages sent by Yarrow Ltd/buyer")
    assert "20 uses" in person.text()
    assert person.page.locator("tbody tr").count() == 20, (
        "through the entry up to which it was counted when it was issued"
    )
    person.snap("invoice-line")
    person.page.set_viewport_size({"width": 390, "height": 800})
    person.go("/billing")
    person.page.wait_for_selector(".plot canvas")
    person.snap("billing-phone")
    for form, begins in (("csv", "number,"), ("ubl", "<?xml")):
        assert person.page.request.get(f"{demo.url}/billing/invoices/{NUMBER}/{form}").text().startswith(begins)
    stranger.register("Knotweed Ltd", "knot@knotweed.example", PASSWORD)
    stranger.go("/billing?organization=Yarrow%20Ltd")
    assert "No billable use" in stranger.text()
    assert NUMBER not in stranger.text()
    period = known.period
    for path in (
        *(f"invoices/{NUMBER}", f"invoices/{NUMBER}/lines/1", f"invoices/{NUMBER}/csv", f"invoices/{NUMBER}/ubl"),
        *(f"drafts/{period}/EUR?organization=Yarrow%20Ltd", f"drafts/{period}/EUR/lines/1?organization=Yarrow%20Ltd"),
    ):
        assert stranger.page.request.get(f"{demo.url}/billing/{path}").status == 404
    told = stranger.page.request.get(f"{demo.url}/billing/plots/{period}/EUR?organization=Yarrow%20Ltd").json()
    assert set(told["curves"][0]["values"]) <= {0, None}


def test_operators_see_all_bills(operator: Callable[[], Person], visitor: Callable[..., Person], demo: Demo) -> None:
    counted(demo, register_organization(demo, visitor(scripts=False), "Maple Ltd", "maple@maple.example"))
    person = operator()
    person.page.click("nav >> text=Billing")
    assert "77.77" in person.text()
    assert STRANGE in person.text()
    person.page.click("text=Maple Ltd >> nth=-1")
    assert "Billing of Maple Ltd" in person.text()
    assert "77.77" not in person.text()
    person.page.wait_for_selector(".plot canvas")
    person.snap("billing-operator")


def test_operators_issue_credit_and_record_payments(
    operator: Callable[[], Person], visitor: Callable[..., Person], demo: Demo
) -> None:
    known = counted(demo, register_organization(demo, visitor(scripts=False), "Rowan Ltd", "rowan@rowan.example"))
    number = issued(demo, known, "2026-07").number
    person = operator()
    person.refusals_expected = True
    person.go("/billing")
    assert person.page.input_value("#period") < known.period, "the last month that is over"
    person.page.fill("#period", "2999-01")
    person.page.click("text=Issue invoices")
    assert "2999-01 has not ended yet" in person.text()
    person.page.fill("#period", "2026-06")
    person.page.click("text=Issue invoices")
    assert "The invoices of 2026-06 are correct." in person.text()
    person.snap("billing-issue")
    person.page.click(f"text={number}")
    person.page.fill("#paid", "many")
    person.page.click("text=Record payment")
    assert "is not an amount in EUR" in person.text()
    assert person.page.input_value("#paid") == "many", "what was written is not lost"
    person.page.fill("#paid", "1.00")
    person.page.fill("#reference", "bank 4711")
    person.page.click("text=Record payment")
    assert "Payment of 1.00 EUR is recorded." in person.text()
    person.page.fill("#credit", "0.84")
    person.page.fill("#reason", "two hours without service")
    person.page.click("text=Issue credit note")
    assert "is issued." in person.text()
    assert "bank 4711" in person.text()
    assert "two hours without service" in person.text()
    person.snap("billing-operator-invoice")
    with Client(demo.url, demo.operator_key) as client:
        found = client.billing.invoice(number)
    assert (found.balance.charged, found.balance.paid, found.balance.open) == ("9.00", "6.00", "3.00")
    stranger = visitor(scripts=False)
    stranger.register("Sumac Ltd", "sumac@sumac.example", PASSWORD)
    stranger.go("/billing")
    assert stranger.page.locator("text=Issue invoices").count() == 0


def issued(demo: Demo, known: Counted, period: str = "2026-09") -> Invoice:
    """An invoice that is overdue, with a credit and a payment, as earlier versions recorded them."""
    number = f"{period}-0001"
    issue = InvoiceIssue(
        number=number, on=date(2026, 10, 1), books=BillingSettings(seller="Postroad Ltd"), through=20, tariffs={}
    )
    line = LineKey("message", "originator", known.services["buyer"], "standard/2026-01")
    first = make_invoice(
        InvoiceAccount(known.organization, period, "EUR"), {line: LineTotal(20, 20, 12_340_000)}, issue
    )
    again = InvoiceIssue(number=f"{period}-0002", on=date(2026, 10, 5), books=issue.books, through=20, tariffs={})
    note = make_credit_note(first, Decimal("2.50"), again, "an hour without service")
    paid = Payment(
        id=f"{number}/1", invoice=number, amount=Decimal("5.00"), currency="EUR", received_on=date(2026, 10, 9)
    )
    records = {
        "invoices": {one.number: invoice_entry(one) for one in (first, note)},
        "payments": {paid.id: payment_entry(paid)},
    }
    document = {"postroad": 1, "billing": records}
    with Client(demo.url, demo.operator_key) as client:
        client.apply(document, version=client.plan(document).version)
    return first
