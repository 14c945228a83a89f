"""Lines, invoices, corrections and balances."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from postroad.core.billing.balances import balances, list_overdue
from postroad.core.billing.invoices import (
    InvoiceAccount,
    InvoiceIssue,
    LineTotal,
    invoice_lines,
    make_correction,
    make_credit_note,
    make_invoice,
    round_amount,
)
from postroad.core.model.billing import BillingSettings, DocumentKind, Invoice, LineKey, Payment

pytestmark = pytest.mark.req("P3")

ACCOUNT = InvoiceAccount("MyBiz", "2026-10", "EUR")
SENT = LineKey("message", "originator", "a" * 16, "standard/2026-10")
WORKED = LineKey("invocation", "vendor", "c" * 16, "standard/2026-10")


def issue(number: str, day: int = 2) -> InvoiceIssue:
    return InvoiceIssue(
        number=number,
        on=date(2026, 11, day),
        books=BillingSettings(due_days=10),
        through=99,
        tariffs={"standard/2026-10": 1},
    )


def first(sent: int = 1_005_000, worked: int = 0) -> Invoice:
    wanted = {SENT: LineTotal(3, 4, sent)} | ({WORKED: LineTotal(1, 1, worked)} if worked else {})
    return make_invoice(ACCOUNT, wanted, issue("2026-10-0001"))


@pytest.mark.parametrize(
    ("micros", "currency", "amount"),
    [
        (5_000, "EUR", "0.01"), (4_999, "EUR", "0.00"), (-5_000, "EUR", "-0.01"), (-4_999, "EUR", "0.00"),
        (499_999, "JPY", "0"), (500_000, "JPY", "1"), (500, "KWD", "0.001"),
    ],
)  # fmt: skip
def test_an_amount_is_rounded_half_away_from_zero_to_what_can_be_paid(micros: int, currency: str, amount: str) -> None:
    assert str(round_amount(micros, currency)) == amount


def test_a_line_is_rounded_once_and_the_total_is_the_sum_of_lines() -> None:
    bill = first(sent=1_005_000, worked=-2_004_999)
    assert [(line.number, line.amount) for line in bill.lines] == [(1, Decimal("1.01")), (2, Decimal("-2.00"))]
    assert bill.total == Decimal("-0.99")
    assert bill.due_on == date(2026, 11, 12)
    assert bill.tariffs == {"standard/2026-10": 1}


def test_the_order_of_lines_does_not_depend_on_the_order_of_sums() -> None:
    wanted = {WORKED: LineTotal(1, 1, 1), SENT: LineTotal(1, 1, 1)}
    assert invoice_lines(wanted, "EUR") == invoice_lines(dict(reversed(wanted.items())), "EUR")
    assert invoice_lines(wanted, "EUR")[0].key == SENT


def test_what_came_to_light_later_becomes_a_document_of_its_own() -> None:
    bill = first(sent=1_004_000)
    later = make_correction({SENT: LineTotal(4, 6, 1_005_000)}, [bill], issue("2026-10-0002"), "a late message")
    assert later is not None
    assert later.document is DocumentKind.INVOICE
    assert later.corrects == "2026-10-0001"
    assert [(line.quantity, line.kilobytes, line.micros) for line in later.lines] == [(1, 2, 1_000)]
    assert bill.total + later.total == round_amount(1_005_000, "EUR")  # not 1.00 + 0.00: together as one invoice would
    assert make_correction({SENT: LineTotal(4, 6, 1_005_000)}, [bill, later], issue("2026-10-0003"), "") is None
    again = make_correction({SENT: LineTotal(5, 7, 1_015_000)}, [later, bill], issue("2026-10-10000"), "another")
    assert again is not None
    assert again.corrects == bill.number, "in whatever order they are found"


def test_what_was_charged_too_much_becomes_a_credit_note() -> None:
    bill = first(sent=3_000_000, worked=-500_000)
    note = make_correction({SENT: LineTotal(3, 4, 2_000_000)}, [bill], issue("2026-10-0002"), "the tariff was wrong")
    assert note is not None
    assert note.document is DocumentKind.CREDIT_NOTE
    assert note.total == Decimal("-0.50")
    assert {line.key: line.micros for line in note.lines} == {SENT: -1_000_000, WORKED: 500_000}


def test_a_credit_for_a_reason_of_its_own_is_no_difference_to_what_was_used() -> None:
    bill = first(sent=3_000_000)
    note = make_credit_note(bill, Decimal("1.25"), issue("2026-10-0002"), "the outage of Tuesday")
    assert (note.document, note.total, note.lines[0].text) == (
        DocumentKind.CREDIT_NOTE, Decimal("-1.25"), "the outage of Tuesday"
    )  # fmt: skip
    assert make_correction({SENT: LineTotal(3, 4, 3_000_000)}, [bill, note], issue("2026-10-0003"), "") is None


def test_an_unpaid_amount_has_the_decimals_of_its_invoice() -> None:
    (balance,) = balances([first(sent=2_200_000)], [])
    assert (f"{balance.paid:f}", f"{balance.open:f}") == ("0.00", "2.20")


def test_corrections_and_payments_count_for_the_invoice_they_belong_to() -> None:
    bill = first(sent=3_000_000)
    note = make_credit_note(bill, Decimal("1.00"), issue("2026-10-0002"), "sorry")
    paid = Payment(id="p1", invoice=note.number, amount=Decimal("1.50"), currency="EUR", received_on=date(2026, 11, 5))
    (balance,) = balances([note, bill], [paid])
    assert (balance.charged, balance.paid, balance.open) == (Decimal("2.00"), Decimal("1.50"), Decimal("0.50"))
    assert list_overdue([balance], date(2026, 11, 12)) == []
    assert list_overdue([balance], date(2026, 11, 13)) == [balance]
    assert balance.days_late(date(2026, 11, 14)) == 2
    rest = Payment(id="p2", invoice=bill.number, amount=Decimal("0.50"), currency="EUR", received_on=date(2026, 11, 6))
    assert list_overdue(balances([bill, note], [paid, rest]), date(2027, 1, 1)) == []
