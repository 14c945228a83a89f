"""From charges to lines, from lines to invoices, and from what changed since to corrections.

Kept rules: a line is summed up exactly and rounded once, half away from zero, to what can be paid in its currency; a total is the
sum of rounded lines. An invoice is never changed: what turns out otherwise later (a message that came to light late, a tariff
that was put right) is the difference between what the lines are now and what was invoiced, and becomes a document of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from postroad.core.model.billing import (
    MICROS,
    Books,
    Charge,
    DocumentKind,
    Invoice,
    InvoiceLine,
    LineKey,
    decimals,
    micros,
)

PLACES = {"originator": 0, "in transit": 1, "recipient": 2, "payer": 3, "vendor": 4}
CREDIT = "credit"


class Sum(NamedTuple):
    """What the charges of a line come to."""

    quantity: int = 0
    kilobytes: int = 0
    micros: int = 0

    def plus(self, other: Sum, sign: int = 1) -> Sum:
        return Sum(*(mine + sign * theirs for mine, theirs in zip(self, other, strict=True)))


class Account(NamedTuple):
    """What goes on one invoice: one organization's affairs in one month and currency."""

    organization: str
    period: str
    currency: str


Sums = dict[LineKey, Sum]


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """What a document needs to know that does not follow from charges."""

    number: str
    on: date
    books: Books
    through: int
    tariffs: Mapping[str, int]


def sums(charges: Iterable[Charge]) -> dict[Account, Sums]:
    """The sums of charges by account and line."""
    found: dict[Account, Sums] = {}
    for charge in charges:
        account = Account(charge.organization, charge.period, charge.currency)
        key = LineKey(charge.kind.value, charge.part.value, charge.service, charge.tariff)
        lines = found.setdefault(account, {})
        lines[key] = lines.get(key, Sum()).plus(Sum(1, charge.kilobytes, charge.micros))
    return found


def rounded(amount_micros: int, currency: str) -> Decimal:
    """Micro-units as an amount that can be paid, half away from zero."""
    exact = Decimal(amount_micros) / MICROS
    return exact.quantize(Decimal(1).scaleb(-decimals(currency)), ROUND_HALF_UP) + 0  # nothing is not less than nothing


def lines(wanted: Sums, currency: str) -> tuple[InvoiceLine, ...]:
    """The lines of an invoice, numbered in an order that does not depend on anything else."""
    ordered = sorted(wanted.items(), key=lambda item: (item[0].kind != "message", PLACES.get(item[0].part, 9), item[0]))
    return tuple(
        InvoiceLine(
            number=number, **key._asdict(), **total._asdict(), amount=rounded(total.micros, currency)
        )
        for number, (key, total) in enumerate(ordered, 1)
    )  # fmt: skip


def invoice(account: Account, wanted: Sums, issue: Issue) -> Invoice:
    """The invoice of an account."""
    its_lines = lines(wanted, account.currency)
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
        total=sum((line.amount for line in its_lines), rounded(0, account.currency)),
    )


def invoiced(documents: Iterable[Invoice]) -> Sums:
    """What these documents have charged together, line by line; credits that no charges stand behind left out."""
    found: Sums = {}
    for document in documents:
        for line in document.lines:
            if line.kind != CREDIT:
                found[line.key] = found.get(line.key, Sum()).plus(Sum(line.quantity, line.kilobytes, line.micros))
    return found


def difference(wanted: Sums, documents: Iterable[Invoice]) -> Sums:
    """The lines by which what should be charged differs from what has been."""
    before = invoiced(documents)
    changes = {key: wanted.get(key, Sum()).plus(before.get(key, Sum()), -1) for key in {*wanted, *before}}
    return {key: change for key, change in changes.items() if change != Sum()}


def correction(wanted: Sums, documents: Sequence[Invoice], issue: Issue, reason: str) -> Invoice | None:
    """The document that sets right what an invoice and its corrections, in any order, charged; None when nothing is wrong.

    Each line's amount is what the line comes to now, rounded, less what was invoiced for it: so that all documents together
    charge what one invoice would.
    """
    first = next(document for document in documents if not document.corrects)
    changes = difference(wanted, documents)
    if not changes:
        return None
    account = Account(first.organization, first.period, first.currency)
    draft = invoice(account, changes, issue)
    owed = {key: rounded(total.micros, first.currency) for key, total in wanted.items()}
    paid = _amounts(documents)
    nothing = rounded(0, first.currency)
    settled = tuple(
        replace(line, amount=owed.get(line.key, nothing) - paid.get(line.key, nothing)) for line in draft.lines
    )
    return _titled(replace(draft, lines=settled, corrects=first.number, reason=reason))


def credit_note(first: Invoice, amount: Decimal, issue: Issue, reason: str) -> Invoice:
    """A sum that is given back for a reason of its own, whatever the charges say."""
    line = InvoiceLine(
        number=1, kind=CREDIT, part="", service="", tariff="", quantity=1, kilobytes=0,
        micros=-micros(amount), amount=-amount, text=reason,
    )  # fmt: skip
    draft = invoice(Account(first.organization, first.period, first.currency), {}, issue)
    return _titled(replace(draft, lines=(line,), corrects=first.number, reason=reason))


def _amounts(documents: Iterable[Invoice]) -> dict[LineKey, Decimal]:
    found: dict[LineKey, Decimal] = {}
    for document in documents:
        for line in document.lines:
            found[line.key] = found.get(line.key, Decimal(0)) + line.amount
    return found


def _titled(document: Invoice) -> Invoice:
    """The document with its total, and the title that goes with it."""
    total = sum((line.amount for line in document.lines), rounded(0, document.currency))
    kind = DocumentKind.CREDIT_NOTE if total < 0 else DocumentKind.INVOICE
    return replace(document, total=total, document=kind)
