"""Sums charges into invoice lines and invoices, and computes corrections.

Rules: a line is summed exactly and rounded once, half away from zero, to the smallest unit of its currency; a total
is the sum of rounded lines. An invoice never changes: later changes (a late message, a corrected tariff) give the
difference between the current lines and the invoiced ones, which becomes a document of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from postroad.core.model.billing import (
    MICROS,
    BillingSettings,
    Charge,
    DocumentKind,
    Invoice,
    InvoiceLine,
    LineKey,
    decimals,
    micros,
)

PART_ORDER = {"originator": 0, "in transit": 1, "recipient": 2, "payer": 3, "vendor": 4}
CREDIT = "credit"


class LineTotal(NamedTuple):
    """The total of the charges of one invoice line."""

    quantity: int = 0
    kilobytes: int = 0
    micros: int = 0

    def plus(self, other: LineTotal, sign: int = 1) -> LineTotal:
        return LineTotal(*(mine + sign * theirs for mine, theirs in zip(self, other, strict=True)))


class InvoiceAccount(NamedTuple):
    """What one invoice covers: an organization, a month and a currency."""

    organization: str
    period: str
    currency: str


LineTotals = dict[LineKey, LineTotal]


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoiceIssue:
    """The data of an invoice that does not follow from charges: number, date, settings."""

    number: str
    on: date
    books: BillingSettings
    through: int
    tariffs: Mapping[str, int]


def sum_charges(charges: Iterable[Charge]) -> dict[InvoiceAccount, LineTotals]:
    """The sums of charges by account and line."""
    found: dict[InvoiceAccount, LineTotals] = {}
    for charge in charges:
        account = InvoiceAccount(charge.organization, charge.period, charge.currency)
        key = LineKey(charge.kind.value, charge.part.value, charge.service, charge.tariff)
        lines = found.setdefault(account, {})
        lines[key] = lines.get(key, LineTotal()).plus(LineTotal(1, charge.kilobytes, charge.micros))
    return found


def round_amount(amount_micros: int, currency: str) -> Decimal:
    """Convert micro-units to a payable amount, rounded half away from zero."""
    exact = Decimal(amount_micros) / MICROS
    return exact.quantize(Decimal(1).scaleb(-decimals(currency)), ROUND_HALF_UP) + 0  # nothing is not less than nothing


def invoice_lines(wanted: LineTotals, currency: str) -> tuple[InvoiceLine, ...]:
    """The lines of an invoice, numbered in an order that does not depend on anything else."""
    ordered = sorted(
        wanted.items(), key=lambda item: (item[0].kind != "message", PART_ORDER.get(item[0].part, 9), item[0])
    )
    return tuple(
        InvoiceLine(
            number=number, **key._asdict(), **total._asdict(), amount=round_amount(total.micros, currency)
        )
        for number, (key, total) in enumerate(ordered, 1)
    )  # fmt: skip


def make_invoice(account: InvoiceAccount, wanted: LineTotals, issue: InvoiceIssue) -> Invoice:
    """The invoice of an account."""
    its_lines = invoice_lines(wanted, account.currency)
    used = {line.tariff for line in its_lines}
    return Invoice(
        number=issue.number,
        organization=account.organization,
        period=account.period,
        currency=account.currency,
        issued_on=issue.on,
        due_on=issue.on + timedelta(days=issue.books.due_days),
        seller=issue.books.seller,
        through=issue.through,
        tariffs={key: version for key, version in sorted(issue.tariffs.items()) if key in used},
        lines=its_lines,
        total=sum((line.amount for line in its_lines), round_amount(0, account.currency)),
    )


def sum_invoiced(documents: Iterable[Invoice]) -> LineTotals:
    """Sum what these documents have charged, line by line, without credits."""
    found: LineTotals = {}
    for document in documents:
        for line in document.lines:
            if line.kind != CREDIT:
                found[line.key] = found.get(line.key, LineTotal()).plus(
                    LineTotal(line.quantity, line.kilobytes, line.micros)
                )
    return found


def invoice_difference(wanted: LineTotals, documents: Iterable[Invoice]) -> LineTotals:
    """Return the lines by which the charges differ from what was invoiced."""
    before = sum_invoiced(documents)
    changes = {key: wanted.get(key, LineTotal()).plus(before.get(key, LineTotal()), -1) for key in {*wanted, *before}}
    return {key: change for key, change in changes.items() if change != LineTotal()}


def make_correction(
    wanted: LineTotals, documents: Sequence[Invoice], issue: InvoiceIssue, reason: str
) -> Invoice | None:
    """Return the document that corrects an invoice and its earlier corrections; None if nothing changed.

    Each line's amount is what the line comes to now, rounded, less what was invoiced for it: so that all documents together
    charge what one invoice would.
    """
    first = next(document for document in documents if not document.corrects)
    changes = invoice_difference(wanted, documents)
    if not changes:
        return None
    account = InvoiceAccount(first.organization, first.period, first.currency)
    draft = make_invoice(account, changes, issue)
    owed = {key: round_amount(total.micros, first.currency) for key, total in wanted.items()}
    paid = _amounts(documents)
    nothing = round_amount(0, first.currency)
    settled = tuple(
        replace(line, amount=owed.get(line.key, nothing) - paid.get(line.key, nothing)) for line in draft.lines
    )
    return _with_total(replace(draft, lines=settled, corrects=first.number, reason=reason))


def make_credit_note(first: Invoice, amount: Decimal, issue: InvoiceIssue, reason: str) -> Invoice:
    """Return a credit note over an amount that is independent of charges."""
    line = InvoiceLine(
        number=1, kind=CREDIT, part="", service="", tariff="", quantity=1, kilobytes=0,
        micros=-micros(amount), amount=-amount, text=reason,
    )  # fmt: skip
    draft = make_invoice(InvoiceAccount(first.organization, first.period, first.currency), {}, issue)
    return _with_total(replace(draft, lines=(line,), corrects=first.number, reason=reason))


def _amounts(documents: Iterable[Invoice]) -> dict[LineKey, Decimal]:
    found: dict[LineKey, Decimal] = {}
    for document in documents:
        for line in document.lines:
            found[line.key] = found.get(line.key, Decimal(0)) + line.amount
    return found


def _with_total(document: Invoice) -> Invoice:
    """The document with its total, and the title that goes with it."""
    total = sum((line.amount for line in document.lines), round_amount(0, document.currency))
    kind = DocumentKind.CREDIT_NOTE if total < 0 else DocumentKind.INVOICE
    return replace(document, total=total, document=kind)
