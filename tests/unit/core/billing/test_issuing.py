"""Which documents a month lacks, their numbers, and how entries of both kinds give the same records."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import msgspec
import pytest

from postroad.core.billing.invoice_views import invoice_details, invoice_of
from postroad.core.billing.invoices import InvoiceAccount, LineTotal
from postroad.core.billing.issuing import (
    CountedAccount,
    CountedMonth,
    build_credit,
    check_is_over,
    list_due_documents,
    parse_amount,
)
from postroad.core.billing.records import BillingRecords, read_records
from postroad.core.billing.ubl import invoice_ubl
from postroad.core.model.billing import BillingSettings, Invoice, LineKey, Payment
from postroad.core.model.billing_entries import (
    BillingJournalEntry,
    InvoiceCredited,
    InvoiceIssued,
    PaymentRecorded,
    billing_record,
    issued_document,
)
from postroad.core.model.journal import ConfigurationChanged, Entry, ObjectChange, decode, encode
from postroad.core.projection.unique_keys import billing_keys, unique_keys
from postroad.errors import Refused

pytestmark = pytest.mark.req("P3")

PERIOD, BOOKS, DAY = "2026-10", BillingSettings(due_days=10), date(2026, 11, 2)
SERVICE = "a" * 16
SENT = LineKey("message", "originator", SERVICE, "standard/2026-10")


def account(organization: str) -> InvoiceAccount:
    return InvoiceAccount(organization, PERIOD, "EUR")


def counted(**micros: int) -> CountedMonth:
    accounts = {
        account(house): CountedAccount(sums={SENT: LineTotal(3, 4, amount)}, tariffs={SENT.tariff: 2})
        for house, amount in micros.items()
    }
    return CountedMonth(through=99, latest_us=2**52, accounts=accounts)


def issued(month: CountedMonth, records: BillingRecords = BillingRecords()) -> list[Invoice]:  # noqa: B008 - frozen
    return [one.document for one in list_due_documents(PERIOD, month, records, DAY, BOOKS)]


def recorded(*documents: Invoice, payments: tuple[Payment, ...] = ()) -> BillingRecords:
    return BillingRecords(invoices={one.number: one for one in documents}, payments={one.id: one for one in payments})


def test_each_account_gets_one_invoice_and_then_nothing() -> None:
    month = counted(Acme=1_000_000, Birch=2_000_000)
    first, second = issued(month)
    assert [(one.number, one.organization, one.total) for one in (first, second)] == [
        (f"{PERIOD}-0001", "Acme", Decimal("1.00")), (f"{PERIOD}-0002", "Birch", Decimal("2.00")),
    ]  # fmt: skip
    assert issued(month, recorded(first, second)) == []
    assert [one.number for one in issued(month, recorded(second))] == [f"{PERIOD}-0003"], "no number is used again"


def test_a_correction_follows_the_newest_document_of_its_account() -> None:
    [first] = issued(counted(Acme=1_000_000))
    [correction] = list_due_documents(PERIOD, counted(Acme=3_000_000), recorded(first), DAY, BOOKS)
    assert (correction.follows, correction.document.corrects, correction.document.total) == (
        first.number, first.number, Decimal("2.00"),
    )  # fmt: skip
    records = recorded(first, correction.document)
    [gone] = list_due_documents(PERIOD, counted(), records, DAY, BOOKS)
    assert (gone.follows, gone.document.total) == (correction.document.number, Decimal("-3.00"))


def test_numbers_beyond_four_digits_continue() -> None:
    [first] = issued(counted(Acme=1_000_000))
    many = recorded(*(replace(first, number=f"{PERIOD}-{number:04d}") for number in (9_998, 9_999, 10_000)))
    assert next(many.next_numbers(PERIOD)) == f"{PERIOD}-10001"
    assert many.newest(account("Acme")) == f"{PERIOD}-10000"


def test_two_documents_on_the_same_state_of_an_account_collide() -> None:
    [first] = issued(counted(Acme=1_000_000))
    other = replace(first, number=f"{PERIOD}-0007")
    one, two = (InvoiceIssued(1, "ada", issued_document(item)) for item in (first, other))
    assert set(billing_keys(one)) & set(billing_keys(two)), "under different numbers, too"
    after = InvoiceIssued(2, "ada", issued_document(other), follows=first.number)
    assert not set(billing_keys(one)) & set(billing_keys(after))


def test_a_number_collides_with_that_of_a_configuration_object() -> None:
    [first] = issued(counted(Acme=1_000_000))
    old = ConfigurationChanged(1, "ada", "", (ObjectChange("invoice", first.number, 1, msgspec.to_builtins(first)),))
    assert set(unique_keys(old)) & set(unique_keys(InvoiceIssued(1, "ada", issued_document(first))))
    payment = Payment(id="p/1", invoice=first.number, amount=Decimal(1), currency="EUR", received_on=DAY)
    old = ConfigurationChanged(1, "ada", "", (ObjectChange("payment", "p/1", 1, msgspec.to_builtins(payment)),))
    new = PaymentRecorded(1, "ada", "p/1", first.number, Decimal(1), "EUR", received_on=DAY)
    assert set(unique_keys(old)) & set(unique_keys(new))


def test_a_request_collides_with_its_repetition_only() -> None:
    def paid(id: str, request: str) -> PaymentRecorded:
        return PaymentRecorded(1, "ada", id, "i", Decimal(1), "EUR", received_on=DAY, request=request)

    assert set(billing_keys(paid("i/1", "k"))) & set(billing_keys(paid("i/2", "k")))
    assert not set(billing_keys(paid("i/1", ""))) & set(billing_keys(paid("i/2", "")))


def test_entries_of_both_kinds_give_the_same_records() -> None:
    [first] = issued(counted(Acme=1_000_000))
    note = build_credit(recorded(first), first.number, "0.40", "late", on=DAY, books=BOOKS)
    payment = Payment(
        id=f"{first.number}/1",
        invoice=first.number,
        amount=Decimal("0.60"),
        currency="EUR",
        received_on=DAY,
        reference="b",
    )
    new: list[Entry] = [
        InvoiceIssued(1, "ada", issued_document(first)),
        InvoiceCredited(2, "ada", issued_document(note), first.number),
        PaymentRecorded(
            3, "ada", payment.id, payment.invoice, payment.amount, "EUR", received_on=DAY, reference="b"
        ),
    ]  # fmt: skip
    changes = [
        ObjectChange(kind, key, 1, msgspec.to_builtins(item))
        for kind, key, item in (
            ("invoice", first.number, first), ("invoice", note.number, note), ("payment", payment.id, payment),
        )
    ]  # fmt: skip
    old: list[Entry] = [ConfigurationChanged(1, "ada", "", tuple(changes))]
    assert read_records(new) == read_records(old) == recorded(first, note, payments=(payment,))
    [balance] = read_records([*old[:1], *new[1:]]).balances()
    assert (balance.charged, balance.open) == (Decimal("0.60"), Decimal("0.00"))


def test_a_document_is_written_from_its_entry_alone() -> None:
    [first] = issued(counted(Acme=1_000_000))
    named = replace(first, addresses={SERVICE: "Acme/Sales"})
    entry = decode(encode(InvoiceIssued(1, "ada", issued_document(named))))
    assert isinstance(entry, BillingJournalEntry)
    known = billing_record(entry)
    assert isinstance(known, Invoice)
    assert known == named
    assert "Messages sent by Acme/Sales" in invoice_ubl(known, known.addresses)
    view = invoice_details(known, None, known.addresses, DAY)
    assert invoice_ubl(invoice_of(view), invoice_of(view).addresses) == invoice_ubl(known, known.addresses)


def test_a_month_is_closed_when_it_is_over_and_counted() -> None:
    over_us = 2**51
    month = replace(counted(), through=9, latest_us=0)
    check_is_over(PERIOD, month, BOOKS, now_us=over_us, head=9)
    with pytest.raises(Refused, match="do not cover all of 2026-10"):
        check_is_over(PERIOD, month, BOOKS, now_us=over_us, head=10)
    check_is_over(PERIOD, replace(month, latest_us=over_us), BOOKS, now_us=over_us, head=10)
    with pytest.raises(Refused, match="has not ended yet"):
        check_is_over(PERIOD, month, BOOKS, now_us=0, head=9)


@pytest.mark.parametrize(
    ("text", "currency"),
    [("0.001", "EUR"), ("1e3000", "EUR"), ("x", "EUR"), ("1e15", "EUR"), ("0.5", "JPY"), ("inf", "EUR")],
)
def test_an_amount_must_be_payable_in_its_currency(text: str, currency: str) -> None:
    with pytest.raises(Refused, match=f"is not an amount in {currency}"):
        parse_amount(text, currency)


def test_an_amount_has_the_decimals_of_its_currency() -> None:
    assert [str(parse_amount(*given)) for given in (("12.5", "EUR"), ("12", "KWD"), ("-3", "JPY"))] == [
        "12.50", "12.000", "-3",
    ]  # fmt: skip
