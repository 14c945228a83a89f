"""Decides which documents a month still lacks, and how a credit and a payment are written.

Rule: issuing is repeatable. Accounts whose documents are right give nothing, so a run that was interrupted is simply
repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from postroad.core.billing.calendar import period_us
from postroad.core.billing.charges import UNKNOWN
from postroad.core.billing.invoice_rows import TEXTS
from postroad.core.billing.invoices import (
    InvoiceAccount,
    InvoiceIssue,
    LineTotals,
    make_correction,
    make_credit_note,
    make_invoice,
)
from postroad.core.billing.records import BillingRecords, newest_number
from postroad.core.model.billing import BillingSettings, Invoice, decimals
from postroad.errors import Refused

MAX_AMOUNT = Decimal(10) ** 15  # so that sums of amounts stay exact
LATE_CHANGES = "use counted after the invoice was issued"


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedAccount:
    """The current sums of an account, and the tariff versions used."""

    sums: LineTotals
    tariffs: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedMonth:
    """The charges of a month as a warehouse has counted them."""

    through: int  # the last journal entry that is counted
    latest_us: int = 0  # the latest time in the log
    accounts: Mapping[InvoiceAccount, CountedAccount] = field(default_factory=dict)


def check_is_over(period: str, counted: CountedMonth, books: BillingSettings, *, now_us: int, head: int) -> None:
    """Refuse a month that is not over, or counts that do not cover all of it; ``head`` is the last entry there is."""
    ends_us = period_us(period, books.time_zone)[1]
    if now_us < ends_us:
        raise Refused("value.invalid", f"{period} has not ended yet; close it afterwards")
    if counted.through < head and counted.latest_us < ends_us:
        raise Refused(
            "billing.not-counted",
            f"The tables do not cover all of {period} yet; run `postroad pipeline run` first",
        )


def check_lines(counted: CountedMonth) -> None:
    """Refuse charges of a kind and part that no invoice has."""
    for account, charges in counted.accounts.items():
        for line in charges.sums:
            if (line.kind, line.part) not in TEXTS:
                known = ", ".join(f"{kind!r} with {part!r}" for kind, part in TEXTS)
                detail = (
                    f"A line of {account.organization} has the kind {line.kind!r} with the part {line.part!r}, "
                    f"which no invoice has; use one of {known}"
                )
                raise Refused("value.invalid", detail, pointer="/counted/accounts")


class DueDocument(NamedTuple):
    """A document to issue, and the number of the account's document before it; empty for the first."""

    document: Invoice
    follows: str


def list_due_documents(
    period: str, counted: CountedMonth, records: BillingRecords, on: date, books: BillingSettings
) -> list[DueDocument]:
    """Return the invoices that a month still lacks, and corrections of invoices that are no longer right."""
    numbers = records.next_numbers(period)
    return [
        DueDocument(replace(document, number=next(numbers)), follows)
        for document, follows in _due_documents(period, counted, records, on, books)
    ]


def _due_documents(
    period: str, counted: CountedMonth, records: BillingRecords, on: date, books: BillingSettings
) -> Iterator[DueDocument]:
    issued = records.accounts(period)
    for account in sorted({*counted.accounts, *issued}):
        if account.organization == UNKNOWN:
            continue
        draft = counted.accounts.get(account)
        wanted = draft.sums if draft is not None else {}
        tariffs = draft.tariffs if draft is not None else {}
        issue = InvoiceIssue(number="", on=on, books=books, through=counted.through, tariffs=tariffs)
        documents = issued.get(account, [])
        due = make_correction(wanted, documents, issue, LATE_CHANGES) if documents else None
        if due is not None or not documents:
            yield DueDocument(due or make_invoice(account, wanted, issue), newest_number(documents))


def draft_invoices(
    period: str, counted: CountedMonth, organization: str, on: date, books: BillingSettings, number: str = ""
) -> list[Invoice]:
    """Return the invoices of an organization, or of all if it is empty, as they would be issued now."""
    return [
        make_invoice(
            account,
            draft.sums,
            InvoiceIssue(number=number, on=on, books=books, through=counted.through, tariffs=draft.tariffs),
        )
        for account, draft in sorted(counted.accounts.items())
        if account.period == period and organization.casefold() in ("", account.organization.casefold())
    ]


def build_credit(
    records: BillingRecords, number: str, amount: str, reason: str, *, on: date, books: BillingSettings
) -> Invoice:
    """Build the next credit note for an invoice."""
    first = records.root(number)
    given = parse_amount(amount, first.currency)
    if given <= 0:
        raise Refused("value.invalid", "A credit must be greater than zero", pointer="/amount")
    issue = InvoiceIssue(
        number=next(records.next_numbers(first.period)), on=on, books=books, through=first.through, tariffs={}
    )
    return make_credit_note(first, given, issue, reason)


def parse_amount(text: str, currency: str) -> Decimal:
    """Return an amount that can be paid in a currency, with its decimals; refuses any other text."""
    try:
        amount = Decimal(text)
        fits = amount.is_finite() and abs(amount) < MAX_AMOUNT
        fits = fits and amount == amount.quantize(Decimal(1).scaleb(-decimals(currency)))
    except InvalidOperation:
        fits = False
    if not fits:
        detail = f"{text[:40]!r} is not an amount in {currency}; write it as 12.50"
        raise Refused("value.invalid", detail, pointer="/amount")
    return amount.quantize(Decimal(1).scaleb(-decimals(currency)))
